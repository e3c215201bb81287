//! The book of a run: state, clock and chain move together, one record at a time.

mod policies;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Value};
use hence_journal::{
    CheckpointControl, Checkpoints, ClockSource, Control, Fold, FoldError, Head, Header, JOURNAL_VERSION,
    Record, RecordCount, RecordIndex, RollbackControl, Sealed, StepRecord,
};
use hence_state::{
    Clock, ClockError, CutState, LargeValueRule, NESTING_MAX, Outcome, ProblemSpec, Profile, ProfileName,
    ReasoningState, StepError, StepIndex, StepResult, Timestamp,
};

use crate::blob::{self, INLINE_VALUE_BYTES_MAX};
use crate::gate::{self, Gate, GateError, PolicyOrderError, PolicyState, Role};
use crate::sink::{Sink, SinkError};

/// The state of a run and the head of its journal.
///
/// A program decides what happens; the book writes it down. It gives a result its times, asks the gate about it, applies
/// it, hashes the state, seals the record after the head and appends it.
pub struct Book<'g> {
    pub(crate) profile: Profile,
    pub(crate) fold: Fold,
    pub(crate) state_hash: Digest,
    pub(crate) clock: Clock,
    pub(crate) mutations: u64,
    pub(crate) head: Head,
    policy_state: PolicyState,
    /// The policy states that a rollback may return to, by the record they follow.
    policy_snapshots: BTreeMap<RecordIndex, PolicyState>,
    /// The judge of results, where the problem pins policies.
    gate: Option<Box<dyn Gate + 'g>>,
}

/// The inputs of a new book.
pub struct BookStart {
    /// The problem.
    pub problem: Arc<ProblemSpec>,
    /// The run's id.
    pub trace_id: Arc<str>,
    /// The engine version to record.
    pub engine_version: Arc<str>,
    /// The rules the run follows.
    pub profile: Profile,
    /// The source of times.
    pub clock: Clock,
}

/// A record that could not be made or appended. The journal is whole.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// A record or a large value could not be stored.
    #[error("record {index} could not be kept: {source}")]
    Sink {
        /// The record.
        index: RecordIndex,
        /// The cause.
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
        /// The cause.
        source: FoldError,
    },
    /// Policies cannot be enforced.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// The record comes where policies do not allow it.
    #[error("record {index}: {source}")]
    PolicyOrder {
        /// The record.
        index: RecordIndex,
        /// The cause.
        source: PolicyOrderError,
    },
}

/// A checkpoint or a rollback, as somebody asks for it. Its record may change which step comes next, never what was
/// recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Names the state after a record.
    Checkpoint {
        /// The name.
        name: Arc<str>,
        /// The record.
        position: RecordIndex,
    },
    /// Returns to a named state.
    Rollback {
        /// The name of the checkpoint.
        name: Arc<str>,
    },
}

/// The record of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marked {
    /// The index of the record.
    pub index: RecordIndex,
    /// The record after which a run that was rolled back continues.
    pub returned_to: Option<RecordIndex>,
}

