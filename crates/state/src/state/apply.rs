//! `state[n] = apply(state[n-1], result[n])`: the only place where a state changes.

use std::sync::Arc;

use hence_canon::{Canonical, Digest};

use super::{Completed, Core, Failed, Running, State};
use crate::{
    ClockRule, ITERATIONS_KEY, NESTING_MAX, Outcome, Placement, Produced, StepError, StepIndex,
    StepIndexRule, StepResult, Timestamp,
};

/// A state after a result: still running, or failed by it.
#[derive(Debug)]
pub enum Applied {
    /// The run continues.
    Running(State<Running>),
    /// The result failed the run.
    Failed(State<Failed>),
}

impl Applied {
    /// Returns the state if the run continues.
    pub fn running(self) -> Option<State<Running>> {
        match self {
            Self::Running(state) => Some(state),
            Self::Failed(_) => None,
        }
    }
}

/// A mutation that was refused, with the state as it was.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Refused {
    /// The untouched state.
    pub state: State<Running>,
    /// The broken rule.
    #[source]
    pub error: ApplyError,
}

/// The rules a result or a mutation can break.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The result carries a hash that is not its output's.
    #[error("step {step}: output hashes to {found}, the result says {expected}")]
    OutputHash {
        /// The step.
        step: Arc<str>,
        /// The hash in the result.
        expected: Digest,
        /// The hash of the output.
        found: Digest,
    },
    /// The result finished before it started.
    #[error("step {step}: finished at {finished}, before it started at {started}")]
    TimeReversed {
        /// The step.
        step: Arc<str>,
        /// The start of the step.
        started: Timestamp,
        /// The end of the step.
        finished: Timestamp,
    },
    /// `updated_at` would not move.
    #[error("a mutation at {found} does not come after the last one at {last}")]
    TimeNotAdvanced {
        /// The time of the last mutation.
        last: Timestamp,
        /// The time of this mutation.
        found: Timestamp,
    },
    /// A failed result without errors, or an error without code or message.
    #[error("step {step}: a failed result needs errors with code and message")]
    NoErrors {
        /// The step.
        step: Arc<str>,
    },
    /// An output that nests too deep to be stored inside a state.
    #[error("step {step}: output nests {found} deep, limit is {NESTING_MAX}")]
    TooDeep {
        /// The step.
        step: Arc<str>,
        /// The nesting of the output.
        found: usize,
    },
    /// A step that uses the key of the list of later outputs.
    #[error("step {step}: artifact key `{ITERATIONS_KEY}` is reserved")]
    ReservedKey {
        /// The step.
        step: Arc<str>,
    },
}

impl State<Running> {
    /// Applies the result of a step whose output belongs under `key`.
    ///
    /// # Errors
    /// [`Refused`] with the untouched state when the result breaks a rule of the documents.
    pub fn apply(mut self, key: &str, result: &StepResult) -> Result<Applied, Refused> {
        if let Err(error) = self.core.check(key, result) {
            return Err(Refused { state: self, error });
        }
        self.core.apply_checked(key, result);
        // A blocked step has not happened, so the run has not failed: the same step comes next.
        let blocked = result.outcome().is_blocked() && self.core.problem.settings().policies.is_some();
        Ok(match result.outcome() {
            Outcome::Failed(_) if !blocked => Applied::Failed(self.into_phase()),
            _ => Applied::Running(self.into_phase()),
        })
    }

    /// Completes the run.
    ///
    /// # Errors
    /// [`Refused`] with the untouched state when `at` does not move time.
    pub fn complete(mut self, at: &Timestamp) -> Result<State<Completed>, Refused> {
        match self.core.set_updated_at(at) {
            Ok(()) => Ok(self.into_phase()),
            Err(error) => Err(Refused { state: self, error }),
        }
    }

