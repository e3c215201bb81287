//! A trace as written.
//!
//! Reading never fails: a member that is missing or of the wrong kind reads as absent, a list that is not a
//! list reads as empty, and every object retains its source with unknown members. Validation reports what is wrong
//! with a trace.

mod action;
mod entry;
mod ids;
mod record;
mod trace;

pub use action::{Action, Evidence, MetaAction};
pub use entry::Entry;
pub use record::{
    AcceptanceItem, Artifact, Comment, Environment, Evaluation, Event, Goal, Link, Policy, ReferenceArtifact,
    Residual, ReviewItem, Target,
};
pub use trace::{Position, ReasoningSlot, Trace};
