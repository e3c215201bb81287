//! The worker `monty`: one process with one session at a time, spoken to in frames over its standard streams.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use hence_canon::Value;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::arena::{Arena, ArenaWriter};
use crate::frames::{FRAME_BYTES_MAX, Frames, NoFrame};
use crate::program::WorkerProgram;
use crate::wire::{Field, Fields, Malformed, Message};
use crate::{
    Answer, Event, HostCall, Identity, Limit, Limits, Printed, PyError, PyValue, Sandbox, SandboxError,
};

/// The version of the protocol that this file speaks.
const PROTOCOL: u32 = Monty::PROTOCOL;

/// The time that a worker has, beyond the time of a block, to say that the block's time is over.
const GRACE: Duration = Duration::from_secs(5);

/// The address space that a worker needs besides its values: its program, its stacks and the frame that it reads.
const ADDRESS_SPACE_BYTES: u64 = 1024 * 1024 * 1024;

/// The largest frame that is copied to be written with its length at once.
const FRAME_JOINED_MAX: usize = 64 * 1024;

/// The time of day that code sees: always the same one.
const FROZEN_SECONDS: u64 = 946_684_800;

/// The fields of requests and events.
mod field {
    pub(super) const CONFIGURE: u32 = 1;
    pub(super) const FEED: u32 = 3;
    pub(super) const RESUME_CALL: u32 = 4;
    pub(super) const RESUME_LOOKUP: u32 = 5;
    pub(super) const DUMP: u32 = 7;
    pub(super) const LOAD: u32 = 8;
    pub(super) const RESET: u32 = 9;
    pub(super) const PRINT: u64 = 1;
    pub(super) const FUNCTION_CALL: u64 = 2;
    pub(super) const SYSTEM_CALL: u64 = 3;
    pub(super) const LOOKUP: u64 = 4;
    pub(super) const COMPLETE: u64 = 6;
    pub(super) const ERROR: u64 = 7;
    pub(super) const DUMPED: u64 = 9;
    pub(super) const OK: u64 = 10;
    pub(super) const FATAL: u64 = 11;
}

/// A running worker.
pub struct Monty {
    identity: Identity,
    limits: Limits,
    process: Child,
    input: Option<ChildStdin>,
    frames: Frames,
    pending: Pending,
    printed: Printed,
    /// The time in which the block has computed. Time in which it waited for its host is not counted.
    computed: Duration,
    /// The calls of its host that the block has made.
    host_calls: u64,
}

/// The reply that the worker waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pending {
    Nothing,
    Call(u64),
    Lookup,
}

/// A reply that ends the worker's turn.
enum Turn {
    Event(Event),
    /// The code asked the system for something, which is always refused.
    System(u64),
    Dumped(Vec<u8>),
    Done,
}

impl Monty {
    /// The name of the interpreter.
    pub const NAME: &'static str = "monty";

    /// The version of the protocol that is spoken.
    pub const PROTOCOL: u32 = 6;

    /// Finds the worker program with the environment of this process.
    ///
    /// # Errors
    /// [`NotFound`](crate::NotFound) with every place that was tried.
    pub fn find() -> Result<WorkerProgram, crate::NotFound> {
        WorkerProgram::find(&|name| std::env::var_os(name))
    }

    /// Starts a worker in a process group of its own, without an environment, with limits that the system enforces too.
    ///
    /// # Errors
    /// [`SandboxError`] when the program does not start or speaks another protocol.
    pub fn start(program: &WorkerProgram, limits: Limits) -> Result<Self, SandboxError> {
        let not_started =
            |source| SandboxError::NotStarted { path: program.path.display().to_string(), source };
        let mut process = Command::new(&program.path)
            .arg("subprocess")
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(not_started)?;
        limit_process(&process, limits);
        let input = process.stdin.take();
        let output =
            process.stdout.take().ok_or_else(|| not_started(std::io::Error::other("it has no output")))?;
        let frames = Frames::new(output);
        let identity = Identity { name: Self::NAME, version: program.version.clone(), protocol: PROTOCOL };
        let (pending, printed) = (Pending::Nothing, Printed::default());
        let (computed, host_calls) = (Duration::ZERO, 0);
        let mut worker =
            Self { identity, limits, process, input, frames, pending, printed, computed, host_calls };
        worker.configure()?;
        Ok(worker)
    }

