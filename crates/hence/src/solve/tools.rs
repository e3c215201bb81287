//! The interpreter and the contexts of a stored run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hence_canon::Value;
use hence_sandbox::{
    Answer, Event, INSTALL_COMMAND, Identity, Limits, PooledWorker, Printed, Sandbox, SandboxError,
    WorkerPool, WorkerProgram,
};
use hence_solve::{AnswerForms, Context, ContextFault, ContextPin, Tools};
use hence_store::StoreHandle;

use super::contexts;

/// The interpreters of a run and its children, and the time in which they computed.
#[derive(Clone, Default)]
pub(crate) struct Interpreters {
    workers: Arc<WorkerPool>,
    /// The microseconds in which blocks have computed, in this process.
    micros: Arc<AtomicU64>,
    /// The memory of an interpreter that knows the functions of the host, by the forms of answers. All interpreters of a task
    /// tree have the same limits.
    introduced: Arc<[OnceLock<Vec<u8>>; 2]>,
}

impl Interpreters {
    /// Returns the worker program.
    ///
    /// # Errors
    /// The places where it was looked for, and how to install it.
    pub(crate) fn program(&self) -> Result<WorkerProgram, String> {
        self.workers.program().map_err(|error| format!("{error}; to install it: {INSTALL_COMMAND}"))
    }

    /// Returns the time in which blocks have computed, in this process.
    pub(crate) fn computed(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

/// The tools of one run.
pub(crate) struct SolveTools {
    pins: Vec<ContextPin>,
    store: Option<StoreHandle>,
    opened: OnceLock<Result<Vec<Context>, ContextFault>>,
    interpreters: Interpreters,
}

impl SolveTools {
    /// Makes the tools of a run whose blobs are in a store.
    pub(crate) fn new(pins: &[ContextPin], store: Option<StoreHandle>, interpreters: Interpreters) -> Self {
        Self { pins: pins.to_vec(), store, opened: OnceLock::new(), interpreters }
    }

    /// Makes the tools of a new child whose context its parent hands over.
    pub(crate) fn of_child(pins: &[ContextPin], context: &Value, interpreters: Interpreters) -> Self {
        let tools = Self::new(pins, None, interpreters);
        if let [pin] = pins {
            let content = contexts::content_of_blob(pin, context.clone());
            // The cell of new tools is empty.
            let _ = tools.opened.set(Ok(vec![Context { number: 0, content }]));
        }
        tools
    }

    /// Returns the interpreters.
    pub(crate) fn interpreters(&self) -> &Interpreters {
        &self.interpreters
    }
}

impl Tools for SolveTools {
    fn interpreter(&self, limits: Limits) -> Result<Box<dyn Sandbox>, SandboxError> {
        self.interpreters.program().map_err(SandboxError::Gone)?;
        let sandbox = self.interpreters.workers.session(limits)?;
        Ok(Box::new(Timed { sandbox, micros: self.interpreters.micros.clone() }))
    }

    fn introduced(&self, forms: AnswerForms) -> Option<&OnceLock<Vec<u8>>> {
        let [own, compat] = &*self.interpreters.introduced;
        Some(match forms {
            AnswerForms::Final => own,
            AnswerForms::Compat => compat,
        })
    }

    fn contexts(&self) -> Result<&[Context], ContextFault> {
        let opened = self.opened.get_or_init(|| contexts::open(&self.pins, self.store.as_ref()));
        opened.as_deref().map_err(Clone::clone)
    }
}

/// An interpreter whose time is counted. Time in which it waits for its host is not.
struct Timed {
    sandbox: PooledWorker,
    micros: Arc<AtomicU64>,
}

impl Timed {
    fn timed<T>(&mut self, work: impl FnOnce(&mut PooledWorker) -> T) -> T {
        let start = Instant::now();
        let done = work(&mut self.sandbox);
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
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
