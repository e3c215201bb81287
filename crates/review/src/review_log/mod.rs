//! Review logs: hash-chained records of what reviewers did about a trace.
//!
//! A trace is immutable. A review is a log bound to its content hash: a [`ReviewHeader`], then [`ReviewEntry`]s, one line
//! each. [`Review`] is the fold of a log; it refuses entries that break the rules, so an approval that is not allowed is
//! neither recorded nor accepted when read. [`read_review`] reports how far a log is valid. `docs/review.md` specifies
//! the format.
//!
//! Nothing here reads a clock: author and time of an entry are given, and the entry names the source of its time.

mod gap;
mod handoff;
mod merge;
mod record;
mod review;
mod rules;
mod thread;
mod verified;

pub use gap::{Checkable, Gap, Origin, Urgency, checkables, gaps};
pub use handoff::{handoff, handoff_markdown};
pub use merge::merged;
pub use record::{
    FORMAT, InvalidLine, ReviewEntry, ReviewHead, ReviewHeader, SealedReview, Stamp, TimeSource, seal_entry,
    seal_header,
};
pub use review::{Broken, ReadReview, Review, read_review, read_stored_review};
pub use rules::{Decision, DecisionKind, Disposition, Judgement, Obstacle, Refusal, Stage};
pub use thread::Item;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_rules;