    /// Ends the session and begins another one with the same limits in the same process: the worker drops everything that
    /// the code of the session made.
    ///
    /// # Errors
    /// [`SandboxError`] when the worker is gone or its block has not ended; it cannot be used any more.
    pub fn begin_again(&mut self) -> Result<(), SandboxError> {
        if self.pending != Pending::Nothing {
            self.kill();
            return Err(SandboxError::Gone("its block has not ended".to_owned()));
        }
        self.printed = Printed::default();
        self.send(&Message::default().message(field::RESET, &Message::default()).into_bytes())?;
        self.expect_done()?;
        self.configure()
    }

    /// Returns whether the worker runs and waits for a block.
    pub fn is_idle(&self) -> bool {
        self.input.is_some() && self.pending == Pending::Nothing
    }

    /// Returns the limits of the sessions.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    fn configure(&mut self) -> Result<(), SandboxError> {
        self.send(&configure(self.limits))?;
        self.expect_done()
    }

    fn expect_done(&mut self) -> Result<(), SandboxError> {
        match self.turn()? {
            Turn::Done => Ok(()),
            _ => Err(self.protocol("an answer to another question")),
        }
    }

    /// Returns the id of the worker's process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    fn protocol(&self, found: &str) -> SandboxError {
        let Identity { version, protocol, .. } = &self.identity;
        SandboxError::Protocol { version: version.clone(), protocol: *protocol, found: found.to_owned() }
    }

    fn send(&mut self, request: &[u8]) -> Result<(), SandboxError> {
        let length = u32::try_from(request.len()).ok().filter(|_| request.len() <= FRAME_BYTES_MAX);
        let Some(length) = length else {
            return Err(SandboxError::TooLarge { bytes: request.len(), limit: FRAME_BYTES_MAX });
        };
        let Some(input) = &mut self.input else {
            return Err(SandboxError::Gone("it was stopped".to_owned()));
        };
        // One write for a short frame: the worker wakes up once.
        let written = match request.len() <= FRAME_JOINED_MAX {
            true => input.write_all(&[&length.to_le_bytes(), request].concat()),
            false => input.write_all(&length.to_le_bytes()).and_then(|()| input.write_all(request)),
        };
        written.and_then(|()| input.flush()).map_err(|error| SandboxError::Gone(error.to_string()))
    }

    /// Ends the worker.
    fn kill(&mut self) {
        self.input = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn stopped(&mut self, limit: Limit) -> Turn {
        self.kill();
        Turn::Event(Event::Stopped(limit))
    }

    /// Reads until the worker's turn ends.
    fn turn(&mut self) -> Result<Turn, SandboxError> {
        let started = Instant::now();
        let turn = self.read_turn(started + self.time_left() + GRACE);
        self.computed += started.elapsed();
        turn
    }

    /// Returns the time in which the block may still compute.
    fn time_left(&self) -> Duration {
        let whole = Duration::from_millis(self.limits.block_milliseconds);
        match self.limits.host_calls {
            Some(_) => whole.saturating_sub(self.computed),
            None => whole,
        }
    }

    /// Counts a call of the host, and returns the limit that the block is over.
    ///
    /// The worker's own clock begins anew with each answer, so a block that calls its host again and again has no other end.
    fn count_host_call(&mut self) -> Option<Limit> {
        self.host_calls += 1;
        if self.host_calls > self.limits.host_calls? {
            return Some(Limit::HostCalls);
        }
        self.time_left().is_zero().then_some(Limit::Time)
    }

    fn read_turn(&mut self, deadline: Instant) -> Result<Turn, SandboxError> {
        loop {
            let frame = match self.frames.next(deadline) {
                Ok(frame) => frame,
                Err(NoFrame::Ended) => return Ok(self.stopped(Limit::Crash)),
                Err(NoFrame::Late) => return Ok(self.stopped(Limit::Time)),
            };
            match self.read_event(&frame).map_err(|Malformed| self.protocol("a malformed event"))? {
                Some(Turn::Event(Event::Raised(error))) => {
                    return Ok(match limit_of(&error) {
                        Some(limit) => self.stopped(limit),
                        None => Turn::Event(Event::Raised(error)),
                    });
                }
                Some(Turn::Event(Event::Stopped(limit))) => return Ok(self.stopped(limit)),
                Some(turn) => return Ok(turn),
                None => {}
            }
        }
    }

    /// Reads one event; `None` when more follow in this turn.
    fn read_event(&mut self, frame: &[u8]) -> Result<Option<Turn>, Malformed> {
        self.pending = Pending::Nothing;
        for field in Fields(frame) {
            let (number, content) = field?;
            // Fields from 20 on are counters of the session.
            if number >= 20 {
                continue;
            }
            let content = content.bytes()?;
            return match number {
                field::PRINT => {
                    let is_over = self.print(content)?;
                    Ok(is_over.then_some(Turn::Event(Event::Stopped(Limit::Output))))
                }
                field::FUNCTION_CALL => {
                    let (id, call) = read_call(content)?;
                    self.pending = Pending::Call(id);
                    Ok(Some(Turn::Event(Event::Call(call))))
                }
                field::SYSTEM_CALL => Ok(Some(Turn::System(number_in(content, 1)?))),
                field::LOOKUP => {
                    self.pending = Pending::Lookup;
                    Ok(Some(Turn::Event(Event::Lookup(text_in(content, 1)?))))
                }
                field::COMPLETE => Ok(Some(Turn::Event(Event::Completed(read_complete(content)?)))),
                field::ERROR => Ok(Some(Turn::Event(Event::Raised(read_raised(content)?)))),
                field::DUMPED => {
                    let mut dump = Vec::new();
                    for field in Fields(content) {
                        if let (1, field) = field? {
                            dump = field.bytes()?.to_vec();
                        }
                    }
                    Ok(Some(Turn::Dumped(dump)))
                }
                field::OK => Ok(Some(Turn::Done)),
                // The worker ends after it.
                field::FATAL => Ok(Some(Turn::Event(Event::Stopped(Limit::Crash)))),
                _ => Err(Malformed),
            };
        }
        Err(Malformed)
    }

    /// Adds printed text and returns whether it is over the limit.
    fn print(&mut self, content: &[u8]) -> Result<bool, Malformed> {
        for field in Fields(content) {
            let (_, Field::Bytes(segment)) = field? else { continue };
            let text = text_in(segment, 2)?;
            let room = self.limits.output_bytes.saturating_sub(self.printed.text.len());
            let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            self.printed.text.push_str(text.get(..end).unwrap_or_default());
            self.printed.is_cut |= end < text.len();
        }
        Ok(self.printed.is_cut)
    }

    /// Reads until the block ends or asks its host. What it asks the system is refused.
    fn event(&mut self) -> Result<Event, SandboxError> {
        loop {
            match self.turn()? {
                Turn::Event(event @ (Event::Call(_) | Event::Lookup(_))) => {
                    return Ok(match self.count_host_call() {
                        Some(limit) => {
                            self.kill();
                            Event::Stopped(limit)
                        }
                        None => event,
                    });
                }
                Turn::Event(event) => return Ok(event),
                Turn::System(id) => {
                    if let Some(limit) = self.count_host_call() {
                        self.kill();
                        return Ok(Event::Stopped(limit));
                    }
                    let refused = Message::default().message(5, &Message::default());
                    self.send(&resume_call(id, refused, None))?;
                }
                Turn::Dumped(_) | Turn::Done => return Err(self.protocol("an answer to another question")),
            }
        }
    }
}

