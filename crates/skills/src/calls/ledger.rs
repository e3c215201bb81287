//! The lines beside a journal while a run is under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hence_cognition::run::StepOutcome;
use hence_engine::SinkError;

use super::entry::Entry;
use super::history::{CallHistory, CallStatus};

/// What a caller may rely on when a line is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// It survives the death of the process.
    Kept,
    /// It survives power loss too.
    Durable,
}

/// Keeps lines beside a journal. It is written from many threads.
pub trait CallLog: Sync {
    /// Appends a line behind those before; nothing at all may be appended to make the others durable.
    ///
    /// # Errors
    /// Why it could not; the run then stops and can be resumed.
    fn append(&self, line: &[u8], promise: Promise) -> Result<(), SinkError>;
}

/// Keeps nothing: for runs that call nothing but pure functions, and for replays.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCallLog;

impl CallLog for NoCallLog {
    fn append(&self, _: &[u8], _: Promise) -> Result<(), SinkError> {
        Ok(())
    }
}

/// What is known about calls, and where more of it is kept.
pub struct Ledger<'a> {
    history: Mutex<CallHistory>,
    log: &'a dyn CallLog,
}

impl<'a> Ledger<'a> {
    /// Returns a ledger that goes on behind what is known.
    pub fn new(history: CallHistory, log: &'a dyn CallLog) -> Self {
        Self { history: Mutex::new(history), log }
    }

    /// Returns a ledger that keeps nothing.
    pub fn empty() -> Self {
        Self::new(CallHistory::default(), &NoCallLog)
    }

    /// Returns everything that is known.
    pub fn history(&self) -> CallHistory {
        self.lock().clone()
    }

    /// Returns how a call stands.
    pub fn standing(&self, key: &str) -> Option<CallStatus> {
        self.lock().standing(key).cloned()
    }

    pub(crate) fn outcomes(&self) -> BTreeMap<Arc<str>, StepOutcome> {
        self.lock().outcomes().clone()
    }

    /// Keeps an entry. What it says is known once it is kept.
    ///
    /// # Errors
    /// Why it could not be kept.
    pub fn note(&self, entry: Entry, promise: Promise) -> Result<(), SinkError> {
        // Not under the lock: those who need it durable share one sync.
        self.log.append(&entry.line(), promise)?;
        self.lock().take(entry);
        Ok(())
    }

    /// Makes everything that was kept durable.
    pub(crate) fn sync(&self) -> Result<(), SinkError> {
        self.log.append(&[], Promise::Durable)
    }

    /// No code panics while holding the lock, so a poisoned one guards sound data.
    fn lock(&self) -> MutexGuard<'_, CallHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
