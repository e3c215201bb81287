//! Review journals: what reviewers did beside a trace, chained by hashes.
//!
//! A trace is immutable. A review is a journal bound to its content hash: a [`ReviewHeader`], then [`ReviewEntry`]s,
//! one line each. [`Review`] is the fold of a journal; it refuses what the rules refuse, so that an approval that
//! was not allowed cannot be recorded and is found when it was. [`read_review`] says how far a journal holds.
//! `docs/review.md` is the page of the format.
//!
//! Nothing here reads a clock: author and time of an entry are given, and the entry says where its time came from.

mod checkable;
mod decision;
mod disposition;
mod entry;
mod gap;
mod handoff;
mod handoff_text;
mod line;
mod merge;
mod read;
mod refusal;
mod review;
mod settle;
mod subject;
mod thread;
mod undeclared;

pub use checkable::{Checkable, checkables};
pub use decision::{Decision, DecisionKind, Stage};
pub use disposition::{Disposition, Judgement, Obstacle};
pub use entry::{FORMAT, ReviewEntry, ReviewHeader, Stamp, TimeSource};
pub use gap::{Gap, Origin, Urgency, gaps};
pub use handoff::handoff;
pub use handoff_text::handoff_markdown;
pub use line::{InvalidLine, ReviewHead, SealedReview, seal_entry, seal_header};
pub use merge::merged;
pub use read::{Broken, ReadReview, read_review};
pub use refusal::Refusal;
pub use review::Review;
pub use thread::Item;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_rules;
