//! A run that a request is about, and what is remembered between requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hence_engine::RunKind;
use hence_state::Profile;
use hence_store::{Condition, RunId, RunSummary, StoreError, StoreHandle};

use super::Views;
use super::index::{LineIndex, Lines};
use super::projected::Projected;
use super::verdict::VerdictReport;
use crate::prelude::*;
use crate::skills;
use crate::target::{self, Journal};
use crate::time_log;

/// The runs of which something is remembered. Each may hold a trace in memory.
const RUNS_MAX: usize = 6;

/// The largest journal that is read whole for one response. Views in windows have no limit.
pub(super) const WHOLE_JOURNAL_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The most bytes that are counted while somebody waits for a window.
const COUNTED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The stamps of a run's journal, call log and time log: when none of them changes, nothing that was made of them does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(super) struct Stamp([Option<hence_store::Stamp>; 3]);

impl Stamp {
    /// Looks at the parts of a run.
    pub(super) fn of(store: &StoreHandle, run: &RunId) -> Self {
        Self::of_parts(&store.stamps(run, &[skills::calls_name().as_str(), time_log::TIMES]))
    }

    /// Looks at the parts of the newest runs, at most `runs_max`, and says whether there are more.
    pub(super) fn of_newest(
        store: &StoreHandle,
        runs_max: usize,
    ) -> Result<(BTreeMap<RunId, Self>, bool), StoreError> {
        let names = [skills::calls_name(), time_log::times_name()];
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let (stamps, has_more) = store.newest_stamps(&names, runs_max)?;
        let stamps = stamps.into_iter().map(|(summary, stamps)| (summary.run, Self::of_parts(&stamps)));
        Ok((stamps.collect(), has_more))
    }

    fn of_parts(stamps: &hence_store::Stamps) -> Self {
        let attachment = |place: usize| stamps.attachments.get(place).copied().flatten();
        Self([stamps.journal, attachment(0), attachment(1)])
    }

    /// Returns the stamp with that of a review's journal in place of the time log's.
    pub(super) fn with_review(self, review: Option<hence_store::Stamp>) -> Self {
        let Self([journal, calls, _]) = self;
        Self([journal, calls, review])
    }

    /// Returns a number that differs when the stamp does.
    pub(super) fn number(self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        // The largest number is the one of a topic that is gone.
        hasher.finish() >> 1
    }
}

