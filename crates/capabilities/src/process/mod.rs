//! Programs that are started, bounded and ended: the one runner of child processes.
//!
//! A [`Job`] is one program, or several joined by pipes. [`run`] starts it and always returns in time. A supervisor
//! stands between this process and the programs: it starts them, reports how they ended, and kills everything that
//! descends from them (also what left the process group or the session) when the call is over, when its time is over,
//! and when this process is gone, however it ended. The supervisor is this executable, started again with one word
//! ([`serve`]). A process that is no supervisor, such as a test, supervises on a thread instead, which reaches only
//! the process group and not beyond its own death.
//!
//! Supervisor and caller talk over a socket that is the supervisor's stdin: first the job, then events. The end of the
//! socket is the order to stop, so no crash can leave the order unsaid.

mod caller;
mod confine;
mod descendants;
mod supervisor;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

pub use caller::{run, run_confined};
pub use supervisor::serve;

/// Programs to run: each one's output is the next one's input.
#[derive(Clone, Debug)]
pub struct Job {
    /// The programs, at least one.
    pub programs: Vec<Program>,
    /// The folder that they run in.
    pub directory: PathBuf,
    /// The input of the first program; `None` for an empty one.
    pub input: Option<Vec<u8>>,
}

/// One program, started without a shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its path, or a bare name that is looked up in the `PATH` of its environment.
    pub path: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// The limits of a job.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time until everything is killed.
    pub timeout: Duration,
    /// The stored part of the last program's stdout.
    pub output: Keep,
    /// The stored part of the stderr of all programs.
    pub errors: Keep,
}

/// The part of a stream that is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All of it. A stream with more bytes ends the job.
    All(u64),
    /// The beginning. The rest is read and dropped, so that the programs can end.
    Start(u64),
    /// The end.
    End(u64),
}

/// The end of a job.
#[derive(Debug)]
pub enum Ended {
    /// A program could not be started. If it was not the first, the others were killed.
    NotStarted {
        /// The number of the program, from 0.
        program: usize,
        /// The system's reason.
        error: std::io::Error,
    },
    /// It took too long and was killed.
    TimedOut,
    /// It wrote more than [`Keep::All`] allows and was killed.
    TooMuch,
    /// It was started, and nobody saw how it ended.
    Lost(String),
    /// All programs exited.
    Exited(Exited),
}

/// Whether the programs of a job were kept from the network and from the disk outside one folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Confinement {
    /// They were.
    Confined,
    /// They were not, or not from all of it, for this reason.
    Open(String),
}

/// The results of programs that exited by themselves.
#[derive(Debug)]
pub struct Exited {
    /// The status of the last program.
    pub status: ExitStatus,
    /// The stored part of its stdout.
    pub output: Vec<u8>,
    /// The stored part of the stderr of all programs, one program after the other.
    pub errors: Vec<u8>,
    /// Whether the input was delivered.
    pub input: Delivery,
}

/// Whether the input of a job was delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// All of it was handed over. Whether the program read it to the end is its own affair.
    Whole,
    /// The program closed its input without reading a byte: it needs none.
    Unread,
    /// The program got a part of it.
    Cut {
        /// The number of bytes that were handed over.
        delivered: u64,
        /// The reason.
        reason: String,
    },
}

#[cfg(test)]
mod tests;
