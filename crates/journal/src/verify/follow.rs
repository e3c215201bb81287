//! Following a journal: what a verifier asks the program that wrote it.

use std::sync::Arc;

use hence_state::ReasoningState;

use super::{Completeness, Reason};
use crate::RecordIndex;
use crate::record::{Control, StepRecord};

/// Follows one journal from record to record.
pub trait Follower {
    /// Judges a step: whether it may come now, and whether its input hash is what it was given.
    fn step(&mut self, record: &StepRecord) -> Vec<Reason>;

    /// Judges a control decision. A checkpoint and a rollback have been judged already; the latter means to go on
    /// from what was [kept](Self::keep).
    fn control(&mut self, control: &Control) -> Vec<Reason>;

    /// Keeps what is known behind the record `index`: a later rollback returns to it.
    fn keep(&mut self, index: RecordIndex);

    /// Returns the artifact a step's output belongs to.
    fn artifact_key(&self, record: &StepRecord) -> Arc<str>;

    /// Takes note of the state after the record just judged. Called from the spec level on.
    fn state(&mut self, state: &ReasoningState);

    /// Returns whether the run has reached a legal end.
    fn completeness(&self) -> Completeness;

    /// Returns what could not be judged, and why.
    fn unchecked(&self) -> Vec<String>;
}
