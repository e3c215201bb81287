//! The review of a trace, as a journal.
//!
//! Traces never change. What reviewers say — comments, items, decisions about gaps, approvals — is appended to a
//! journal of its own: each record names the content hash of the trace and the hash of the record before it, so a
//! changed, missing or moved word is found. The state of a review is the fold of its records, and a record that
//! the state refuses (an approval while something blocks, an answer to an item that does not exist) is never
//! appended and never accepted on reading.
//!
//! What a journal does not show: that its authors are who they say, and that its end was not cut off. A seal over
//! the head shows both.

mod approval;
mod chain;
mod entry;
mod merged;
mod record;
mod state;

pub use approval::{Obstacle, obstacles};
pub use chain::{Damage, DamageKind, Journal, verify};
pub use entry::{
    AddResidual, CommentEntry, Entry, ItemNote, Note, RaiseItem, Recheck, RecheckOutcome, ResidualNote,
    ResolveComment,
};
pub use merged::merged_document;
pub use record::{Head, Record};
pub use state::{Disposition, ItemState, Refusal, Review};

#[cfg(test)]
mod tests;
