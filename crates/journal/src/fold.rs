//! The state as the fold of a journal's records.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_state::{
    ApplyError, CutState, LoopLimitRule, LoopSettings, ProblemSpec, Profile, ReasoningState, State, Status,
    StepIndex, StepResult, Timestamp,
};

use crate::RecordIndex;
use crate::checkpoints::{CheckpointError, Checkpoints};
use crate::record::{Control, Header, LoopAction, LoopControl, Record, StepRecord};

/// The state of a run while the records of its journal are applied one by one.
#[derive(Clone, Debug)]
pub struct Fold {
    profile: Profile,
    /// `None` only while a change consumes the state.
    state: Option<ReasoningState>,
    /// The states that rollbacks return to, by the record they follow.
    snapshots: BTreeMap<RecordIndex, ReasoningState>,
    checkpoints: Checkpoints,
}

const HELD: &str = "the state is put back before any method returns";

/// A record that cannot be applied to the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// A rule of the state is broken.
    #[error(transparent)]
    Refused(#[from] ApplyError),
    /// The run has ended.
    #[error("the run is {0}, no record may follow")]
    Ended(Status),
    /// A header where a step or a decision is expected.
    #[error("a header is the first record only")]
    Header,
    /// A loop's decision in a run whose problem has no loop.
    #[error("the problem has no loop, the journal has a loop's decision")]
    NoLoop,
    /// A loop's decision that changes the state and has no time.
    #[error("the decision changes the state without a time")]
    NoTime,
    /// A checkpoint or rollback that is not allowed.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A rollback to a state of which there is no snapshot.
    #[error("the state after record {0} is not available")]
    NoSnapshot(RecordIndex),
}

impl Fold {
    /// Creates the state before the first step from a header and the problem it names.
    pub fn new(header: &Header, problem: Arc<ProblemSpec>) -> Self {
        let profile = Profile::named(header.profile);
        let state = State::new(problem, header.trace_id.clone(), header.created_at.clone(), profile);
        let state = Some(ReasoningState::Pending(state));
        Self { profile, state, snapshots: BTreeMap::new(), checkpoints: Checkpoints::default() }
    }

    /// Continues a run that has not begun here from a cut state; nothing changes when it has.
    pub fn continue_from(&mut self, cut: CutState) {
        self.state = match self.state.take() {
            Some(ReasoningState::Pending(state)) => Some(ReasoningState::Running(state.continued(cut))),
            other => other,
        };
    }

    /// Continues a run that has not begun here after so many results, without the outputs of its steps; nothing changes
    /// when it has begun.
    pub fn continue_without_artifacts(&mut self, step_index: StepIndex, updated_at: Timestamp) {
        self.state = match self.state.take() {
            Some(ReasoningState::Pending(state)) => {
                let state = state.continued_without_artifacts(step_index, updated_at);
                Some(ReasoningState::Running(state))
            }
            other => other,
        };
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

    /// Takes a snapshot of the present state as the one after record `index`, for later rollbacks.
    pub fn snapshot(&mut self, index: RecordIndex) {
        self.snapshots.insert(index, self.state().clone());
    }

    /// Applies a record. `key` is the artifact of a step; `next` is the record after this one, if any.
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

    /// Names the position after record `position`; `next` is the record that does so. The state does not change.
    ///
    /// # Errors
    /// [`FoldError::Checkpoint`].
    pub fn checkpoint(
        &mut self,
        name: &Arc<str>,
        position: RecordIndex,
        next: RecordIndex,
    ) -> Result<(), FoldError> {
        Ok(self.checkpoints.add(name, position, next)?)
    }

    /// Returns to the artifacts after record `to`, of which there must be a [snapshot](Self::snapshot). The step index
    /// counts the rollback, errors stay, and a run that has ended is not rolled back.
    ///
    /// # Errors
    /// [`FoldError`]; the state is then as it was.
    pub fn roll_back(&mut self, name: &Arc<str>, to: RecordIndex, at: &Timestamp) -> Result<(), FoldError> {
        self.checkpoints.check_rollback(name, to)?;
        let snapshot = self.snapshots.get(&to).ok_or(FoldError::NoSnapshot(to))?.clone();
        self.change(|state| state.roll_back(&snapshot, at))
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

    /// Fails the run because its loop reached its limit.
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
