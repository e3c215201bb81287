//! Keeping the record of a run: state, clock and chain move together, one record at a time.

mod guard;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Digest};
use hence_journal::{
    CheckpointControl, Checkpoints, ClockSource, Control, Fold, FoldError, Head, Header, JOURNAL_VERSION,
    Record, RecordCount, RecordIndex, RollbackControl, Sealed, StepRecord,
};
use hence_state::{
    Clock, ClockError, LargeValueRule, NESTING_MAX, Outcome, ProblemSpec, Profile, ProfileName,
    ReasoningState, StepError, StepIndex, StepResult, Timestamp,
};

use crate::blob::{self, INLINE_VALUE_BYTES_MAX};
use crate::gate::{self, GateError, PolicyOrderError, PolicyState, Role};
use crate::mark::{Mark, Marked};
use crate::sink::{Sink, SinkError};

/// What a run has recorded so far, and how the next record is made.
///
/// A program decides what happens; the book writes it down: it gives a result its times, applies it, hashes the state,
/// seals the record behind the head and keeps it.
pub struct Book {
    pub(crate) profile: Profile,
    pub(crate) fold: Fold,
    pub(crate) state_hash: Digest,
    pub(crate) clock: Clock,
    pub(crate) mutations: u64,
    pub(crate) head: Head,
    policy_state: PolicyState,
    /// Where the run stood with its policies behind the records that something returns to.
    policy_snapshots: BTreeMap<RecordIndex, PolicyState>,
}

/// What a new book needs to know.
pub struct BookStart {
    /// The problem.
    pub problem: Arc<ProblemSpec>,
    /// The run's id.
    pub trace_id: Arc<str>,
    /// The engine version to record.
    pub engine_version: Arc<str>,
    /// The rules the run follows.
    pub profile: Profile,
    /// Where times come from.
    pub clock: Clock,
}

/// Why a record could not be made. What is kept is whole.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// A record or a large value could not be kept.
    #[error("record {index} could not be kept: {source}")]
    Sink {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: SinkError,
    },
    /// The clock has no time for a mutation.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// A checkpoint in a run that cannot record one.
    #[error("the compat profile has no checkpoints")]
    NoCheckpoints,
    /// A rule of the state refuses the record.
    #[error("record {index}: {source}")]
    Fold {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: FoldError,
    },
    /// Policies cannot be enforced.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// The record may not come where policies are concerned.
    #[error("record {index}: {source}")]
    PolicyOrder {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: PolicyOrderError,
    },
}

impl Book {
    /// Opens a book and returns its header, which the caller keeps first.
    ///
    /// # Errors
    /// [`BookError::Clock`] when the clock has not even a first time.
    pub fn open(start: BookStart) -> Result<(Self, Sealed), BookError> {
        let problem_spec_hash = start.problem.canonical().digest();
        let mut header = Header {
            version: JOURNAL_VERSION.into(),
            trace_id: start.trace_id,
            created_at: start.clock.at(0)?,
            engine_version: start.engine_version,
            problem_spec_hash,
            initial_state_hash: problem_spec_hash,
            profile: start.profile.name,
            clock: clock_mark(&start.profile, &start.clock),
        };
        let policy_state = PolicyState::of(&start.problem);
        let mut fold = Fold::new(&header, start.problem);
        let state_hash = fold.state_mut().digest();
        header.initial_state_hash = state_hash;
        let sealed = Record::Header(header).seal(None);
        let (profile, clock, head) = (start.profile, start.clock, sealed.head());
        let book = Self {
            profile,
            fold,
            state_hash,
            clock,
            mutations: 0,
            head,
            policy_state,
            policy_snapshots: BTreeMap::new(),
        };
        Ok((book, sealed))
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.fold.state()
    }

    /// Returns where the journal ends.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the record that comes next.
    pub fn next_index(&self) -> RecordIndex {
        self.head.records.next_index()
    }

    /// Returns when the next mutation starts and finishes.
    ///
    /// # Errors
    /// [`BookError::Clock`] when the clock has no more times.
    pub fn next_times(&self) -> Result<(Timestamp, Timestamp), BookError> {
        Ok((self.fold.state().metadata().updated_at.clone(), self.next_time()?))
    }

    /// Returns when the last mutation happened.
    pub(crate) fn last_time(&self) -> Result<Timestamp, BookError> {
        Ok(self.clock.at(self.mutations)?)
    }

    pub(crate) fn next_time(&self) -> Result<Timestamp, BookError> {
        Ok(self.clock.at(self.mutations + 1)?)
    }

