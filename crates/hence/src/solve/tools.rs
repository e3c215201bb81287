//! The interpreter and the contexts of a stored run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hence_canon::Value;
use hence_sandbox::{
    Answer, Event, INSTALL_COMMAND, Identity, Limits, Monty, Printed, Sandbox, SandboxError, WorkerProgram,
};
use hence_solve::{Context, ContextFault, ContextPin, Tools};
use hence_store::StoreHandle;

use super::contexts;

/// The microseconds in which blocks have computed, in this process.
pub(crate) type InterpreterTime = std::sync::Arc<AtomicU64>;

/// The tools of one run.
pub(crate) struct SolveTools {
    pins: Vec<ContextPin>,
    store: Option<StoreHandle>,
    worker: OnceLock<Result<WorkerProgram, String>>,
    opened: OnceLock<Result<Vec<Context>, ContextFault>>,
    time: InterpreterTime,
}

impl SolveTools {
    /// Makes the tools of a run whose blobs are in a store.
    pub(crate) fn new(pins: &[ContextPin], store: Option<StoreHandle>, time: InterpreterTime) -> Self {
        Self { pins: pins.to_vec(), store, worker: OnceLock::new(), opened: OnceLock::new(), time }
    }

    /// Returns the worker program.
    ///
    /// # Errors
    /// The places where it was looked for, and how to install it.
    pub(crate) fn worker(&self) -> Result<&WorkerProgram, String> {
        let found = self.worker.get_or_init(|| {
            Monty::find().map_err(|error| format!("{error}; to install it: {INSTALL_COMMAND}"))
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// Returns the counter of the time in which blocks computed.
    pub(crate) fn time(&self) -> &InterpreterTime {
        &self.time
    }
}

impl Tools for SolveTools {
    fn interpreter(&self, limits: Limits) -> Result<Box<dyn Sandbox>, SandboxError> {
        let worker = self.worker().map_err(SandboxError::Gone)?;
        let sandbox = Monty::start(worker, limits)?;
        Ok(Box::new(Timed { sandbox, time: self.time.clone() }))
    }

    fn contexts(&self) -> Result<&[Context], ContextFault> {
        let opened = self.opened.get_or_init(|| contexts::open(&self.pins, self.store.as_ref()));
        opened.as_deref().map_err(Clone::clone)
    }
}

/// An interpreter whose time is counted. Time in which it waits for its host is not.
struct Timed {
    sandbox: Monty,
    time: InterpreterTime,
}

impl Timed {
    fn timed<T>(&mut self, work: impl FnOnce(&mut Monty) -> T) -> T {
        let start = Instant::now();
        let done = work(&mut self.sandbox);
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.time.fetch_add(micros, Ordering::Relaxed);
        done
    }
}

impl Sandbox for Timed {
    fn identity(&self) -> &Identity {
        self.sandbox.identity()
    }

    fn feed(&mut self, code: &str, inputs: &[(&str, &Value)]) -> Result<Event, SandboxError> {
        self.timed(|sandbox| sandbox.feed(code, inputs))
    }

    fn resume(&mut self, answer: Answer<'_>) -> Result<Event, SandboxError> {
        self.timed(|sandbox| sandbox.resume(answer))
    }

    fn take_output(&mut self) -> Printed {
        self.sandbox.take_output()
    }

    fn dump(&mut self) -> Result<Vec<u8>, SandboxError> {
        self.sandbox.dump()
    }

    fn load(&mut self, dump: &[u8]) -> Result<(), SandboxError> {
        self.sandbox.load(dump)
    }
}
