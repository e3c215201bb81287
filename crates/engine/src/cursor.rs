//! The cursor of the built-in program: decides which record may come next, for running, resuming and verifying.

use std::sync::Arc;

use hence_journal::LoopAction;
use hence_state::{CompletionRule, LoopFailureRule, ProblemSpec, Profile, StepStatus};

/// The position of a run in its routing policy.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    steps: Vec<Arc<str>>,
    profile: Profile,
    position: Position,
    /// The current loop iteration, from 1.
    iteration: u64,
    /// The number of steps that were taken. A rollback returns to the number at its position.
    taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    /// This step comes next. `just_executed` says whether the last record is the step before it.
    Before { step: usize, just_executed: bool },
    /// A step failed. The compat profile may still record a loop's decision.
    Failed { step: usize, decision_allowed: bool },
    /// No record may follow.
    Ended,
}

/// A record that is not allowed at the current position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlowError {
    /// Another step is due, or none.
    Flow,
    /// The decision names another iteration than the current one.
    Iteration { expected: u64 },
}

impl Cursor {
    pub(crate) fn new(steps: Vec<Arc<str>>, profile: Profile) -> Self {
        let position = Position::Before { step: 0, just_executed: false };
        Self { steps, profile, position, iteration: 1, taken: 0 }
    }

    /// Returns the position of the next step; `None` when no step is due.
    pub(crate) fn next_step(&self) -> Option<usize> {
        match self.position {
            Position::Before { step, .. } if step < self.steps.len() => Some(step),
            _ => None,
        }
    }

    /// Returns the step of the last record, if the last record is a step after which a loop may decide.
    pub(crate) fn just_executed(&self) -> Option<&str> {
        let executed = match self.position {
            Position::Before { step, just_executed: true } => step.checked_sub(1)?,
            Position::Failed { step, decision_allowed: true } => step,
            _ => return None,
        };
        self.steps.get(executed).map(|name| &**name)
    }

    /// Returns the current loop iteration.
    pub(crate) fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Returns the number of results in effect before the step that is due: those of the steps, and the policies of the
    /// problem. It is the step index of a run that was never rolled back or blocked; a rollback or a retry returns to it,
    /// so that the calls of a step keep their input and their keys.
    pub(crate) fn position_in_effect(&self, problem: Option<&ProblemSpec>) -> u64 {
        let is_pinned = problem.is_some_and(|problem| problem.settings().policies.is_some());
        self.taken + u64::from(is_pinned)
    }

    /// Moves past a step.
    pub(crate) fn step(&mut self, name: &str, status: StepStatus) -> Result<(), FlowError> {
        let Some(step) =
            self.next_step().filter(|step| self.steps.get(*step).is_some_and(|next| &**next == name))
        else {
            return Err(FlowError::Flow);
        };
        self.position = match status {
            StepStatus::Failed => {
                let decision_allowed = self.profile.loop_failure == LoopFailureRule::StillDecides;
                Position::Failed { step, decision_allowed }
            }
            StepStatus::Success | StepStatus::Skipped => {
                self.taken += 1;
                Position::Before { step: step + 1, just_executed: true }
            }
        };
        Ok(())
    }

    /// Moves past a loop's decision.
    pub(crate) fn decision(
        &mut self,
        action: LoopAction,
        iteration: u64,
        start_step: &str,
        end_step: &str,
    ) -> Result<(), FlowError> {
        let start = self.steps.iter().position(|step| &**step == start_step);
        let end = self.steps.iter().position(|step| &**step == end_step);
        let in_order = start.zip(end).is_some_and(|(start, end)| start <= end);
        if self.just_executed() != Some(end_step) || !in_order {
            return Err(FlowError::Flow);
        }
        if iteration != self.iteration {
            return Err(FlowError::Iteration { expected: self.iteration });
        }
        self.position = match (self.position, action) {
            (Position::Failed { .. }, _) | (_, LoopAction::MaxIterationsReached) => Position::Ended,
            (Position::Before { step, .. }, LoopAction::Stop) => {
                Position::Before { step, just_executed: false }
            }
            (Position::Before { .. }, LoopAction::Repeat) => {
                self.iteration += 1;
                Position::Before { step: start.unwrap_or(0), just_executed: false }
            }
            (Position::Ended, _) => return Err(FlowError::Flow),
        };
        Ok(())
    }

    /// Moves past the completion.
    pub(crate) fn complete(&mut self) -> Result<(), FlowError> {
        if !self.all_steps_done() {
            return Err(FlowError::Flow);
        }
        self.position = Position::Ended;
        Ok(())
    }

    /// Returns whether every step has run and only completion is due.
    pub(crate) fn all_steps_done(&self) -> bool {
        matches!(self.position, Position::Before { step, .. } if step >= self.steps.len())
    }

    /// Returns whether the run has reached a legal end.
    pub(crate) fn has_ended(&self) -> bool {
        match self.position {
            Position::Ended | Position::Failed { .. } => true,
            Position::Before { .. } => {
                self.profile.completion == CompletionRule::Unrecorded && self.all_steps_done()
            }
        }
    }
}
