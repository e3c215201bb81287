//! Summaries of runs, for lists.

use std::io;
use std::path::Path;

use hence_journal::Head;

use crate::{Action, DiskError};
use crate::{CANDIDATES_MAX, Damage, RunId, StoreError};

/// The longest header line in a summary: a header is about 600 bytes, and a list has many.
pub const SUMMARY_HEADER_BYTES_MAX: usize = 4096;

/// The summary of a run, computed from its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// The end of its journal.
    pub condition: Condition,
    /// The length of its journal.
    pub journal_bytes: u64,
    /// Its first line without the line feed, if that is text and at most [`SUMMARY_HEADER_BYTES_MAX`] long.
    pub header: Option<String>,
}

/// The end of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The journal ends with a whole record.
    Whole {
        /// The head.
        head: Head,
    },
    /// The journal ends with an append in progress or interrupted.
    Torn {
        /// The head after the last finished append.
        head: Head,
        /// The number of bytes after it.
        bytes: u64,
    },
    /// The journal does not end with a record.
    Damaged(Damage),
}

impl RunSummary {
    /// Returns the head, unless the journal is damaged.
    pub fn head(&self) -> Option<Head> {
        match self.condition {
            Condition::Whole { head } | Condition::Torn { head, .. } => Some(head),
            Condition::Damaged(_) => None,
        }
    }
}

/// Finds the run that `prefix` names among `runs`, which are in order.
pub(crate) fn find_prefix<'a>(
    prefix: &str,
    runs: impl Iterator<Item = &'a RunId>,
) -> Result<RunId, StoreError> {
    // Every id begins with nothing, and nobody who names nothing means the only run of a store.
    let begins = |run: &&RunId| !prefix.is_empty() && run.as_str().starts_with(prefix);
    let matching: Vec<&RunId> = runs.filter(begins).collect();
    // A whole id means its run even when longer ids begin with it.
    let exact = matching.iter().find(|run| run.as_str() == prefix);
    match (exact, matching.as_slice()) {
        (Some(run), _) => Ok((*run).clone()),
        (None, [run]) => Ok((*run).clone()),
        (None, []) => Err(StoreError::PrefixNotFound { prefix: prefix.to_owned() }),
        (None, several) => Err(StoreError::PrefixAmbiguous {
            prefix: prefix.to_owned(),
            matches: several.len(),
            candidates: several.iter().take(CANDIDATES_MAX).map(|run| (*run).clone()).collect(),
        }),
    }
}

/// Returns the first line of a journal, if it fits a summary.
pub fn header_of(start: &[u8]) -> Option<String> {
    let end = start.iter().position(|byte| *byte == b'\n')?;
    let line = start.get(..end).filter(|line| line.len() <= SUMMARY_HEADER_BYTES_MAX)?;
    str::from_utf8(line).ok().map(str::to_owned)
}

/// Reports a journal that cannot be read.
pub(crate) fn unreadable(run: &RunId, error: io::Error) -> StoreError {
    let place = format!("journal of run {run}");
    StoreError::Disk(DiskError::new(Action::Read, Path::new(&place), error))
}
