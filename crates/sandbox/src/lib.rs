//! Runs Python that nobody trusts: block after block in one session, in a worker process, within limits.
//!
//! [`Sandbox`] is the trait of an interpreter. [`Sandbox::feed`] runs a block until it ends or asks its host for
//! something; [`Sandbox::resume`] answers. The code has no file, no network, no environment and no clock: everything it
//! reaches is a host function that the caller answers.
//!
//! [`Monty`] is the implementation: the worker program `monty` of the Python package `pydantic-monty-runtime`, spoken to
//! in frames over its standard streams. [`Monty::find`] finds the program, [`Monty::start`] starts a worker, and a
//! [`WorkerPool`] gives the process of a session that ended to the next one.
//!
//! This crate records nothing and knows no model. A block that a limit stopped is an [`Event::Stopped`], not an error;
//! its worker is gone, and the caller starts another one.

mod arena;
mod frames;
mod monty;
mod pool;
mod program;
mod wire;

use hence_canon::Value;

pub use monty::Monty;
pub use pool::{PooledWorker, WorkerPool};
pub use program::{INSTALL_COMMAND, NotFound, PROGRAM_VARIABLE, WorkerProgram};

/// An interpreter that keeps its variables between blocks.
pub trait Sandbox: Send {
    /// Returns what runs the code.
    fn identity(&self) -> &Identity;

    /// Runs a block, with new global variables, until it ends or asks for something.
    ///
    /// # Errors
    /// [`SandboxError`] when the worker is gone or speaks another protocol.
    fn feed(&mut self, code: &str, inputs: &[(&str, &Value)]) -> Result<Event, SandboxError>;

    /// Answers what the block asked for and continues it.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed).
    fn resume(&mut self, answer: Answer<'_>) -> Result<Event, SandboxError>;

    /// Returns what the code has printed since the last call, as far as the limit allows.
    fn take_output(&mut self) -> Printed;

    /// Returns the interpreter's memory as bytes that [`load`](Self::load) of the same version reads.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed).
    fn dump(&mut self) -> Result<Vec<u8>, SandboxError>;

    /// Restores a dump into an interpreter that has run nothing.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed).
    fn load(&mut self, dump: &[u8]) -> Result<(), SandboxError>;
}

/// The interpreter that runs the code. A run pins it, because another one may compute something else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The name of the interpreter.
    pub name: &'static str,
    /// The version of the program.
    pub version: String,
    /// The version of the protocol.
    pub protocol: u32,
}

/// The limits of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The time in which one block may compute. Time in which it waits for its host is not counted.
    pub block_milliseconds: u64,
    /// The memory of the interpreter's values.
    pub memory_bytes: u64,
    /// The text that one block may print.
    pub output_bytes: usize,
    /// The depth of calls.
    pub recursion_depth: u64,
    /// The calls of host functions that one block may make. With it, the time of a block is counted across them; without it, the time
    /// begins anew after each.
    pub host_calls: Option<u64>,
}

impl Limits {
    /// The highest limits that a run may have. A worker that lost its host ends with its block.
    pub const MOST: Self = Self {
        block_milliseconds: 3_600_000,
        memory_bytes: 64 * 1024 * 1024 * 1024,
        output_bytes: 1024 * 1024 * 1024,
        recursion_depth: 100_000,
        host_calls: None,
    };

    /// The calls of host functions that one block may make, unless the caller says otherwise: enough to look at every part of a large
    /// input, and an end for a block that does nothing else.
    pub const HOST_CALLS_DEFAULT: u64 = 1_000_000;

    /// Returns whether no limit is above the highest one.
    pub fn are_allowed(&self) -> bool {
        let most = Self::MOST;
        self.block_milliseconds <= most.block_milliseconds
            && self.memory_bytes <= most.memory_bytes
            && self.output_bytes <= most.output_bytes
            && self.recursion_depth <= most.recursion_depth
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_milliseconds: 30_000,
            memory_bytes: 512 * 1024 * 1024,
            output_bytes: 1024 * 1024,
            recursion_depth: 1000,
            host_calls: Some(Self::HOST_CALLS_DEFAULT),
        }
    }
}

/// The result of driving a block: it ended, or asks for something.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The block calls a function of its host.
    Call(HostCall),
    /// The block uses a name that it does not know.
    Lookup(String),
    /// The block ended; this is the value of its last expression.
    Completed(PyValue),
    /// The block raised an exception that it did not catch. Its session goes on.
    Raised(PyError),
    /// A limit stopped the block. The worker is gone.
    Stopped(Limit),
}

/// A call of a host function.
#[derive(Clone, PartialEq, Debug)]
pub struct HostCall {
    /// The name of the function.
    pub name: String,
    /// The arguments by position.
    pub arguments: Vec<PyValue>,
    /// The arguments by name.
    pub named: Vec<(String, PyValue)>,
}

/// The answer of the host.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// A value.
    Value(&'a Value),
    /// An exception. The interpreter knows the built-in types only.
    Raise {
        /// The type of the exception.
        kind: &'a str,
        /// The message.
        message: &'a str,
    },
    /// There is no such name or function.
    Undefined,
}

/// A value of the interpreter.
#[derive(Clone, PartialEq, Debug)]
pub enum PyValue {
    /// A value that JSON has; tuples and sets are lists.
    Data(Value),
    /// Any other value, such as a function or a number that is not finite.
    Other {
        /// The type.
        kind: String,
        /// The interpreter's text for it.
        text: String,
    },
}

impl PyValue {
    /// Returns the value if JSON has it.
    pub fn data(&self) -> Option<&Value> {
        match self {
            Self::Data(value) => Some(value),
            Self::Other { .. } => None,
        }
    }
}

/// An exception.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PyError {
    /// The type, such as `ValueError`.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The line of the block that raised it, from 1.
    pub line: Option<u64>,
}

/// The limit that stopped a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// It computed too long.
    Time,
    /// It wanted too much memory.
    Memory,
    /// It printed too much.
    Output,
    /// It called functions of its host too often.
    HostCalls,
    /// The worker died, which a limit of the system also does.
    Crash,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 5] = [Self::Time, Self::Memory, Self::Output, Self::HostCalls, Self::Crash];

    /// Returns the name of the limit.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::HostCalls => "host_calls",
            Self::Crash => "crash",
        }
    }
}

/// The text that a block printed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Printed {
    /// The beginning, up to the limit.
    pub text: String,
    /// Whether there was more.
    pub is_cut: bool,
}

/// A worker that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The program could not be started.
    #[error("cannot start {path}: {source}")]
    NotStarted {
        /// The program.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The worker ended although nothing stopped it.
    #[error("the worker ended: {0}")]
    Gone(String),
    /// The worker said something that this version does not understand.
    #[error("the worker {version} does not speak protocol {protocol}: {found}")]
    Protocol {
        /// The version of the worker.
        version: String,
        /// The version of the protocol that is expected.
        protocol: u32,
        /// The received text.
        found: String,
    },
    /// A value cannot be passed to the worker.
    #[error("a value of {bytes} bytes does not fit into a frame of {limit} bytes")]
    TooLarge {
        /// The size of the value.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}
