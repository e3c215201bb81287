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
    /// The run goes on.
    Running(State<Running>),
    /// The result ended it.
    Failed(State<Failed>),
}

impl Applied {
    /// Returns the state if the run goes on.
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
    /// Why.
    #[source]
    pub error: ApplyError,
}

/// Why a result cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The result carries a hash that is not its output's.
    #[error("step {step}: output hashes to {found}, the result says {expected}")]
    OutputHash {
        /// The step.
        step: Arc<str>,
        /// What the result says.
        expected: Digest,
        /// What the output hashes to.
        found: Digest,
    },
    /// The result finished before it started.
    #[error("step {step}: finished at {finished}, before it started at {started}")]
    TimeReversed {
        /// The step.
        step: Arc<str>,
        /// When it started.
        started: Timestamp,
        /// When it finished.
        finished: Timestamp,
    },
    /// `updated_at` would not move.
    #[error("a mutation at {found} does not come after the last one at {last}")]
    TimeStandsStill {
        /// When the state last changed.
        last: Timestamp,
        /// When it should change now.
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
        /// How deep it nests.
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
        self.core.take_in(key, result);
        // What policies blocked has not happened, so the run has not failed: it stands before the same step.
        let stands = result.outcome().is_blocked() && self.core.problem.settings().policies.is_some();
        Ok(match result.outcome() {
            Outcome::Failed(_) if !stands => Applied::Failed(self.into_phase()),
            _ => Applied::Running(self.into_phase()),
        })
    }

    /// Ends the run well.
    ///
    /// # Errors
    /// [`Refused`] with the untouched state when `at` does not move time.
    pub fn complete(mut self, at: &Timestamp) -> Result<State<Completed>, Refused> {
        match self.core.touch(at) {
            Ok(()) => Ok(self.into_phase()),
            Err(error) => Err(Refused { state: self, error }),
        }
    }

    /// Ends the run because of something no step is to blame for, such as a loop that met its limit.
    ///
    /// # Errors
    /// [`Refused`] with the untouched state when `at` does not move time.
    pub fn fail(mut self, error: StepError, at: &Timestamp) -> Result<State<Failed>, Refused> {
        match self.core.touch(at) {
            Ok(()) => {
                self.core.errors.push(error);
                Ok(self.into_phase())
            }
            Err(error) => Err(Refused { state: self, error }),
        }
    }
}

impl<P: super::Phase> State<P> {
    /// Makes this the state after a mutation at `last`, changed at `at`.
    pub(super) fn take_up(&mut self, last: &Timestamp, at: &Timestamp) -> Result<(), ApplyError> {
        self.core.metadata.updated_at = last.clone();
        self.core.touch(at)?;
        self.core.relay_end();
        Ok(())
    }
}

impl State<Failed> {
    /// Adds what else went wrong at the same time, as the compat profile does at a loop's limit.
    #[must_use]
    pub fn also(mut self, error: StepError) -> Self {
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
            return Err(ApplyError::TimeStandsStill { last: last.clone(), found: at.clone() });
        }
        Ok(())
    }

    fn touch(&mut self, at: &Timestamp) -> Result<(), ApplyError> {
        self.check_time(at)?;
        self.metadata.updated_at = at.clone();
        Ok(())
    }

    /// Takes a checked result in.
    fn take_in(&mut self, key: &str, result: &StepResult) {
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
                    Placement::First(at) => self.lay_first(at),
                    Placement::Overwritten(at) => self.lay_overwritten(at),
                    Placement::Later => self.lay_later(),
                }
            }
            Outcome::Failed(errors) => self.errors.extend(errors.iter().cloned()),
            Outcome::Skipped => {}
        }
    }
}