impl Sandbox for Monty {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn feed(&mut self, code: &str, inputs: &[(&str, &Value)]) -> Result<Event, SandboxError> {
        let mut arena = ArenaWriter::default();
        let mut feed = Message::default().text(1, code);
        for (name, value) in inputs {
            let position = arena.add(value);
            feed = feed.message(2, &Message::default().text(1, name).number(2, position));
        }
        let feed = feed.message(3, &arena.finish()).text(5, "/");
        (self.computed, self.host_calls) = (Duration::ZERO, 0);
        self.send(&Message::default().message(field::FEED, &feed).into_bytes())?;
        self.event()
    }

    fn resume(&mut self, answer: Answer<'_>) -> Result<Event, SandboxError> {
        let mut arena = ArenaWriter::default();
        let request = match (self.pending, answer) {
            (Pending::Nothing, _) => return Err(self.protocol("an answer that nobody asked for")),
            (Pending::Call(id), Answer::Value(value)) => {
                let position = arena.add(value);
                resume_call(id, Message::default().number(1, position), Some(arena))
            }
            (Pending::Call(id), Answer::Raise { kind, message }) => {
                let raised = Message::default().text(1, kind).text(2, message);
                resume_call(id, Message::default().message(2, &raised), None)
            }
            (Pending::Call(id), Answer::Undefined) => {
                resume_call(id, Message::default().text(4, "function"), None)
            }
            (Pending::Lookup, answer) => {
                let lookup = match answer {
                    Answer::Value(value) => {
                        let position = arena.add(value);
                        Message::default().message(1, &arena.finish()).number(2, position)
                    }
                    Answer::Raise { kind, message } => {
                        Message::default().message(4, &Message::default().text(1, kind).text(2, message))
                    }
                    Answer::Undefined => Message::default().message(3, &Message::default()),
                };
                Message::default().message(field::RESUME_LOOKUP, &lookup).into_bytes()
            }
        };
        self.send(&request)?;
        self.event()
    }