impl<'g> Book<'g> {
    /// Opens a book and returns its header, which the caller appends first.
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
            gate: None,
        };
        Ok((book, sealed))
    }

    /// Continues a run that has not begun here after `head`, from a cut state.
    pub(crate) fn continue_from(&mut self, cut: CutState, mutations: u64, state_hash: Digest, head: Head) {
        self.fold.continue_from(cut);
        self.mutations = mutations;
        self.state_hash = state_hash;
        self.head = head;
    }

    /// Sets the gate; `None` for a run without policies.
    pub fn set_gate(&mut self, gate: Option<Box<dyn Gate + 'g>>) {
        self.gate = gate;
    }

    /// Takes the gate, to hand it to another book of the same run.
    pub fn take_gate(&mut self) -> Option<Box<dyn Gate + 'g>> {
        self.gate.take()
    }

    /// Returns the rules the run follows.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.fold.state()
    }

    /// Returns the head of the journal.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the index of the next record.
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

    /// Returns when the next mutation happens.
    ///
    /// # Errors
    /// [`BookError::Clock`] when the clock has no more times.
    pub fn next_time(&self) -> Result<Timestamp, BookError> {
        Ok(self.clock.at(self.mutations + 1)?)
    }

    /// Turns an output into the outcome of a result: the value, or a reference when it is large, or a failure when it
    /// nests too deep to be stored or is neither an object nor a list.
    ///
    /// # Errors
    /// [`BookError::Sink`] when a large value could not be stored.
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
        // The blob is stored before the record that names it: a crash in between leaves a blob that no record names.
        let index = self.next_index();
        sink.put_blob(&output).map_err(|source| BookError::Sink { index, source })?;
        Ok(Outcome::Success(blob::reference(&output)))
    }

    /// Stores a large value that is recorded next to a result, and returns what the record holds: the value, or a
    /// reference to it. A value that nests as deep as a record may is referenced too.
    ///
    /// # Errors
    /// [`BookError::Sink`] when the value could not be stored.
    pub fn store_value(&self, value: Canonical, sink: &mut dyn Sink) -> Result<Canonical, BookError> {
        let is_inline = value.bytes().len() <= INLINE_VALUE_BYTES_MAX && value.depth() <= NESTING_MAX;
        if is_inline || self.profile.large_values == LargeValueRule::Inline {
            return Ok(value);
        }
        let index = self.next_index();
        sink.put_blob(&value).map_err(|source| BookError::Sink { index, source })?;
        Ok(blob::reference(&value))
    }

    /// Applies a result and returns the step index before it. Nothing is appended yet.
    pub(crate) fn apply(&mut self, key: &str, result: &StepResult) -> Result<StepIndex, BookError> {
        let before = self.fold.state().step_index();
        self.apply_policy_state(result)?;
        self.fold.apply(key, result).map_err(|source| self.refused(source))?;
        self.mutations += 1;
        Ok(before)
    }

    fn apply_policy_state(&mut self, result: &StepResult) -> Result<Role, BookError> {
        let index = self.next_index();
        self.policy_state.apply(result).map_err(|source| BookError::PolicyOrder { index, source })
    }

    /// Applies a result whose output belongs under `key`, and appends its record.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
    pub fn record(
        &mut self,
        key: &str,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let step_index = self.apply(key, &result)?;
        self.append_step(step_index, result, sink)
    }

    /// Appends the step that ends a run with errors.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
    pub fn record_failed_end(
        &mut self,
        key: &str,
        step: &str,
        errors: Vec<StepError>,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let (started_at, at) = self.next_times()?;
        let result = StepResult::new(step, &Value::Null, started_at, at, Outcome::Failed(errors));
        self.record(key, result, sink)
    }

    /// Appends the record of a result that was applied.
    pub(crate) fn append_step(
        &mut self,
        step_index: StepIndex,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let state_before_hash = self.state_hash;
        self.state_hash = self.fold.state_mut().digest();
        let state_after_hash = self.state_hash;
        self.append(
            &Record::Step(StepRecord { step_index, result, state_before_hash, state_after_hash }),
            sink,
        )
    }

    /// Completes the run and appends the record of it.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
    pub fn complete(&mut self, sink: &mut dyn Sink) -> Result<RecordIndex, BookError> {
        let index = self.next_index();
        self.policy_state.complete().map_err(|source| BookError::PolicyOrder { index, source })?;
        let at = self.next_time()?;
        self.fold.complete(&at).map_err(|source| self.refused(source))?;
        self.mutations += 1;
        self.state_hash = self.fold.state_mut().digest();
        self.append(&Record::Control(Control::Complete { state_hash: self.state_hash, at }), sink)
    }

    /// Names the state after record `position` and appends the record of it. The state does not change.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
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
        self.append(&Record::Control(Control::Checkpoint(control)), sink)
    }

    /// Appends the record of a checkpoint or a rollback.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
    pub fn mark(&mut self, mark: &Mark, sink: &mut dyn Sink) -> Result<Marked, BookError> {
        match mark {
            Mark::Checkpoint { name, position } => {
                let index = self.checkpoint(name, *position, sink)?;
                Ok(Marked { index, returned_to: None })
            }
            Mark::Rollback { name } => self.roll_back(name, sink),
        }
    }

    /// Returns to the state of a checkpoint and appends the record of it.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
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
        let index = self.append(&Record::Control(Control::Rollback(control)), sink)?;
        Ok(Marked { index, returned_to: Some(to) })
    }

    /// Applies a recorded checkpoint.
    ///
    /// # Errors
    /// [`BookError::Fold`] when it may not come here.
    pub fn apply_recorded_checkpoint(&mut self, control: &CheckpointControl) -> Result<(), BookError> {
        let next = self.next_index();
        self.fold.checkpoint(&control.name, control.position, next).map_err(|source| self.refused(source))
    }

    /// Applies a recorded rollback.
    ///
    /// # Errors
    /// [`BookError::Fold`] when there is no such position.
    pub fn apply_recorded_rollback(&mut self, control: &RollbackControl) -> Result<(), BookError> {
        let rolled = self.fold.roll_back(&control.name, control.to, &control.at);
        rolled.map_err(|source| self.refused(source))?;
        self.restore_policy_state(control.to);
        self.mutations += 1;
        self.state_hash = control.state_hash;
        Ok(())
    }

    /// Stores the present state as the one after `index`, so that a rollback can return to it.
    pub fn take_snapshot(&mut self, index: RecordIndex) {
        self.fold.snapshot(index);
        self.policy_snapshots.insert(index, self.policy_state.clone());
    }

    fn restore_policy_state(&mut self, to: RecordIndex) {
        // Policy snapshots are stored together with states, and the state of `to` exists.
        if let Some(policy_state) = self.policy_snapshots.get(&to) {
            self.policy_state = policy_state.clone();
        }
    }

    /// Returns the checkpoints so far.
    pub fn checkpoints(&self) -> &Checkpoints {
        self.fold.checkpoints()
    }

    /// Refuses checkpoints in the compat profile: the engine it reproduces has none.
    fn only_strict(&self) -> Result<(), BookError> {
        match self.profile.name {
            ProfileName::Strict | ProfileName::Strict2 => Ok(()),
            ProfileName::Compat => Err(BookError::NoCheckpoints),
        }
    }

    /// Completes the run without a record, as the compat profile does.
    pub(crate) fn complete_unrecorded(&mut self) -> Result<(), BookError> {
        let at = self.next_time()?;
        self.fold.complete(&at).map_err(|source| self.refused(source))
    }

    /// Fails the run in the decision of a loop that met its limit.
    pub(crate) fn fail_in_decision(&mut self, at: &Timestamp) -> Result<(), BookError> {
        self.exhaust_loop(at)?;
        self.mutations += 1;
        self.state_hash = self.fold.state_mut().digest();
        Ok(())
    }

    /// Fails the run because its loop met its limit.
    pub(crate) fn exhaust_loop(&mut self, at: &Timestamp) -> Result<(), BookError> {
        self.fold.exhaust_loop(at).map_err(|source| self.refused(source))
    }

    /// Seals a record after the head and appends it.
    pub(crate) fn append(&mut self, record: &Record, sink: &mut dyn Sink) -> Result<RecordIndex, BookError> {
        let sealed = record.seal(Some(self.head));
        let index = self.next_index();
        sink.append(&sealed).map_err(|source| BookError::Sink { index, source })?;
        self.head = sealed.head();
        if let Some(gate) = self.gate.as_mut().filter(|_| gate::is_observed(record)) {
            gate.observe(index, record);
        }
        Ok(index)
    }

    /// Applies the result of a recorded step. The state is not hashed; see [`check_state`](Self::check_state).
    ///
    /// # Errors
    /// [`BookError::Fold`] when it does not fit the state.
    pub fn replay_step(&mut self, key: &str, record: &StepRecord) -> Result<(), BookError> {
        self.apply(key, &record.result)?;
        self.state_hash = record.state_after_hash;
        Ok(())
    }

    /// Applies the recorded completion of a run.
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

    /// Moves the head after a record that was applied.
    pub fn move_head(&mut self, index: RecordIndex, hash: Digest) {
        self.head = Head { hash, records: RecordCount::new(index.get() + 1) };
    }

    /// Compares the state with the one the last record names.
    ///
    /// # Errors
    /// The digest of the state and the one the record names.
    pub fn check_state(&mut self) -> Result<(), (Digest, Digest)> {
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

/// Returns the clock member of a header: compat has none, strict says whether a replay can compute the times.
fn clock_mark(profile: &Profile, clock: &Clock) -> Option<ClockSource> {
    match (profile.clock, clock) {
        (hence_state::ClockRule::Frozen, _) => None,
        (hence_state::ClockRule::Moving, Clock::Given(_)) => Some(ClockSource::Given),
        (hence_state::ClockRule::Moving, _) => Some(ClockSource::Ticking),
    }
}