    /// Turns an output into what a result holds: the value, or a reference when it is large, or a failure when it
    /// nests too deep to be stored or is neither an object nor a list.
    ///
    /// # Errors
    /// [`BookError::Sink`] when a large value could not be kept.
    pub fn store(&self, output: Canonical, sink: &mut dyn Sink) -> Result<Outcome, BookError> {
        let depth = output.depth();
        if depth > NESTING_MAX {
            let message = format!("output nests {depth} deep, limit is {NESTING_MAX}");
            return Ok(Outcome::Failed(vec![StepError::new("output_too_deep", message)]));
        }
        // A record holds an object or a list; anything else would be written and then refused by every reader.
        if !matches!(output.bytes().first(), Some(b'{' | b'[')) {
            let message = format!("expected an object or a list, found {}", output.value().kind());
            return Ok(Outcome::Failed(vec![StepError::new("output_not_container", message)]));
        }
        let large = output.bytes().len() > INLINE_VALUE_BYTES_MAX;
        if !large || self.profile.large_values == LargeValueRule::Inline {
            return Ok(Outcome::Success(output));
        }
        // The value is kept before the record that names it: a crash between the two leaves a blob nobody names.
        let index = self.next_index();
        sink.put_blob(&output).map_err(|source| BookError::Sink { index, source })?;
        Ok(Outcome::Success(blob::reference(&output)))
    }

    /// Applies a result and returns the step index before it. Nothing is kept yet.
    pub(crate) fn apply(&mut self, key: &str, result: &StepResult) -> Result<StepIndex, BookError> {
        let before = self.fold.state().step_index();
        self.apply_policy_state(result)?;
        self.fold.apply(key, result).map_err(|source| self.refused(source))?;
        self.mutations += 1;
        Ok(before)
    }

    fn apply_policy_state(&mut self, result: &StepResult) -> Result<Role, BookError> {
        let index = self.next_index();
        self.policy_state.take(result).map_err(|source| BookError::PolicyOrder { index, source })
    }