    /// Fails the run for a reason outside its steps, such as a loop that reached its limit.
    ///
    /// # Errors
    /// [`Refused`] with the untouched state when `at` does not move time.
    pub fn fail(mut self, error: StepError, at: &Timestamp) -> Result<State<Failed>, Refused> {
        match self.core.set_updated_at(at) {
            Ok(()) => {
                self.core.errors.push(error);
                Ok(self.into_phase())
            }
            Err(error) => Err(Refused { state: self, error }),
        }
    }
}

impl State<Running> {
    /// Rolls the run back: the artifacts become those of `earlier`. Everything else only grows, as with any result: the
    /// step index counts the rollback, and the errors stay.
    ///
    /// # Errors
    /// [`Refused`] with the untouched state when `at` does not move time.
    pub fn roll_back<P: super::Phase>(mut self, earlier: &State<P>, at: &Timestamp) -> Result<Self, Refused> {
        if let Err(error) = self.core.set_updated_at(at) {
            return Err(Refused { state: self, error });
        }
        self.core.step_index = StepIndex::new(self.core.step_index.get() + 1);
        self.core.restore_artifacts(&earlier.core);
        Ok(self.into_phase())
    }
}

impl State<Failed> {
    /// Adds another error, as the compat profile does at a loop's limit.
    #[must_use]
    pub fn with_error(mut self, error: StepError) -> Self {
        self.core.errors.push(error);
        self.into_phase()
    }
}

impl Core {
    fn check(&self, key: &str, result: &StepResult) -> Result<(), ApplyError> {
        let step = || result.step().clone();
        if key == ITERATIONS_KEY {
            return Err(ApplyError::ReservedKey { step: step() });
        }
        if let Some(found) =
            result.outcome().output().map(Canonical::depth).filter(|depth| *depth > NESTING_MAX)
        {
            return Err(ApplyError::TooDeep { step: step(), found });
        }
        let found = result.outcome().output_hash();
        if found != result.output_hash() {
            return Err(ApplyError::OutputHash { step: step(), expected: result.output_hash(), found });
        }
        let (started, finished) = (result.started_at().clone(), result.finished_at().clone());
        if started.is_after(&finished) {
            return Err(ApplyError::TimeReversed { step: step(), started, finished });
        }
        if let Outcome::Failed(errors) = result.outcome()
            && (errors.is_empty()
                || errors.iter().any(|error| error.code.is_empty() || error.message.is_empty()))
        {
            return Err(ApplyError::NoErrors { step: step() });
        }
        self.check_time(&finished)
    }

    fn check_time(&self, at: &Timestamp) -> Result<(), ApplyError> {
        let last = &self.metadata.updated_at;
        if self.profile.clock == ClockRule::Moving && !at.is_after(last) {
            return Err(ApplyError::TimeNotAdvanced { last: last.clone(), found: at.clone() });
        }
        Ok(())
    }

    fn set_updated_at(&mut self, at: &Timestamp) -> Result<(), ApplyError> {
        self.check_time(at)?;
        self.metadata.updated_at = at.clone();
        Ok(())
    }

    /// Applies a result that was checked.
    fn apply_checked(&mut self, key: &str, result: &StepResult) {
        self.metadata.updated_at = result.finished_at().clone();
        let before = self.step_index;
        let counts = self.profile.step_index == StepIndexRule::EveryResult
            || matches!(result.outcome(), Outcome::Success(_) | Outcome::Skipped);
        if counts {
            self.step_index = StepIndex::new(before.get() + 1);
        }
        match result.outcome() {
            Outcome::Success(output) => {
                let (key, step, output) = (key.into(), result.step().clone(), output.clone());
                let produced = Produced { key, step, step_index: before, output };
                match self.artifacts.insert(self.profile.artifacts, produced) {
                    Placement::First(at) => self.insert_first(at),
                    Placement::Overwritten(at) => self.replace_first(at),
                    Placement::Later => self.append_later(),
                }
            }
            Outcome::Failed(errors) => self.errors.extend(errors.iter().cloned()),
            Outcome::Skipped => {}
        }
    }
}
