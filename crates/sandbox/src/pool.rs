//! Workers that wait for their next session: starting a process takes longer than most blocks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hence_canon::Value;

use crate::{
    Answer, Event, Identity, Limits, Monty, NotFound, Printed, Sandbox, SandboxError, WorkerProgram,
};

/// The most workers that wait. Each is a process with the memory that its interpreter needs.
const IDLE_MAX: usize = 16;

/// The workers of a run and its children.
///
/// A worker has one session at a time. A session that ended leaves nothing behind: its worker drops everything before it
/// begins the next one. A worker that a limit stopped, or whose block was left, is ended and never used again.
#[derive(Default)]
pub struct WorkerPool {
    program: Mutex<Option<Result<WorkerProgram, NotFound>>>,
    idle: Mutex<Vec<Monty>>,
}

impl WorkerPool {
    /// Returns the worker program. It is looked for once.
    ///
    /// # Errors
    /// [`NotFound`] with every place that was tried.
    pub fn program(&self) -> Result<WorkerProgram, NotFound> {
        lock(&self.program).get_or_insert_with(Monty::find).clone()
    }

    /// Begins a session in a worker that waits, or in a new one.
    ///
    /// # Errors
    /// [`SandboxError`] when no worker can be started.
    pub fn session(self: &Arc<Self>, limits: Limits) -> Result<PooledWorker, SandboxError> {
        while let Some(mut worker) = self.take(limits) {
            // One that does not begin again, because somebody ended its process, is replaced.
            if worker.begin_again().is_ok() {
                return Ok(PooledWorker::new(worker, self));
            }
        }
        let program = self.program().map_err(|error| SandboxError::Gone(error.to_string()))?;
        Ok(PooledWorker::new(Monty::start(&program, limits)?, self))
    }

    /// Takes a worker whose process has these limits.
    fn take(&self, limits: Limits) -> Option<Monty> {
        let mut idle = lock(&self.idle);
        let place = idle.iter().rposition(|worker| worker.limits() == limits)?;
        Some(idle.swap_remove(place))
    }
}

/// Takes a lock. No code panics while holding one, so the data of a poisoned lock is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session in a worker that goes back to its pool.
pub struct PooledWorker {
    /// There until the session is dropped.
    worker: Option<Monty>,
    identity: Identity,
    pool: Arc<WorkerPool>,
}

impl PooledWorker {
    fn new(worker: Monty, pool: &Arc<WorkerPool>) -> Self {
        Self { identity: worker.identity().clone(), worker: Some(worker), pool: pool.clone() }
    }

    /// Returns the id of the worker's process.
    pub fn process_id(&self) -> Option<u32> {
        self.worker.as_ref().map(Monty::process_id)
    }

    fn worker(&mut self) -> Result<&mut Monty, SandboxError> {
        self.worker.as_mut().ok_or_else(|| SandboxError::Gone("its session has ended".to_owned()))
    }
}

impl Sandbox for PooledWorker {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn feed(&mut self, code: &str, inputs: &[(&str, &Value)]) -> Result<Event, SandboxError> {
        self.worker()?.feed(code, inputs)
    }

    fn resume(&mut self, answer: Answer<'_>) -> Result<Event, SandboxError> {
        self.worker()?.resume(answer)
    }

    fn take_output(&mut self) -> Printed {
        self.worker.as_mut().map(Monty::take_output).unwrap_or_default()
    }

    fn dump(&mut self) -> Result<Vec<u8>, SandboxError> {
        self.worker()?.dump()
    }

    fn load(&mut self, dump: &[u8]) -> Result<(), SandboxError> {
        self.worker()?.load(dump)
    }
}

impl Drop for PooledWorker {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take().filter(Monty::is_idle) else { return };
        let mut idle = lock(&self.pool.idle);
        if idle.len() < IDLE_MAX {
            idle.push(worker);
        }
    }
}
