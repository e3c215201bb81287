//! Checkpoints and rollbacks: named positions of a run, and returns to them.
//!
//! A checkpoint is a record that gives a name to the state after an earlier record. A rollback is a record that restores
//! the artifacts of that state; the records in between stay, the step index grows, and errors are not removed. A fold takes
//! snapshots at the [`positions`] of a journal, because a rollback comes later than the position it returns to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::RecordIndex;
use crate::reader::Lines;
use crate::record::{Chained, Control, Record};
use hence_state::Profile;

/// The name of the checkpoint that every run has: the state in its header.
pub const INITIAL_STATE: &str = "initial_state";
/// The most checkpoints of a run. Each costs a snapshot while the run is folded.
pub const CHECKPOINTS_MAX: usize = 100;
/// The longest name of a checkpoint: long enough for a sentence, short enough for a line of a list.
pub const CHECKPOINT_NAME_BYTES_MAX: usize = 256;

/// A checkpoint or a rollback that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// A name that is empty or too long.
    #[error("a checkpoint's name has 1 to {CHECKPOINT_NAME_BYTES_MAX} bytes, found {0}")]
    Name(usize),
    /// A name that exists already.
    #[error("there is a checkpoint {0:?} already")]
    Taken(Arc<str>),
    /// One checkpoint too many.
    #[error("a run has at most {CHECKPOINTS_MAX} checkpoints")]
    TooMany,
    /// A position that does not exist yet.
    #[error("expected a record before {next}, found {position}")]
    Ahead {
        /// The record named.
        position: RecordIndex,
        /// The record that would name it.
        next: RecordIndex,
    },
    /// A name that no checkpoint has.
    #[error("there is no checkpoint {0:?}")]
    Unknown(Arc<str>),
    /// A rollback to another position than its checkpoint's.
    #[error("checkpoint {name:?} is after record {expected}, the rollback goes to {found}")]
    WrongPosition {
        /// The checkpoint.
        name: Arc<str>,
        /// The position of the checkpoint.
        expected: RecordIndex,
        /// The position in the rollback.
        found: RecordIndex,
    },
}

/// The checkpoints of a run, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoints(BTreeMap<Arc<str>, RecordIndex>);

impl Default for Checkpoints {
    fn default() -> Self {
        Self(BTreeMap::from([(INITIAL_STATE.into(), RecordIndex::HEADER)]))
    }
}

impl Checkpoints {
    /// Names a position; `next` is the record that does so.
    ///
    /// # Errors
    /// [`CheckpointError`] when the name or the position is not allowed.
    pub fn add(
        &mut self,
        name: &Arc<str>,
        position: RecordIndex,
        next: RecordIndex,
    ) -> Result<(), CheckpointError> {
        if name.is_empty() || name.len() > CHECKPOINT_NAME_BYTES_MAX {
            return Err(CheckpointError::Name(name.len()));
        }
        if self.0.contains_key(name) {
            return Err(CheckpointError::Taken(name.clone()));
        }
        if self.0.len() >= CHECKPOINTS_MAX {
            return Err(CheckpointError::TooMany);
        }
        if position >= next {
            return Err(CheckpointError::Ahead { position, next });
        }
        self.0.insert(name.clone(), position);
        Ok(())
    }

    /// Returns the record that a checkpoint's state follows.
    ///
    /// # Errors
    /// [`CheckpointError::Unknown`].
    pub fn find(&self, name: &str) -> Result<RecordIndex, CheckpointError> {
        self.0.get(name).copied().ok_or_else(|| CheckpointError::Unknown(name.into()))
    }

    /// Checks that a rollback returns to the position of its checkpoint.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn check_rollback(&self, name: &Arc<str>, to: RecordIndex) -> Result<(), CheckpointError> {
        let expected = self.find(name)?;
        if expected == to {
            return Ok(());
        }
        Err(CheckpointError::WrongPosition { name: name.clone(), expected, found: to })
    }

    /// Iterates over names and positions, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, RecordIndex)> {
        self.0.iter().map(|(name, position)| (name, *position))
    }
}

/// Returns the positions that the checkpoints and rollbacks of a journal name. Lines that cannot be read are skipped.
pub fn positions(journal: &[u8]) -> BTreeSet<RecordIndex> {
    let words = ["\"checkpoint\"", "\"rollback\""].map(memchr::memmem::Finder::new);
    let mut found = BTreeSet::new();
    if words.iter().all(|word| word.find(journal).is_none()) {
        return found;
    }
    let lines = Lines::of(journal);
    let rest = (1..lines.count().get()).filter_map(|index| lines.get(RecordIndex::new(index)));
    // A step's output may contain the words as well, so the line is decoded.
    for line in rest.filter(|line| words.iter().any(|word| word.find(line).is_some())) {
        match Chained::decode(line, &Profile::STRICT).map(|chained| chained.record) {
            Ok(Record::Control(Control::Checkpoint(control))) => found.insert(control.position),
            Ok(Record::Control(Control::Rollback(control))) => found.insert(control.to),
            _ => false,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_bounded_and_point_backwards() {
        let mut checkpoints = Checkpoints::default();
        let at = RecordIndex::new;
        let mut add = |name: &str, position: u64| checkpoints.add(&name.into(), at(position), at(5));
        assert_eq!(add("", 1), Err(CheckpointError::Name(0)));
        assert_eq!(add(&"x".repeat(CHECKPOINT_NAME_BYTES_MAX + 1), 1), Err(CheckpointError::Name(257)));
        assert_eq!(add(&"x".repeat(CHECKPOINT_NAME_BYTES_MAX), 1), Ok(()));
        assert_eq!(add(INITIAL_STATE, 1), Err(CheckpointError::Taken(INITIAL_STATE.into())));
        assert_eq!(add("a", 5), Err(CheckpointError::Ahead { position: at(5), next: at(5) }));
        assert_eq!(add("a", 4), Ok(()));
        assert_eq!(checkpoints.find("a"), Ok(at(4)));
        assert!(checkpoints.check_rollback(&"a".into(), at(3)).is_err());
        assert!(checkpoints.find("b").is_err());
    }

    #[test]
    fn a_run_takes_so_many_checkpoints_and_not_one_more() {
        let mut checkpoints = Checkpoints::default();
        let mut add =
            |n: usize| checkpoints.add(&format!("c{n}").into(), RecordIndex::HEADER, RecordIndex::new(1));
        // The beginning counts.
        (1..CHECKPOINTS_MAX).for_each(|n| add(n).unwrap());
        assert_eq!(add(CHECKPOINTS_MAX), Err(CheckpointError::TooMany));
    }
}