    /// Applies a result whose output belongs under `key`, and keeps its record.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn record(
        &mut self,
        key: &str,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let step_index = self.apply(key, &result)?;
        self.keep_step(step_index, result, sink)
    }

    /// Keeps the record of a result that was applied.
    pub(crate) fn keep_step(
        &mut self,
        step_index: StepIndex,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let state_before_hash = self.state_hash;
        self.state_hash = self.fold.state_mut().digest();
        let state_after_hash = self.state_hash;
        self.keep(&Record::Step(StepRecord { step_index, result, state_before_hash, state_after_hash }), sink)
    }

    /// Completes the run and keeps the record of it.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn complete(&mut self, sink: &mut dyn Sink) -> Result<RecordIndex, BookError> {
        let index = self.next_index();
        self.policy_state.complete().map_err(|source| BookError::PolicyOrder { index, source })?;
        let at = self.next_time()?;
        self.fold.complete(&at).map_err(|source| self.refused(source))?;
        self.mutations += 1;
        self.state_hash = self.fold.state_mut().digest();
        self.keep(&Record::Control(Control::Complete { state_hash: self.state_hash, at }), sink)
    }

    /// Names the state after record `position` and keeps the record of it. The state stays as it is.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn checkpoint(
        &mut self,
        name: &Arc<str>,
        position: RecordIndex,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        self.only_strict()?;
        let next = self.next_index();
        self.fold.checkpoint(name, position, next).map_err(|source| self.refused(source))?;
        let control = CheckpointControl { name: name.clone(), position, state_hash: self.state_hash };
        self.keep(&Record::Control(Control::Checkpoint(control)), sink)
    }

    /// Keeps the record of a checkpoint or a rollback.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn mark(&mut self, mark: &Mark, sink: &mut dyn Sink) -> Result<Marked, BookError> {
        match mark {
            Mark::Checkpoint { name, position } => {
                let index = self.checkpoint(name, *position, sink)?;
                Ok(Marked { index, returned_to: None })
            }
            Mark::Rollback { name } => self.roll_back(name, sink),
        }
    }

    /// Returns to the state of a checkpoint and keeps the record of it.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn roll_back(&mut self, name: &Arc<str>, sink: &mut dyn Sink) -> Result<Marked, BookError> {
        self.only_strict()?;
        let found = self.fold.checkpoints().find(name);
        let to = found.map_err(|error| self.refused(error.into()))?;
        let at = self.next_time()?;
        self.fold.roll_back(name, to, &at).map_err(|source| self.refused(source))?;
        self.restore_policy_state(to);
        self.mutations += 1;
        self.state_hash = self.fold.state_mut().digest();
        let control = RollbackControl { name: name.clone(), to, state_hash: self.state_hash, at };
        let index = self.keep(&Record::Control(Control::Rollback(control)), sink)?;
        Ok(Marked { index, returned_to: Some(to) })
    }

    /// Takes back a checkpoint that was kept before.
    ///
    /// # Errors
    /// [`BookError::Fold`] when it may not be there.
    pub fn apply_recorded_checkpoint(&mut self, control: &CheckpointControl) -> Result<(), BookError> {
        let next = self.next_index();
        self.fold.checkpoint(&control.name, control.position, next).map_err(|source| self.refused(source))
    }

    /// Takes back a rollback that was kept before.
    ///
    /// # Errors
    /// [`BookError::Fold`] when it goes nowhere.
    pub fn apply_recorded_rollback(&mut self, control: &RollbackControl) -> Result<(), BookError> {
        let rolled = self.fold.roll_back(&control.name, control.to, &control.at);
        rolled.map_err(|source| self.refused(source))?;
        self.restore_policy_state(control.to);
        self.mutations += 1;
        self.state_hash = control.state_hash;
        Ok(())
    }

    /// Keeps the present state as the one behind `index`, to be returned to.
    pub fn keep_position(&mut self, index: RecordIndex) {
        self.fold.snapshot(index);
        self.policy_snapshots.insert(index, self.policy_state.clone());
    }

    fn restore_policy_state(&mut self, to: RecordIndex) {
        // Kept together with the state, which has been found.
        if let Some(policy_state) = self.policy_snapshots.get(&to) {
            self.policy_state = policy_state.clone();
        }
    }

    /// Returns the checkpoints so far.
    pub fn checkpoints(&self) -> &Checkpoints {
        self.fold.checkpoints()
    }

    /// The compat profile is another engine's, and that one knows no checkpoints.
    fn only_strict(&self) -> Result<(), BookError> {
        match self.profile.name {
            ProfileName::Strict => Ok(()),
            ProfileName::Compat => Err(BookError::NoCheckpoints),
        }
    }

    /// Completes the run without a record, as the compat profile does.
    pub(crate) fn complete_unrecorded(&mut self) -> Result<(), BookError> {
        let at = self.next_time()?;
        self.fold.complete(&at).map_err(|source| self.refused(source))
    }

    /// Fails the run because its loop met its limit.
    pub(crate) fn exhaust_loop(&mut self, at: &Timestamp) -> Result<(), BookError> {
        self.fold.exhaust_loop(at).map_err(|source| self.refused(source))
    }

    /// Seals a record behind the head and keeps it.
    pub(crate) fn keep(&mut self, record: &Record, sink: &mut dyn Sink) -> Result<RecordIndex, BookError> {
        let sealed = record.seal(Some(self.head));
        let index = self.next_index();
        sink.append(&sealed).map_err(|source| BookError::Sink { index, source })?;
        self.head = sealed.head();
        if let Some(gate) = sink.gate().filter(|_| gate::is_seen(record)) {
            gate.take_in(index, record);
        }
        Ok(index)
    }

    /// Takes back the result of a record that was kept before. The state is not hashed; see
    /// [`check_end`](Self::check_end).
    ///
    /// # Errors
    /// [`BookError::Fold`] when it does not fit the state.
    pub fn replay_step(&mut self, key: &str, record: &StepRecord) -> Result<(), BookError> {
        self.apply(key, &record.result)?;
        self.state_hash = record.state_after_hash;
        Ok(())
    }

    /// Takes back the completion of a run.
    ///
    /// # Errors
    /// [`BookError::Fold`] when the run cannot complete there.
    pub fn apply_recorded_completion(&mut self, at: &Timestamp, state_hash: Digest) -> Result<(), BookError> {
        let index = self.next_index();
        self.policy_state.complete().map_err(|source| BookError::PolicyOrder { index, source })?;
        self.fold.complete(at).map_err(|source| self.refused(source))?;
        self.mutations += 1;
        self.state_hash = state_hash;
        Ok(())
    }

    /// Moves the head behind a record that was taken back.
    pub fn move_head(&mut self, index: RecordIndex, hash: Digest) {
        self.head = Head { hash, records: RecordCount::new(index.get() + 1) };
    }

    /// Compares the state with the one the last record names: everything taken back hangs on it.
    ///
    /// # Errors
    /// The digest of the state and the one the record names.
    pub fn check_end(&mut self) -> Result<(), (Digest, Digest)> {
        let folded = self.fold.state_mut().digest();
        if folded == self.state_hash { Ok(()) } else { Err((folded, self.state_hash)) }
    }

    /// Returns the state.
    pub fn into_state(self) -> ReasoningState {
        self.fold.into_state()
    }

    pub(crate) fn refused(&self, source: FoldError) -> BookError {
        BookError::Fold { index: self.next_index(), source }
    }
}

/// The compat profile says nothing about its clock; the strict one says whether a replay can compute the times.
fn clock_mark(profile: &Profile, clock: &Clock) -> Option<ClockSource> {
    match (profile.clock, clock) {
        (hence_state::ClockRule::Frozen, _) => None,
        (hence_state::ClockRule::Moving, Clock::Given(_)) => Some(ClockSource::Given),
        (hence_state::ClockRule::Moving, _) => Some(ClockSource::Ticking),
    }
}
