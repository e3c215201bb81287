//! A state whose status is known only at run time, as when it is read from a journal.

use std::sync::Arc;

use hence_canon::{Canonical, Digest};

use super::{Applied, ApplyError, Completed, Failed, Pending, Running, State, Status, StepIndex};
use crate::{Artifacts, Metadata, ProblemSpec, Profile, StepError, StepResult, Timestamp};

/// A state of any status.
#[derive(Clone, Debug)]
pub enum ReasoningState {
    /// Nothing has run.
    Pending(State<Pending>),
    /// Steps are running.
    Running(State<Running>),
    /// The run failed.
    Failed(State<Failed>),
    /// The run completed.
    Completed(State<Completed>),
}

/// Runs an expression on the state inside, whatever its status.
macro_rules! with_state {
    ($this:expr, $state:ident => $body:expr) => {
        match $this {
            ReasoningState::Pending($state) => $body,
            ReasoningState::Running($state) => $body,
            ReasoningState::Failed($state) => $body,
            ReasoningState::Completed($state) => $body,
        }
    };
}

impl ReasoningState {
    /// Returns the state as one that accepts results.
    ///
    /// # Errors
    /// The state itself, when it is failed or completed.
    pub fn into_running(self) -> Result<State<Running>, Self> {
        match self {
            Self::Pending(state) => Ok(state.start()),
            Self::Running(state) => Ok(state),
            ended => Err(ended),
        }
    }

    /// Applies a result; see [`State::apply`].
    ///
    /// # Errors
    /// The untouched state and the reason; `None` when the run has ended.
    pub fn apply(self, key: &str, result: &StepResult) -> Result<Self, (Self, Option<ApplyError>)> {
        // A refused first result must leave a pending state pending.
        let pending = match &self {
            Self::Pending(state) => Some(state.clone()),
            _ => None,
        };
        let running = self.into_running().map_err(|ended| (ended, None))?;
        match running.apply(key, result) {
            Ok(Applied::Running(state)) => Ok(Self::Running(state)),
            Ok(Applied::Failed(state)) => Ok(Self::Failed(state)),
            Err(refused) => {
                let state = pending.map_or(Self::Running(refused.state), Self::Pending);
                Err((state, Some(refused.error)))
            }
        }
    }

    /// Completes the run; see [`State::complete`].
    ///
    /// # Errors
    /// The untouched state and the reason; `None` when the run is not running.
    pub fn complete(self, at: &Timestamp) -> Result<Self, (Self, Option<ApplyError>)> {
        match self {
            Self::Running(state) => match state.complete(at) {
                Ok(state) => Ok(Self::Completed(state)),
                Err(refused) => Err((Self::Running(refused.state), Some(refused.error))),
            },
            other => Err((other, None)),
        }
    }

    /// Fails the run; see [`State::fail`].
    ///
    /// # Errors
    /// The untouched state and the reason; `None` when the run is not running.
    pub fn fail(self, error: StepError, at: &Timestamp) -> Result<Self, (Self, Option<ApplyError>)> {
        match self {
            Self::Running(state) => match state.fail(error, at) {
                Ok(state) => Ok(Self::Failed(state)),
                Err(refused) => Err((Self::Running(refused.state), Some(refused.error))),
            },
            Self::Failed(state) => Ok(Self::Failed(state.with_error(error))),
            other => Err((other, None)),
        }
    }

    /// Rolls the run back to the artifacts of `earlier`; see [`State::roll_back`].
    ///
    /// # Errors
    /// The untouched state and the reason; `None` when the run has ended, which is final.
    pub fn roll_back(self, earlier: &Self, at: &Timestamp) -> Result<Self, (Self, Option<ApplyError>)> {
        // A refused rollback must leave a pending state pending.
        let pending = match &self {
            Self::Pending(state) => Some(state.clone()),
            _ => None,
        };
        let running = self.into_running().map_err(|ended| (ended, None))?;
        let rolled = with_state!(earlier, earlier => running.roll_back(earlier, at));
        rolled.map(Self::Running).map_err(|refused| {
            (pending.map_or(Self::Running(refused.state), Self::Pending), Some(refused.error))
        })
    }

    /// Returns the status.
    pub fn status(&self) -> Status {
        with_state!(self, state => state.status())
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        with_state!(self, state => state.problem())
    }

    /// Returns the profile the run follows.
    pub fn profile(&self) -> &Profile {
        with_state!(self, state => state.profile())
    }

    /// Returns the number of results applied.
    pub fn step_index(&self) -> StepIndex {
        with_state!(self, state => state.step_index())
    }

    /// Returns the outputs of the steps.
    pub fn artifacts(&self) -> &Artifacts {
        with_state!(self, state => state.artifacts())
    }

    /// Returns the errors so far.
    pub fn errors(&self) -> &[StepError] {
        with_state!(self, state => state.errors())
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> &Metadata {
        with_state!(self, state => state.metadata())
    }

    /// Returns the digest of the canonical form.
    pub fn digest(&mut self) -> Digest {
        with_state!(self, state => state.digest())
    }

    /// Returns the canonical form.
    pub fn canonical(&self) -> Canonical {
        with_state!(self, state => state.canonical())
    }
}
