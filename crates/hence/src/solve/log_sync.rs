//! Makes the replies in a call log durable while the run continues.
//!
//! A reply is written to the log before anything depends on it, so a killed process loses none. The sync that protects
//! it from a power loss runs next to the run: a reply is durable after at most two syncs, one that was under way when it
//! was written and its own.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use hence_engine::SinkError;
use hence_skills::CallLog;

/// Syncs a call log in a thread of its own, until it is dropped. The last sync covers everything.
pub(crate) struct LogSync {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    log: Arc<CallLog<'static>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether something was written after the last sync began.
    is_due: bool,
    is_over: bool,
    /// The message of the first sync that failed. What the disk holds is unknown after it.
    failure: Option<String>,
}

impl LogSync {
    /// Starts to watch over a log.
    pub(crate) fn start(log: Arc<CallLog<'static>>) -> Self {
        let shared = Arc::new(Shared { log, state: Mutex::default(), changed: Condvar::new() });
        let watched = shared.clone();
        let spawn = std::thread::Builder::new().name("log-sync".to_owned()).spawn(move || watched.work());
        // Without a thread each reply is synced where it is written.
        Self { shared, thread: spawn.ok() }
    }

    /// Says that a reply was written.
    ///
    /// # Errors
    /// [`SinkError`] when an earlier reply could not be made durable.
    pub(crate) fn wrote(&self) -> Result<(), SinkError> {
        if self.thread.is_none() {
            return self.shared.log.sync();
        }
        let mut state = self.shared.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone().into());
        }
        state.is_due = true;
        drop(state);
        self.shared.changed.notify_one();
        Ok(())
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.is_due {
                state.is_due = false;
                drop(state);
                let synced = self.log.sync();
                state = self.lock();
                if let Err(error) = synced {
                    state.failure.get_or_insert(error.to_string());
                }
            } else if state.is_over {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Takes the lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LogSync {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread ends by itself after the notice and its last sync.
            let _ = thread.join();
        }
    }
}
