//! A queue in memory, for tests and for programs that embed a worker.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::{Clock, SystemClock};
use crate::error::{QueueError, Refusal};
use crate::hosted::{Host, HostedQueue, Promise};
use crate::names::Time;
use crate::state::QueueState;

/// A queue in memory. Clones share their content.
pub type MemoryQueue = HostedQueue<Memory>;

/// The memory of a [`MemoryQueue`].
#[derive(Clone)]
pub struct Memory {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<QueueState>>,
    version: Arc<AtomicU64>,
}

impl MemoryQueue {
    /// Returns an empty queue with the clock of this machine.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Returns an empty queue with a clock of its own.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self(Memory { clock, state: Arc::default(), version: Arc::default() })
    }
}

impl Default for MemoryQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for MemoryQueue {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Host for Memory {
    fn now(&self) -> Result<Time, QueueError> {
        Ok(self.clock.now())
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    fn read<T>(&self, look: impl FnOnce(&QueueState) -> T) -> Result<T, QueueError> {
        Ok(look(&self.state.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn change<T>(
        &self,
        _: Promise,
        edit: impl FnOnce(&mut QueueState, Time) -> Result<T, Refusal>,
    ) -> Result<T, QueueError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match edit(&mut state, self.clock.now()) {
            Ok(value) => {
                state.commit();
                self.version.fetch_add(1, Ordering::SeqCst);
                Ok(value)
            }
            Err(refusal) => {
                state.undo();
                Err(refusal.into())
            }
        }
    }
}
