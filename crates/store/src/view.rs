//! Views of runs that a store caches, so that looking at runs costs what has changed since the last look.

use hence_canon::Value;
use hence_journal::Head;

use crate::{RunSummary, StoreHandle};

/// The number of records from which the view of a single run is cached: reading fewer costs no more than reading the cache.
pub const VIEW_RECORDS_MIN: u64 = 256;

/// The properties of a journal or an attachment that change when its bytes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamp {
    /// The number of bytes.
    pub bytes: u64,
    /// In a folder the time of the last modification in nanoseconds, or 0 where the file system has none; elsewhere a number
    /// that is another one after each change.
    pub modified: u64,
    /// In a folder the time at which the file system last changed anything about the file, or 0 where it does not say. No
    /// archive brings it along and no program sets it. Elsewhere 0.
    pub changed: u64,
}

/// The stamps of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Stamps {
    /// The stamp of the journal; `None` if there is none.
    pub journal: Option<Stamp>,
    /// The stamps of the attachments that were asked for, in that order; `None` for one that is not there.
    pub attachments: Vec<Option<Stamp>>,
}

/// Everything that a cached view of one run was computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewBinding {
    /// The head of the journal.
    pub head: Head,
    /// The stamp of the journal.
    pub journal: Stamp,
    /// The stamps of the attachments.
    pub attachments: Vec<Option<Stamp>>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The summary of the run.
    pub summary: RunSummary,
    /// The stamps of the run when it was listed. The journal's is `None` if the run does not end in a whole record, so that
    /// nothing of it is cached.
    pub stamps: Stamps,
    /// The cached view, if it was computed from exactly these.
    pub view: Option<Value>,
}

/// The runs of a store with their cached views.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The runs, in the order of their ids.
    pub runs: Vec<Listed>,
    /// Whether the cache has exactly these runs, so that nothing need be written if no view changes.
    pub is_current: bool,
}

/// A view of a run that a store caches. It is computed again when the journal, or an attachment that it names, has changed.
pub trait RunView: Sized {
    /// The attachments that the view is computed from, besides the journal.
    const ATTACHMENTS: &'static [&'static str];

    /// Computes the view of a run.
    fn compute(store: &StoreHandle, summary: &RunSummary) -> Self;

    /// Computes the view of a run to compare it with a cached one, with the parts that only some readers ask for as far as the
    /// cached one has them.
    fn compute_like(store: &StoreHandle, summary: &RunSummary, _cached: &Self) -> Self {
        Self::compute(store, summary)
    }

    /// Returns the value to cache; `None` when something could not be read, so that it is computed again
    /// the next time.
    fn encode(&self) -> Option<Value>;

    /// Reads a cached value; `None` when another version wrote it.
    fn decode(value: &Value) -> Option<Self>;
}