/// Something that was made of a run, and the stamp of its files at that time.
pub(super) struct Remembered<T>(Mutex<Option<(Stamp, Arc<T>)>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Remembered<T> {
    /// Returns it, made again if the run has changed. Requests for the same wait for one that makes it.
    pub(super) fn get(
        &self,
        stamp: Stamp,
        make: impl FnOnce() -> Result<T, CliError>,
    ) -> Result<Arc<T>, CliError> {
        let mut slot = lock(&self.0);
        if let Some((known, thing)) = &*slot
            && *known == stamp
        {
            return Ok(thing.clone());
        }
        let made = Arc::new(make()?);
        *slot = Some((stamp, made.clone()));
        Ok(made)
    }
}

/// Takes a lock. What a panic left behind is made again or compared with the run, so it does no harm.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines of a journal that were counted, and the stamp of its files at that time.
#[derive(Default, Clone)]
struct Counted {
    stamp: Stamp,
    index: Arc<LineIndex>,
}

/// The remembered parts of one run.
#[derive(Default)]
pub(super) struct Memory {
    index: Mutex<Counted>,
    pub(super) projected: Remembered<Projected>,
    pub(super) verdict: Remembered<VerdictReport>,
    pub(super) replayed: Remembered<VerdictReport>,
}

/// The memories of the runs that were asked for last.
#[derive(Default)]
pub(super) struct Memories(Mutex<VecDeque<(RunId, Arc<Memory>)>>);

impl Memories {
    fn of(&self, run: &RunId) -> Arc<Memory> {
        let mut all = lock(&self.0);
        let found = all.iter().position(|(known, _)| known == run).and_then(|place| all.remove(place));
        let (run, memory) = found.unwrap_or_else(|| (run.clone(), Arc::default()));
        all.push_back((run, memory.clone()));
        while all.len() > RUNS_MAX {
            all.pop_front();
        }
        memory
    }
}

/// A run that a request is about.
pub(super) struct Opened {
    pub(super) id: RunId,
    pub(super) store: StoreHandle,
    pub(super) summary: RunSummary,
    pub(super) stamp: Stamp,
    pub(super) memory: Arc<Memory>,
    /// The header and the problem.
    pub(super) start: Journal,
}

impl Opened {
    /// Finds a run by its id or a prefix of it.
    pub(super) fn find(views: &Views, name: &str) -> Result<Self, CliError> {
        let store = views.context.store()?;
        // A whole id is found without a list of all runs.
        let exact = RunId::new(name).ok().map(|id| (store.summary(&id), id));
        let (summary, id) = match exact {
            Some((Ok(summary), id)) => (summary, id),
            Some((Err(StoreError::NoSuchRun { .. }), _)) | None => {
                let id = target::find_run(&store, name)?;
                (store.summary(&id)?, id)
            }
            Some((Err(error), _)) => return Err(error.into()),
        };
        let stamp = Stamp::of(&store, &id);
        let memory = views.memories.of(&id);
        // A problem that cannot be read is reported by what needs it.
        let start = match Journal::start_of_run(&store, &id) {
            Ok(start) => start,
            Err(_) => Journal::of_bytes(id.as_str(), Vec::new()),
        };
        Ok(Self { id, store, summary, stamp, memory, start })
    }

    /// Opens a run of which nothing is remembered.
    pub(super) fn alone(store: StoreHandle, id: RunId) -> Result<Self, CliError> {
        let summary = store.summary(&id)?;
        let start = match Journal::start_of_run(&store, &id) {
            Ok(start) => start,
            Err(_) => Journal::of_bytes(id.as_str(), Vec::new()),
        };
        let stamp = Stamp::of(&store, &id);
        Ok(Self { id, store, summary, stamp, memory: Arc::default(), start })
    }

    pub(super) fn name(&self) -> &str {
        self.id.as_str()
    }

    pub(super) fn kind(&self) -> RunKind {
        self.start.kind
    }

    pub(super) fn profile(&self) -> Profile {
        self.start.profile()
    }

    /// Returns the head as responses name it.
    pub(super) fn head(&self) -> Option<String> {
        self.summary.head().map(|head| head.to_string())
    }

    /// Returns the bytes of an append that was never finished.
    pub(super) fn torn_bytes(&self) -> u64 {
        match self.summary.condition {
            Condition::Torn { bytes, .. } => bytes,
            Condition::Whole { .. } | Condition::Damaged(_) => 0,
        }
    }

    /// Returns the journal's lines. A long journal that was not counted yet is not counted for this.
    pub(super) fn lines(&self) -> Result<Lines<'_>, CliError> {
        let known = lock(&self.memory.index).clone();
        let is_current = known.stamp == self.stamp;
        let uncounted = self.summary.journal_bytes.saturating_sub(known.index.size());
        match self.summary.condition {
            Condition::Whole { head } if !is_current && uncounted > COUNTED_BYTES_MAX => {
                let (records, size) = (head.records.get(), self.summary.journal_bytes);
                Ok(Lines::declared(&self.store, &self.id, records, size))
            }
            _ => self.counted_lines(),
        }
    }

    /// Returns the journal's lines, counted. Nobody waits for somebody else who counts.
    pub(super) fn counted_lines(&self) -> Result<Lines<'_>, CliError> {
        let Counted { stamp, mut index } = lock(&self.memory.index).clone();
        if stamp != self.stamp {
            let fresh = Arc::make_mut(&mut index);
            // A journal that changed without growing was not appended to.
            if fresh.size() >= self.summary.journal_bytes {
                *fresh = LineIndex::default();
            }
            fresh.update(&self.store, &self.id)?;
            *lock(&self.memory.index) = Counted { stamp: self.stamp, index: index.clone() };
        }
        Ok(Lines::counted(&self.store, &self.id, index))
    }

    /// Reads the whole journal with its documents.
    pub(super) fn whole(&self) -> Result<Journal, CliError> {
        self.refuse_large()?;
        Journal::of_stored(self.store.clone(), &self.id)
    }

    /// Refuses a view that needs the whole of a journal that is too large for it.
    pub(super) fn refuse_large(&self) -> Result<(), CliError> {
        let bytes = self.summary.journal_bytes;
        if bytes <= WHOLE_JOURNAL_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "run {}: its journal has {bytes} bytes, and this view reads journals up to {WHOLE_JOURNAL_BYTES_MAX}",
            self.id
        );
        Err(CliError::new(Code::Busy, message).with_hint(hint::WINDOWS_ONLY))
    }
}
