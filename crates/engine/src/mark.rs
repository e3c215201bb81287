//! Checkpoints and rollbacks: what somebody asks of a run from outside, at any moment.

use std::sync::Arc;

use hence_journal::RecordIndex;

/// A position to be named, or returned to. Its record changes which step comes next, never what was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Name the state after a record.
    Checkpoint {
        /// The name.
        name: Arc<str>,
        /// The record after which the state stands.
        position: RecordIndex,
    },
    /// Go on from a named state.
    Rollback {
        /// The checkpoint's name.
        name: Arc<str>,
    },
}

/// A mark that was kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marked {
    /// Its record.
    pub index: RecordIndex,
    /// The record behind which a rolled back run goes on.
    pub returned_to: Option<RecordIndex>,
}