    fn take_output(&mut self) -> Printed {
        std::mem::take(&mut self.printed)
    }

    fn dump(&mut self) -> Result<Vec<u8>, SandboxError> {
        self.send(&Message::default().message(field::DUMP, &Message::default()).into_bytes())?;
        match self.turn()? {
            Turn::Dumped(dump) => Ok(dump),
            _ => Err(self.protocol("no dump")),
        }
    }

    fn load(&mut self, dump: &[u8]) -> Result<(), SandboxError> {
        let load = Message::default().bytes(1, dump);
        self.send(&Message::default().message(field::LOAD, &load).into_bytes())?;
        match self.turn()? {
            Turn::Done => Ok(()),
            _ => Err(self.protocol("a dump that cannot be loaded")),
        }
    }
}

impl Drop for Monty {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes the first request: limits, a frozen clock, no sleep, and the same random numbers every time.
fn configure(limits: Limits) -> Vec<u8> {
    let resources = Message::default()
        .number(2, limits.memory_bytes)
        .number(4, limits.recursion_depth)
        .number(6, limits.block_milliseconds.saturating_mul(1000));
    let empty = Message::default;
    let policy = empty()
        .message(3, &empty().number(1, FROZEN_SECONDS))
        .message(4, &empty().message(1, &empty()))
        .message(5, &empty().message(3, &empty()))
        .message(8, &empty().bytes(1, &[1]))
        .message(9, &empty());
    let configure = empty()
        .text(1, "block.py")
        .message(2, &resources)
        .text(5, env!("CARGO_PKG_VERSION"))
        .number(6, 0)
        .number(9, u64::from(PROTOCOL))
        .message(11, &policy);
    empty().message(field::CONFIGURE, &configure).into_bytes()
}

fn resume_call(id: u64, result: Message, arena: Option<ArenaWriter>) -> Vec<u8> {
    let resume = Message::default().number(1, id).message(2, &result);
    let resume = match arena {
        Some(arena) => resume.message(3, &arena.finish()),
        None => resume,
    };
    Message::default().message(field::RESUME_CALL, &resume).into_bytes()
}

/// Limits the worker by the system as well. A system that cannot is no reason to refuse: the interpreter has its own limits.
fn limit_process(process: &Child, limits: Limits) {
    let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    let limit = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    let memory = limits.memory_bytes.saturating_mul(2).saturating_add(ADDRESS_SPACE_BYTES);
    for (resource, most) in [(Resource::As, memory), (Resource::Core, 0), (Resource::Fsize, 0)] {
        let _ = prlimit(pid, resource, limit(most));
    }
}

/// Returns the limit that an exception stands for. The interpreter raises these so that code cannot catch them.
fn limit_of(error: &PyError) -> Option<Limit> {
    match &*error.kind {
        "TimeoutError" if error.message.contains("time limit exceeded") => Some(Limit::Time),
        "MemoryError" if error.message.starts_with("memory limit exceeded") => Some(Limit::Memory),
        _ => None,
    }
}

fn number_in(bytes: &[u8], wanted: u64) -> Result<u64, Malformed> {
    let mut found = 0;
    for field in Fields(bytes) {
        match field? {
            (number, field) if number == wanted => found = field.number()?,
            _ => {}
        }
    }
    Ok(found)
}

fn text_in(bytes: &[u8], wanted: u64) -> Result<String, Malformed> {
    let mut found = "";
    for field in Fields(bytes) {
        match field? {
            (number, field) if number == wanted => found = field.text()?,
            _ => {}
        }
    }
    Ok(found.to_owned())
}

fn read_call(bytes: &[u8]) -> Result<(u64, HostCall), Malformed> {
    let (mut name, mut id, mut arguments, mut named) = (String::new(), 0, Vec::new(), Vec::new());
    let mut arena = Arena::read(&[])?;
    for field in Fields(bytes) {
        match field? {
            (1, field) => name = field.text()?.to_owned(),
            (2, field) => field.numbers(&mut arguments)?,
            (3, field) => named.push(field.bytes()?),
            (4, field) => id = field.number()?,
            // A method of a host object; this host has none.
            (5, _) => name.insert(0, '.'),
            (7, field) => arena = Arena::read(field.bytes()?)?,
            _ => {}
        }
    }
    let arguments = arguments.into_iter().map(|position| arena.value(position)).collect::<Result<_, _>>()?;
    let named = named.into_iter().map(|pair| {
        let key = match arena.value(number_in(pair, 1)?)? {
            PyValue::Data(Value::String(key)) => key.to_string(),
            _ => return Err(Malformed),
        };
        Ok((key, arena.value(number_in(pair, 2)?)?))
    });
    let named = named.collect::<Result<_, _>>()?;
    Ok((id, HostCall { name, arguments, named }))
}

fn read_complete(bytes: &[u8]) -> Result<PyValue, Malformed> {
    let (mut position, mut arena) = (0, Arena::read(&[])?);
    for field in Fields(bytes) {
        match field? {
            (1, field) => position = field.number()?,
            (2, field) => arena = Arena::read(field.bytes()?)?,
            _ => {}
        }
    }
    arena.value(position)
}

fn read_raised(bytes: &[u8]) -> Result<PyError, Malformed> {
    let mut error = PyError { kind: String::new(), message: String::new(), line: None };
    for field in Fields(bytes) {
        let (1, Field::Bytes(exception)) = field? else { continue };
        for field in Fields(exception) {
            match field? {
                (1, field) => error.kind = field.text()?.to_owned(),
                (2, field) => error.message = field.text()?.to_owned(),
                // The outermost frame comes first: it is the line of the block.
                (3, field) if error.line.is_none() => error.line = frame_line(field.bytes()?)?,
                _ => {}
            }
        }
    }
    Ok(error)
}

fn frame_line(frame: &[u8]) -> Result<Option<u64>, Malformed> {
    for field in Fields(frame) {
        if let (2, Field::Bytes(start)) = field? {
            return number_in(start, 1).map(Some);
        }
    }
    Ok(None)
}
