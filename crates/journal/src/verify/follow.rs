//! Following a journal: the questions of a verifier to the program that wrote it.

use std::sync::Arc;

use hence_state::ReasoningState;

use super::{Completeness, Reason};
use crate::RecordIndex;
use crate::record::{Control, StepRecord};

/// Follows one journal from record to record.
pub trait Follower {
    /// Checks that a step is allowed now, and that its input hash is that of its input.
    fn step(&mut self, record: &StepRecord) -> Vec<Reason>;

    /// Checks a control record. Checkpoints and rollbacks have been checked already; a rollback continues from a
    /// [snapshot](Self::keep).
    fn control(&mut self, control: &Control) -> Vec<Reason>;

    /// Takes a snapshot after record `index`, for a later rollback.
    fn keep(&mut self, index: RecordIndex);

    /// Returns the artifact that a step's output belongs to.
    fn artifact_key(&self, record: &StepRecord) -> Arc<str>;

    /// Receives the state after the record just checked. Called from the spec level on.
    fn state(&mut self, state: &ReasoningState);

    /// Returns whether the run has reached a legal end.
    fn completeness(&self) -> Completeness;

    /// Returns the parts that could not be checked, with the reasons.
    fn unchecked(&self) -> Vec<String>;
}
