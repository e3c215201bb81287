//! The call log of a run in progress.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hence_canon::Value;
use hence_cognition::run::StepOutcome;
use hence_engine::SinkError;
use hence_journal::Durability;

use super::entry::Entry;
use super::history::{CallHistory, CallStatus, LostCall};

/// Appends a line to where the log is stored; an empty line only makes the others durable. Called from many threads.
type Append<'a> = Box<dyn Fn(&[u8], Durability) -> Result<(), SinkError> + Send + Sync + 'a>;

/// The calls of a run that are under way, in memory and in storage.
pub struct CallLog<'a> {
    history: Mutex<CallHistory>,
    append: Append<'a>,
}

impl<'a> CallLog<'a> {
    /// Makes a log that continues after what is known, and appends its lines with `append`.
    pub fn new(
        history: CallHistory,
        append: impl Fn(&[u8], Durability) -> Result<(), SinkError> + Send + Sync + 'a,
    ) -> Self {
        Self { history: Mutex::new(history), append: Box::new(append) }
    }

    /// Makes a log that stores nothing: for runs that call only pure functions, and for replays.
    pub fn in_memory() -> Self {
        Self::new(CallHistory::default(), |_, _| Ok(()))
    }

    /// Returns everything that is known.
    pub fn history(&self) -> CallHistory {
        self.lock().clone()
    }

    /// Returns the status of a call.
    pub fn status(&self, key: &str) -> Option<CallStatus> {
        self.lock().status(key).cloned()
    }

    /// Returns what is known of the earlier attempts of a call that is about to be repeated; `None` when nothing was begun.
    pub(crate) fn lost(&self, key: &str) -> Option<LostCall> {
        self.lock().lost(key)
    }

    /// Returns what was exchanged with a model in a call that gave no reply.
    pub fn exchange(&self, key: &str) -> Option<Value> {
        self.lock().exchange(key).cloned()
    }

    pub(crate) fn outcomes(&self) -> BTreeMap<Arc<str>, StepOutcome> {
        self.lock().outcomes().clone()
    }

    /// Appends an entry. It is known once it is stored.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be stored.
    pub fn note(&self, entry: Entry, durability: Durability) -> Result<(), SinkError> {
        // Not under the lock, so that threads that need durability share one sync.
        (self.append)(&entry.line(), durability)?;
        self.lock().apply(entry);
        Ok(())
    }

    /// Makes every entry durable.
    ///
    /// # Errors
    /// [`SinkError`] when the storage fails.
    pub fn sync(&self) -> Result<(), SinkError> {
        (self.append)(&[], Durability::Synced)
    }

    /// No code panics while holding the lock, so a poisoned one guards sound data.
    fn lock(&self) -> MutexGuard<'_, CallHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
