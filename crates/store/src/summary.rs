//! A run at a glance.

use std::io;
use std::path::Path;

use hence_journal::Head;

use crate::{Action, DiskError};
use crate::{CANDIDATES_MAX, Damage, RunId, StoreError};

/// Longest header line that a summary carries: a header is about 600 bytes, and a list holds many.
pub const SUMMARY_HEADER_BYTES_MAX: usize = 4096;

/// A run at a glance. Everything in it follows from the run's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// How its journal ends.
    pub condition: Condition,
    /// How long its journal is.
    pub journal_bytes: u64,
    /// Its first line without the line feed, if that is text and at most [`SUMMARY_HEADER_BYTES_MAX`] long.
    pub header: Option<String>,
}

/// How a journal ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// With a whole record.
    Whole {
        /// Where it ends.
        head: Head,
    },
    /// With an append that is under way or was interrupted.
    Torn {
        /// Where the last finished append ends.
        head: Head,
        /// How many bytes lie behind it.
        bytes: u64,
    },
    /// With something that is no record.
    Damaged(Damage),
}

impl RunSummary {
    /// Returns where the journal ends, unless it is damaged.
    pub fn head(&self) -> Option<Head> {
        match self.condition {
            Condition::Whole { head } | Condition::Torn { head, .. } => Some(head),
            Condition::Damaged(_) => None,
        }
    }
}

/// Chooses the run that `prefix` means among `runs`, which are in order.
pub(crate) fn find_prefix<'a>(
    prefix: &str,
    runs: impl Iterator<Item = &'a RunId>,
) -> Result<RunId, StoreError> {
    let matching: Vec<&RunId> = runs.filter(|run| run.as_str().starts_with(prefix)).collect();
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

/// Takes the first line of a journal as a header, if a summary can carry it.
pub(crate) fn header_of(start: &[u8]) -> Option<String> {
    let end = start.iter().position(|byte| *byte == b'\n')?;
    let line = start.get(..end).filter(|line| line.len() <= SUMMARY_HEADER_BYTES_MAX)?;
    str::from_utf8(line).ok().map(str::to_owned)
}

/// Names the failure of a journal's reader.
pub(crate) fn unreadable(run: &RunId, error: io::Error) -> StoreError {
    let place = format!("journal of run {run}");
    StoreError::Disk(DiskError::new(Action::Read, Path::new(&place), error))
}
