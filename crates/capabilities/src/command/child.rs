//! One child process, from start to end, within a time limit.
//!
//! The child leads its own process group. The caller always has an answer when the time is over: the group is killed,
//! and the caller does not wait for a pipe that a runaway descendant still holds.

use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::STDERR_BYTES_MAX;

/// The interval between checks for the exit of a child whose output has ended: the child usually exits at once.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The time to wait for the stderr output of a child that has exited.
const LAST_WORDS: Duration = Duration::from_millis(200);

pub(super) struct Limits {
    pub(super) timeout: Duration,
    pub(super) output_bytes_max: u64,
}

/// The outcome of a child process.
pub(super) enum Ended {
    NotStarted(std::io::Error),
    TimedOut,
    TooMuch,
    Failed { status: ExitStatus, said: Vec<u8> },
    Done(Vec<u8>),
}

pub(super) fn run(mut command: Command, input: Vec<u8>, limits: &Limits) -> Ended {
    let started = Instant::now();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match piped.process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NotStarted(error),
    };
    let (output, words) = talk(&mut child, input, limits.output_bytes_max);
    let left = || limits.timeout.saturating_sub(started.elapsed());
    let read = output.recv_timeout(left());
    // A child should exit once its output has ended.
    let is_over = matches!(read, Ok(Some(_))) && ends(&child, &left);
    // The child's id is not reused before the child is reaped, so this kills only its own group.
    kill_group(&child);
    match (read, is_over, child.wait()) {
        (Ok(None), ..) => Ended::TooMuch,
        (Ok(Some(output)), true, Ok(status)) if status.success() => Ended::Done(output),
        (Ok(Some(_)), true, Ok(status)) => {
            Ended::Failed { status, said: words.recv_timeout(LAST_WORDS).unwrap_or_default() }
        }
        (_, _, Err(error)) => Ended::NotStarted(error),
        _ => Ended::TimedOut,
    }
}

/// Starts threads that write the input and read the output. They end with the child's pipes and are not joined.
fn talk(child: &mut Child, input: Vec<u8>, limit: u64) -> (Receiver<Option<Vec<u8>>>, Receiver<Vec<u8>>) {
    let (send_output, output) = mpsc::channel();
    let (send_words, words) = mpsc::channel();
    if let Some(mut pipe) = child.stdin.take() {
        // A child may exit without reading its input.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    if let Some(pipe) = child.stdout.take() {
        thread::spawn(move || drain(pipe, limit, &send_output));
    }
    if let Some(pipe) = child.stderr.take() {
        thread::spawn(move || listen(pipe, &send_words));
    }
    (output, words)
}

/// Reads all output and sends it; sends `None` when there is more than the limit.
fn drain(pipe: impl Read, limit: u64, send: &Sender<Option<Vec<u8>>>) {
    let mut bytes = Vec::new();
    // Output that breaks off is used as it is: the JSON parser refuses it, or the exit status reports the failure.
    let _ = pipe.take(limit + 1).read_to_end(&mut bytes);
    let fits = bytes.len() as u64 <= limit;
    let _ = send.send(fits.then_some(bytes));
}

/// Sends the end of the child's stderr output.
fn listen(mut pipe: impl Read, send: &Sender<Vec<u8>>) {
    let mut last: Vec<u8> = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        last.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let surplus = last.len().saturating_sub(STDERR_BYTES_MAX);
        last.drain(..surplus);
    }
    let _ = send.send(last);
}

/// Waits for the exit of a child without reaping it; returns whether it exited in time.
fn ends(child: &Child, left: &dyn Fn() -> Duration) -> bool {
    let Some(pid) = pid(child) else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        if !matches!(waitid(WaitId::Pid(pid), options), Ok(None)) {
            return true;
        }
        if left().is_zero() {
            return false;
        }
        thread::sleep(LOOK_EVERY.min(left()));
    }
}

fn kill_group(child: &Child) {
    if let Some(pid) = pid(child) {
        // Killing a group that has already ended fails, which is harmless.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
