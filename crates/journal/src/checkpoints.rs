//! Named positions of a run, and the way back to them.
//!
//! A checkpoint is a record that gives a name to the state after an earlier record. A rollback is a record that makes
//! that state the present one; what was recorded in between stays, and only time goes on. Whoever folds a journal
//! keeps the states at the [`positions`] it names, because the way back is taken later than the position is passed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::RecordIndex;
use crate::reader::Lines;
use crate::record::{Chained, Control, Record};
use hence_state::Profile;

/// The name every run has for its beginning: the state the header names.
pub const INITIAL_STATE: &str = "initial_state";
/// The most checkpoints a run takes. Each keeps a state while the run is folded.
pub const CHECKPOINTS_MAX: usize = 100;
/// The longest name of a checkpoint: long enough for a sentence, short enough for a line of a list.
pub const CHECKPOINT_NAME_BYTES_MAX: usize = 256;

/// A checkpoint or a rollback that may not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// A name that is none.
    #[error("a checkpoint's name has 1 to {CHECKPOINT_NAME_BYTES_MAX} bytes, found {0}")]
    Name(usize),
    /// A name that is taken.
    #[error("there is a checkpoint {0:?} already")]
    Taken(Arc<str>),
    /// One checkpoint too many.
    #[error("a run has at most {CHECKPOINTS_MAX} checkpoints")]
    TooMany,
    /// A position that is not there yet.
    #[error("expected a record before {next}, found {position}")]
    Ahead {
        /// The record named.
        position: RecordIndex,
        /// The record that would name it.
        next: RecordIndex,
    },
    /// A name nobody gave.
    #[error("there is no checkpoint {0:?}")]
    Unknown(Arc<str>),
    /// A return to another position than the name's.
    #[error("checkpoint {name:?} is after record {expected}, the rollback goes to {found}")]
    Elsewhere {
        /// The checkpoint.
        name: Arc<str>,
        /// Where it is.
        expected: RecordIndex,
        /// Where the rollback goes.
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
    /// [`CheckpointError`] when the name or the position may not be.
    pub fn take(
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

    /// Returns the record after which a checkpoint's state stands.
    ///
    /// # Errors
    /// [`CheckpointError::Unknown`].
    pub fn find(&self, name: &str) -> Result<RecordIndex, CheckpointError> {
        self.0.get(name).copied().ok_or_else(|| CheckpointError::Unknown(name.into()))
    }

    /// Checks that a rollback goes where its checkpoint is.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn check_return(&self, name: &Arc<str>, to: RecordIndex) -> Result<(), CheckpointError> {
        let expected = self.find(name)?;
        if expected == to {
            return Ok(());
        }
        Err(CheckpointError::Elsewhere { name: name.clone(), expected, found: to })
    }

    /// Iterates over names and positions, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, RecordIndex)> {
        self.0.iter().map(|(name, position)| (name, *position))
    }
}

/// Returns the records whose states a journal names or returns to. Lines that cannot be read name none.
pub fn positions(journal: &[u8]) -> BTreeSet<RecordIndex> {
    let words = ["\"checkpoint\"", "\"rollback\""].map(memchr::memmem::Finder::new);
    let mut found = BTreeSet::new();
    if words.iter().all(|word| word.find(journal).is_none()) {
        return found;
    }
    let lines = Lines::of(journal);
    let rest = (1..lines.count().get()).filter_map(|index| lines.get(RecordIndex::new(index)));
    // A step's output may hold the words, too; decoding tells.
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
        let mut take = |name: &str, position: u64| checkpoints.take(&name.into(), at(position), at(5));
        assert_eq!(take("", 1), Err(CheckpointError::Name(0)));
        assert_eq!(take(&"x".repeat(CHECKPOINT_NAME_BYTES_MAX + 1), 1), Err(CheckpointError::Name(257)));
        assert_eq!(take(&"x".repeat(CHECKPOINT_NAME_BYTES_MAX), 1), Ok(()));
        assert_eq!(take(INITIAL_STATE, 1), Err(CheckpointError::Taken(INITIAL_STATE.into())));
        assert_eq!(take("a", 5), Err(CheckpointError::Ahead { position: at(5), next: at(5) }));
        assert_eq!(take("a", 4), Ok(()));
        assert_eq!(checkpoints.find("a"), Ok(at(4)));
        assert!(checkpoints.check_return(&"a".into(), at(3)).is_err());
        assert!(checkpoints.find("b").is_err());
    }

    #[test]
    fn a_run_takes_so_many_checkpoints_and_not_one_more() {
        let mut checkpoints = Checkpoints::default();
        let mut take =
            |n: usize| checkpoints.take(&format!("c{n}").into(), RecordIndex::HEADER, RecordIndex::new(1));
        // The beginning counts.
        (1..CHECKPOINTS_MAX).for_each(|n| take(n).unwrap());
        assert_eq!(take(CHECKPOINTS_MAX), Err(CheckpointError::TooMany));
    }
}
