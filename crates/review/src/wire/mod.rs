//! A trace as written.
//!
//! Reading never fails: a member that is missing or of the wrong kind reads as absent, a list that is not a
//! list reads as empty, and every object keeps its source, so unknown members stay where they were. What is
//! wrong with a trace is said by validation, not here.

mod action;
mod artifact;
mod entry;
mod goal;
mod ids;
mod part;
mod payload;
mod record;
mod trace;

pub use action::{Action, Evidence, MetaAction};
pub use artifact::{Artifact, ReferenceArtifact};
pub use entry::Entry;
pub use goal::{AcceptanceItem, Goal};
pub use payload::ReasoningSlot;
pub use record::{Comment, Environment, Evaluation, Event, Link, Policy, Residual, ReviewItem, Target};
pub use trace::{Position, Trace};
