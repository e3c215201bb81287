//! The state as the fold of a journal's records.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_state::{
    ApplyError, LoopLimitRule, LoopSettings, ProblemSpec, Profile, ReasoningState, State, Status, StepResult,
    Timestamp,
};

use crate::RecordIndex;
use crate::checkpoints::{CheckpointError, Checkpoints};
use crate::record::{Control, Header, LoopAction, LoopControl, Record, StepRecord};

/// A state that takes records in.
#[derive(Clone, Debug)]
pub struct Fold {
    profile: Profile,
    /// Taken only while a change consumes it.
    state: Option<ReasoningState>,
    /// The states that something returns to, by the record they stand behind.
    kept: BTreeMap<RecordIndex, ReasoningState>,
    checkpoints: Checkpoints,
}

const HELD: &str = "the state is put back before any method returns";

/// A record that does not fit the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// A rule of the state refuses it.
    #[error(transparent)]
    Refused(#[from] ApplyError),
    /// It comes when nothing may come.
    #[error("the run is {0}, no record may follow")]
    Ended(Status),
    /// A header where a step or a decision is expected.
    #[error("a header is the first record only")]
    Header,
    /// A loop's decision in a run whose problem has no loop.
    #[error("the problem has no loop, the journal has a loop's decision")]
    NoLoop,
    /// A decision that changes the state but does not say when.
    #[error("the decision changes the state without a time")]
    NoTime,
    /// A checkpoint or rollback that may not be.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A return to a state that was not kept.
    #[error("the state after record {0} is not at hand")]
    NotKept(RecordIndex),
}

impl Fold {
    /// Starts from a header and the problem it names.
    pub fn new(header: &Header, problem: Arc<ProblemSpec>) -> Self {
        let profile = Profile::named(header.profile);
        let state = State::new(problem, header.trace_id.clone(), header.created_at.clone(), profile);
        let state = Some(ReasoningState::Pending(state));
        Self { profile, state, kept: BTreeMap::new(), checkpoints: Checkpoints::default() }
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.state.as_ref().expect(HELD)
    }

    /// Returns the state so far, to be hashed.
    pub fn state_mut(&mut self) -> &mut ReasoningState {
        self.state.as_mut().expect(HELD)
    }

    /// Returns the state.
    pub fn into_state(self) -> ReasoningState {
        self.state.expect(HELD)
    }

    /// Returns the checkpoints so far.
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// Keeps the present state as the one behind `index`, to be returned to.
    pub fn keep(&mut self, index: RecordIndex) {
        self.kept.insert(index, self.state().clone());
    }

    /// Takes a record in. `key` is the artifact of a step; `next` is the record behind this one, if any.
    ///
    /// # Errors
    /// [`FoldError`]; the state is then as it was.
    pub fn push(
        &mut self,
        index: RecordIndex,
        record: &Record,
        key: &str,
        next: Option<&Record>,
    ) -> Result<(), FoldError> {
        match record {
            Record::Header(_) => Err(FoldError::Header),
            Record::Step(step) => self.step(step, key, next),
            Record::Control(Control::Complete { at, .. }) => self.complete(at),
            Record::Control(Control::Loop(control)) => self.decision(control),
            Record::Control(Control::Checkpoint(control)) => {
                self.checkpoint(&control.name, control.position, index)
            }
            Record::Control(Control::Rollback(control)) => {
                self.roll_back(&control.name, control.to, &control.at)
            }
        }
    }

    fn step(&mut self, record: &StepRecord, key: &str, next: Option<&Record>) -> Result<(), FoldError> {
        self.apply(key, &record.result)?;
        // The compat profile folds the failure of an exhausted loop into the step before the decision.
        if self.profile.loop_limit == LoopLimitRule::InStep
            && let Some(Record::Control(Control::Loop(control))) = next
            && control.action == LoopAction::MaxIterationsReached
        {
            self.exhaust_loop(record.result.finished_at())?;
        }
        Ok(())
    }

    fn decision(&mut self, control: &LoopControl) -> Result<(), FoldError> {
        let changes = self.profile.loop_limit == LoopLimitRule::InControl
            && control.action == LoopAction::MaxIterationsReached;
        if !changes {
            return Ok(());
        }
        self.exhaust_loop(control.at.as_ref().ok_or(FoldError::NoTime)?)
    }

    /// Names a position; `next` is the record that does so. The state stays as it is.
    ///
    /// # Errors
    /// [`FoldError::Checkpoint`].
    pub fn checkpoint(
        &mut self,
        name: &Arc<str>,
        position: RecordIndex,
        next: RecordIndex,
    ) -> Result<(), FoldError> {
        Ok(self.checkpoints.take(name, position, next)?)
    }

    /// Returns to the state after record `to`, which must have been [kept](Self::keep). Only time goes on.
    ///
    /// # Errors
    /// [`FoldError`]; the state is then as it was.
    pub fn roll_back(&mut self, name: &Arc<str>, to: RecordIndex, at: &Timestamp) -> Result<(), FoldError> {
        self.checkpoints.check_return(name, to)?;
        let kept = self.kept.get(&to).ok_or(FoldError::NotKept(to))?;
        self.state = Some(kept.clone().restored_after(self.state(), at)?);
        Ok(())
    }

    /// Applies a result whose output belongs under `key`.
    ///
    /// # Errors
    /// [`FoldError`]; the state is then as it was.
    pub fn apply(&mut self, key: &str, result: &StepResult) -> Result<(), FoldError> {
        self.change(|state| state.apply(key, result))
    }

    /// Completes the run.
    ///
    /// # Errors
    /// [`FoldError`]; the state is then as it was.
    pub fn complete(&mut self, at: &Timestamp) -> Result<(), FoldError> {
        self.change(|state| state.complete(at))
    }

    /// Fails the run because its loop met its limit.
    ///
    /// # Errors
    /// [`FoldError`]; the state is then as it was.
    pub fn exhaust_loop(&mut self, at: &Timestamp) -> Result<(), FoldError> {
        let settings = self.state().problem().settings().loop_settings.as_ref();
        let error = settings.map(LoopSettings::limit_error).ok_or(FoldError::NoLoop)?;
        self.change(|state| state.fail(error, at))
    }

    fn change(
        &mut self,
        change: impl FnOnce(ReasoningState) -> Result<ReasoningState, (ReasoningState, Option<ApplyError>)>,
    ) -> Result<(), FoldError> {
        let state = self.state.take().expect(HELD);
        let (state, outcome) = match change(state) {
            Ok(state) => (state, Ok(())),
            Err((state, Some(error))) => (state, Err(error.into())),
            Err((state, None)) => {
                let status = state.status();
                (state, Err(FoldError::Ended(status)))
            }
        };
        self.state = Some(state);
        outcome
    }
}
