//! The program of skills: applies outcomes in plan order and makes each one a record before the next.
//!
//! One file, because a new outcome, a recorded one and a blocked one must go through the same steps in the same order: whoever changes one of
//! them has to see the other two.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::capability::{Confirmation, ContractBreach};
use hence_cognition::run::{
    CallStage, LATENCY_KEY, MadeCall, NESTED_RUNS_KEY, PossibleCall, Prepared, Progress, RunReport,
    RunRequest, Settled, StepOutcome, call_position, one_call, possible_calls, settle,
};
use hence_cognition::skill::Step;
use hence_cognition::state::{ExecutionState, Memory, Names, StepStatus};
use hence_engine::{
    Blobs, Blocked, BlockedAt, Book, BookStart, Determinism, Driven, ENGINE_VERSION, OUTPUTS_STEP,
    POLICIES_STEP, Program, ProposedCall, RecordMismatch, RecordedStep, Role, Run, RunError, Sink,
    VERDICTS_STEP, attempt, outcome_key, recorded_outcome_key,
};
use hence_journal::{Control, RecordIndex, Sealed};
use hence_state::{
    Clock, ITERATIONS_KEY, Outcome, ProblemSpec, Profile, Status, StepError, StepResult, Timestamp,
};

use crate::again::Again;
use crate::calls::{CallExecutor, CallLog, is_noted};
use crate::child::{Family, NoChildRuns};
use crate::drive::{context, drive};
use crate::fork::in_plan_order;
use crate::host::{Effect, Host};
use crate::pinned::{InvalidFrame, Pinned};
use crate::reach::{gates_of, may_act, may_call, nested_skills};
use crate::recorded_outcome::{self, RecordedOutcome, RecordedOutcomeError};
use crate::stop::NeverStop;
use crate::variables::SkillVariables;

/// A skill at one position of a run.
#[derive(Clone)]
pub struct SkillProgram<'a> {
    problem: Arc<ProblemSpec>,
    host: &'a dyn Host,
    pinned: Pinned,
    request: RunRequest,
    progress: Progress<'a>,
    /// Outcomes that are read instead of executing the step again, by step.
    recorded: BTreeMap<Arc<str>, StepOutcome>,
    /// The variables, where a step declares any.
    variables: Option<SkillVariables>,
    /// The attempt of a step that policies blocked last. Other policies judge its outcome again.
    blocked: Option<BlockedAttempt>,
    /// The number of rollbacks so far.
    rollbacks: u64,
    /// The steps that another run executed, of a fork or a retry.
    carried: BTreeSet<Arc<str>>,
    /// In a replay, the records of steps that the journal says were executed.
    executed: Option<BTreeSet<RecordIndex>>,
}

/// A step that was executed and then blocked by policies.
#[derive(Clone)]
struct BlockedAttempt {
    outcome: StepOutcome,
    blocked: Blocked,
}

/// A run of a skill.
pub type SkillRun<'g, 'a> = Run<'g, SkillProgram<'a>>;

/// A problem and a skill that do not belong together.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The problem pins no skill, or another one.
    #[error("the problem pins {pinned}, the given skill is {found}")]
    OtherSkill {
        /// The skill that the problem pins.
        pinned: String,
        /// The skill that was given.
        found: String,
    },
    /// The inputs do not match what the skill declares.
    #[error("the inputs do not fit the skill: {0}")]
    Inputs(#[from] ContractBreach),
    /// The frame is invalid.
    #[error(transparent)]
    Frame(#[from] InvalidFrame),
    /// The variables cannot begin.
    #[error(transparent)]
    Variables(#[from] hence_variables::Refusal),
    /// A step uses a reserved id.
    #[error("step id `{0}` is reserved")]
    ReservedStep(Arc<str>),
}

impl From<SkillError> for RunError {
    fn from(error: SkillError) -> Self {
        Self::Mismatch(Box::new(error))
    }
}

impl<'a> SkillProgram<'a> {
    /// Makes the program of the skill that a problem pins, at the beginning of a run.
    ///
    /// # Errors
    /// [`SkillError`] when problem, skill and inputs do not belong together.
    pub fn new(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        host: &'a dyn Host,
    ) -> Result<Self, SkillError> {
        let pinned = check_pin(&problem, prepared, source)?;
        let request = pinned.request(problem.id())?;
        let progress = Progress::begin(prepared, &request, host)?;
        let from = pinned.links.origin.as_ref().map(|origin| origin.from.clone());
        let before = |from| in_plan_order(prepared).take_while(move |step| step.id != from);
        let carried = from.into_iter().flat_map(before).map(|step| step.id.clone()).collect();
        let is_declared = SkillVariables::are_declared(prepared.skill());
        let variables =
            if is_declared { Some(SkillVariables::begin(&problem, prepared.skill())?) } else { None };
        Ok(Self {
            problem,
            host,
            pinned,
            request,
            progress,
            recorded: BTreeMap::new(),
            variables,
            blocked: None,
            rollbacks: 0,
            carried,
            executed: None,
        })
    }

    /// Follows the variables also where the skill declares none.
    ///
    /// # Errors
    /// [`SkillError::Variables`] when they cannot begin.
    pub fn with_variables(mut self) -> Result<Self, SkillError> {
        if self.variables.is_none() {
            self.variables = Some(SkillVariables::begin(&self.problem, self.progress.skill())?);
        }
        Ok(self)
    }

    /// Returns the variables, where they are followed.
    pub fn variables(&self) -> Option<&SkillVariables> {
        self.variables.as_ref()
    }

    /// Returns the execution state so far.
    pub fn execution(&self) -> &ExecutionState {
        self.progress.state()
    }

    /// Returns the step whose outcome is recorded next, if any is left.
    pub fn due(&self) -> Option<&Arc<str>> {
        self.progress.due().map(|step| &step.id)
    }

    /// Returns the step whose outcome is recorded next, if any is left.
    pub(crate) fn due_step(&self) -> Option<&'a Step> {
        self.progress.due()
    }

    /// Returns the outcomes so far, in the order of the journal.
    pub fn outcomes(&self) -> &[StepOutcome] {
        self.progress.outcomes()
    }

    /// Returns the report of a run that ends here.
    pub fn report(&self) -> RunReport {
        self.progress.clone().end()
    }

    pub(crate) fn pinned(&self) -> &Pinned {
        &self.pinned
    }

    pub(crate) fn progress(&mut self) -> &mut Progress<'a> {
        &mut self.progress
    }

    pub(crate) fn request(&self) -> &RunRequest {
        &self.request
    }

    pub(crate) fn host(&self) -> &'a dyn Host {
        self.host
    }

    /// Returns the skills from the outermost run to this one. A nested run that is replayed has the same depth as when it
    /// ran.
    pub(crate) fn lineage(&self) -> Names {
        let above = usize::try_from(self.pinned.links.depth()).unwrap_or(0);
        vec![self.pinned.id.clone(); above + 1].into()
    }

    /// Returns the recorded outcome of a step. In a replay it is what follows from the skill and the recorded replies.
    pub(crate) fn read_or_computed(&self, step: &Step, host: &dyn Host) -> Option<StepOutcome> {
        let recorded = self.recorded.get(&step.id)?;
        if self.executed.is_none() {
            return Some(recorded.clone());
        }
        let (family, lineage) = (self.family(), self.lineage());
        let again = self.again(host, step, recorded, &family);
        let memory = &self.progress.state().memory;
        Some(again.execute(memory, |replies| context(replies, &self.request, &lineage)))
    }

    fn again<'s>(
        &self,
        host: &'s dyn Host,
        step: &'s Step,
        recorded: &'s StepOutcome,
        family: &'s Family,
    ) -> Again<'s> {
        let is_carried = self.carried.contains(&step.id);
        Again { host, step, recorded, family, is_carried }
    }

    pub(crate) fn recorded_outcome(&self, step: &str) -> Option<&StepOutcome> {
        self.recorded.get(step)
    }

    /// Returns whether a step was executed before, so that holding it back is too late. In a replay the journal says so.
    pub(crate) fn was_executed(&self, step: &str, index: RecordIndex) -> bool {
        match &self.executed {
            Some(executed) => executed.contains(&index),
            None => self.recorded.contains_key(step),
        }
    }

    pub(crate) fn read_outcomes_from(&mut self, outcomes: BTreeMap<Arc<str>, StepOutcome>) {
        self.recorded.extend(outcomes);
    }

    /// Forgets the outcome of a blocked attempt: the final outcome of the step is known.
    pub(crate) fn forget_blocked(&mut self, step: &Arc<str>) {
        self.blocked = None;
        self.recorded.remove(step);
    }

    /// Returns the memory after an outcome of the step that is due, without applying it.
    pub(crate) fn memory_after(&self, outcome: &StepOutcome) -> Memory {
        let memory = &self.progress.state().memory;
        match self.progress.due() {
            Some(step) => settle(step, outcome.clone(), memory.clone()).memory,
            None => memory.clone(),
        }
    }

    pub(crate) fn family(&self) -> Family {
        Family {
            run: self.problem.id().clone(),
            rollbacks: self.rollbacks,
            created_at: self.problem.created_at().clone(),
            pinned: self.pinned.clone(),
        }
    }

    /// Settles the outcome of the step that is due and appends it, or appends that policies block it.
    ///
    /// # Errors
    /// [`RunError`]; a run whose record could not be appended is over.
    pub(crate) fn commit(
        &mut self,
        book: &mut Book<'_>,
        mut outcome: StepOutcome,
        sink: &mut dyn Sink,
    ) -> Result<Result<(), Blocked>, RunError> {
        // Wall-clock time enters no record, not even as a figure that a provider reports.
        outcome.metrics.elapsed_ms = 0;
        if outcome.meta.contains_key(LATENCY_KEY) {
            outcome.meta = outcome.meta.without(LATENCY_KEY);
        }
        if let Some(held) = outcome.held_call().cloned() {
            return self.commit_stopped(book, outcome, &held, sink);
        }
        let (proposed, variables) = self.propose(book, outcome)?;
        let settled = &proposed.outcome;
        let made = self.result(book, settled, settled.canonical(), sink)?;
        let mut result = book.judge(made)?;
        let (step, errors) = (settled.step_id.clone(), blocking(book, &result));
        if errors.is_some() && settled.acting_calls().next().is_some() {
            // What was executed and then blocked is in the record with its inputs, keys and replies.
            let made = self.result(book, settled, settled.canonical_with_calls(), sink)?;
            result = book.judge(made)?;
        }
        let key = outcome_key(book.state().step_index(), &step);
        let index = book.record(&key, result, sink)?;
        if let Some(errors) = errors {
            let blocked = Blocked { index, step, errors, at: BlockedAt::AfterExecution };
            self.blocked = Some(BlockedAttempt { outcome: proposed.outcome, blocked: blocked.clone() });
            return Ok(Err(blocked));
        }
        self.blocked = None;
        self.progress.accept(proposed);
        if let (Some(before), Some(after)) = (self.variables.take(), variables) {
            self.follow_variables(&before, after);
        }
        Ok(Ok(()))
    }

    /// Appends that policies stopped the step that is due before one of its calls. The record lists the calls before it.
    fn commit_stopped(
        &mut self,
        book: &mut Book<'_>,
        outcome: StepOutcome,
        held: &MadeCall,
        sink: &mut dyn Sink,
    ) -> Result<Result<(), Blocked>, RunError> {
        let made = self.result(book, &outcome, outcome.canonical_with_calls(), sink)?;
        let noted = outcome.calls.iter().filter(|call| is_noted(call));
        let before: Vec<MadeCall> = noted.flat_map(MadeCall::each_begun).collect();
        let step = self.progress.due().filter(|step| step.id == outcome.step_id);
        let result = match step {
            Some(step) => {
                let call = self.proposed_call(book, step, (&before, &[]), held)?;
                book.stop_before(&call, made)?
            }
            None => book.judge(made)?,
        };
        let errors = blocking(book, &result).unwrap_or_default();
        let key = outcome_key(book.state().step_index(), &outcome.step_id);
        let index = book.record(&key, result, sink)?;
        let at = BlockedAt::BetweenCalls;
        let blocked = Blocked { index, step: outcome.step_id.clone(), errors, at };
        // Its next attempt has another outcome.
        self.recorded.remove(&outcome.step_id);
        self.blocked = Some(BlockedAttempt { outcome, blocked: blocked.clone() });
        Ok(Err(blocked))
    }

    /// Returns a call that a step is about to make. `made` are the calls before it that the gate has not been told of,
    /// `answers` those before them in which people answered.
    pub(crate) fn proposed_call(
        &self,
        book: &Book<'_>,
        step: &Step,
        (made, answers): (&[MadeCall], &[MadeCall]),
        next: &MadeCall,
    ) -> Result<ProposedCall, RunError> {
        let memory = &self.progress.state().memory;
        let place = next.place();
        let position = match place.nested.last() {
            Some((_, skill)) => format!("step {} of skill:{skill}", place.step),
            None if next.is_of_gate() => format!("gate {}", next.capability),
            None => call_position(step, next.iteration, next.item, next.attempt),
        };
        let is_new = |answer: &&MadeCall| !made.iter().any(|made| made.key == answer.key);
        let mut answers: Vec<MadeCall> = answers.iter().filter(is_new).cloned().collect();
        let mut before = Vec::new();
        for made in made {
            let outcome = one_call(step, memory, &answers, made, CallStage::Made);
            let (outcome, times) = (Outcome::Success(outcome.canonical_with_calls()), book.next_times()?);
            before.push(recorded_outcome::result(&step.id, &Value::Null, times, outcome, None));
            answers.extend((made.effect == Effect::Asks).then(|| made.clone()));
        }
        let outcome = one_call(step, memory, &answers, next, CallStage::Next);
        let call = self.proposed(book, step, PossibleCall { position, outcome })?;
        Ok(ProposedCall { before, ..call })
    }

    fn proposed(
        &self,
        book: &Book<'_>,
        step: &Step,
        PossibleCall { position, mut outcome }: PossibleCall,
    ) -> Result<ProposedCall, RunError> {
        // A call that needs a confirmation is made only after a yes, so the yes is assumed.
        let is_confirmed = outcome.called.keys().any(|id| {
            let spec = self.host.capability(id);
            spec.is_some_and(|spec| spec.safety.confirmation == Confirmation::Needed)
                && !self.request.options.confirmed_capabilities.contains(id)
        });
        if is_confirmed {
            outcome.calls.push(MadeCall::assumed_confirmation(&step.id, &outcome.input));
        }
        let outcome = Outcome::Success(outcome.canonical_with_calls());
        let times = book.next_times()?;
        let result = recorded_outcome::result(&step.id, &Value::Null, times, outcome, None);
        Ok(ProposedCall { position, before: Vec::new(), result })
    }

    /// Returns the calls of the step that is due which were made before policies stopped it.
    pub(crate) fn calls_before_stop(&self) -> &[MadeCall] {
        match &self.blocked {
            Some(attempt) if attempt.blocked.at == BlockedAt::BetweenCalls => &attempt.outcome.calls,
            _ => &[],
        }
    }

    /// Returns whether policies stopped the step that is due between its calls: it continues where it stopped.
    pub(crate) fn is_stopped_between_calls(&self) -> bool {
        self.blocked.as_ref().is_some_and(|attempt| attempt.blocked.at == BlockedAt::BetweenCalls)
    }

    /// Returns the result of a settled outcome, whose recorded form is `canonical`.
    fn result(
        &self,
        book: &mut Book<'_>,
        settled: &StepOutcome,
        canonical: Canonical,
        sink: &mut dyn Sink,
    ) -> Result<StepResult, RunError> {
        let (recorded, value) = match RecordedOutcome::of(settled, canonical, self.pinned.on_failure) {
            RecordedOutcome::Output(output) => (book.store(output, sink)?, None),
            // The calls of a failed step may be of any size.
            RecordedOutcome::Ended(errors, value) if settled.lists_calls() => {
                (Outcome::Failed(errors), Some(book.store_value(value, sink)?))
            }
            RecordedOutcome::Ended(errors, value) => (Outcome::Failed(errors), Some(value)),
            RecordedOutcome::Skipped(value) => (Outcome::Skipped, Some(value)),
        };
        let times = book.next_times()?;
        Ok(recorded_outcome::result(&settled.step_id, &settled.input, times, recorded, value))
    }

    /// Returns the block of the step that is due, if the step has acted: its calls are not made again.
    pub(crate) fn blocked_deed(&self) -> Option<&Blocked> {
        let attempt =
            self.blocked.as_ref().filter(|attempt| attempt.blocked.at != BlockedAt::BetweenCalls)?;
        let outcome = &attempt.outcome;
        let acts = |id: &str| match id.strip_prefix("skill:") {
            Some(nested) => self
                .host
                .skill(nested)
                .is_none_or(|skill| skill.steps.iter().any(|step| may_act(step, self.host))),
            None => self.host.effect(id) == Effect::Acts,
        };
        let has_acted = outcome.acting_calls().next().is_some() || outcome.called.keys().any(|id| acts(id));
        has_acted.then_some(&attempt.blocked)
    }

    /// Returns the settled outcome without applying it, and the variables after it. The rules of declared variables may
    /// turn the outcome into a failed one.
    fn propose(
        &mut self,
        book: &Book<'_>,
        outcome: StepOutcome,
    ) -> Result<(Settled, Option<SkillVariables>), RunError> {
        let index = book.next_index();
        let unfit = |error: hence_cognition::run::FoldError| RunError::Unfit { index, source: error.into() };
        if self.variables.is_none() && !book.policy_state().is_pinned() {
            return Ok((self.progress.propose_owned(outcome).map_err(unfit)?, None));
        }
        let (step, proposed) = (self.progress.due(), self.progress.propose(outcome).map_err(unfit)?);
        let (Some(variables), Some(step)) = (&self.variables, step) else { return Ok((proposed, None)) };
        let times = book.next_times()?;
        let judge =
            |proposed: &Settled| variables.after(step, &proposed.outcome, &proposed.memory, &times.1, index);
        match judge(&proposed) {
            Ok(after) => Ok((proposed, Some(after))),
            Err(refusal) => {
                let refused = self.progress.refuse(proposed, crate::variables::failure(&refusal));
                // A failed step writes nothing, and time passes all the same.
                let after = judge(&refused).map_err(SkillError::from)?;
                Ok((refused, Some(after)))
            }
        }
    }

    /// Replaces the variables by those after a step; expired ones leave the memory, too.
    fn follow_variables(&mut self, before: &SkillVariables, after: SkillVariables) {
        before.gone_in(&after).iter().for_each(|name| self.progress.forget(name.as_str()));
        self.variables = Some(after);
    }

    /// Applies a recorded outcome to progress and variables.
    fn apply_outcome(
        &mut self,
        outcome: StepOutcome,
        at: &Timestamp,
        index: RecordIndex,
    ) -> Result<(), Box<dyn std::error::Error>> {
        self.blocked = None;
        let step = self.progress.due();
        let settled = self.progress.take_in(outcome)?.clone();
        if let (Some(variables), Some(step)) = (self.variables.take(), step) {
            let after = variables.after(step, &settled, &self.progress.state().memory, at, index)?;
            self.follow_variables(&variables, after);
        }
        Ok(())
    }

    /// Asks whether a step that acts may be executed, now that everything before it is recorded: the policies judge every
    /// call it is about to make, with its input.
    pub(crate) fn precheck(
        &mut self,
        book: &mut Book<'_>,
        step: &Step,
        sink: &mut dyn Sink,
    ) -> Result<Option<Blocked>, RunError> {
        let calls = possible_calls(step, &self.progress.state().memory).into_iter();
        let calls: Result<Vec<_>, _> = calls.map(|call| self.proposed(book, step, call)).collect();
        Ok(book.precheck(calls?, sink)?)
    }

    /// Ends the run: reports which declared outputs are missing, or completes it.
    ///
    /// # Errors
    /// [`RunError`], also when policies block the completion.
    pub(crate) fn end(&self, book: &mut Book<'_>, sink: &mut dyn Sink) -> Result<(), RunError> {
        if book.state().status() != Status::Running {
            return Ok(());
        }
        if let Some(failure) = self.progress.failure() {
            let error = StepError::new(failure.code().as_str(), failure.failure.message.clone());
            let outcome = Outcome::Failed(vec![error]);
            let step = OUTPUTS_STEP.into();
            let result = recorded_outcome::result(&step, &Value::Null, book.next_times()?, outcome, None);
            book.record(OUTPUTS_STEP, result, sink)?;
        } else {
            if let Some(blocked) = book.final_verdict(sink)? {
                return Err(blocked.into());
            }
            book.complete(sink)?;
        }
        Ok(())
    }
}

impl<'a> Program for SkillProgram<'a> {
    type Snapshot = (Progress<'a>, Option<SkillVariables>);
    type Recorded = StepOutcome;

    fn open<'g>(&self) -> Result<(Book<'g>, Sealed), RunError> {
        Ok(Book::open(BookStart {
            problem: self.problem.clone(),
            trace_id: self.problem.id().clone(),
            engine_version: ENGINE_VERSION.into(),
            profile: Profile::STRICT,
            clock: Clock::ticking(self.problem.created_at().clone()),
        })?)
    }

    fn apply_step(&mut self, book: &mut Book<'_>, step: &RecordedStep<'_>) -> Result<(), RecordMismatch> {
        let (record, result) = (step.record, &step.record.result);
        match (step.role, &**result.step()) {
            (Role::Own, OUTPUTS_STEP) => {}
            (Role::Own, _) => {
                let outcome = recorded_outcome::read(result, step.blobs)?;
                self.apply_outcome(outcome, result.finished_at(), step.index)
                    .map_err(RecordMismatch::flow)?;
            }
            (Role::Policies, _) => self.offer_again(step.index.next()),
            (_, VERDICTS_STEP) if self.progress.due().is_some() => {
                return Err(RecordMismatch::flow("steps are left to run"));
            }
            (_, VERDICTS_STEP) => {}
            (Role::Verdicts | Role::Blocked, name) => {
                if self.progress.due().is_none_or(|due| &*due.id != name) {
                    return Err(RecordMismatch::flow("another step was due"));
                }
                self.blocked = match BlockedAt::of(result) {
                    at @ (BlockedAt::AfterExecution | BlockedAt::BetweenCalls) => {
                        let outcome = recorded_outcome::read(&attempt(result), step.blobs)?;
                        let errors = match result.outcome() {
                            Outcome::Failed(errors) => errors.clone(),
                            Outcome::Success(_) | Outcome::Skipped => Vec::new(),
                        };
                        let (index, step) = (step.index, result.step().clone());
                        let blocked = Blocked { index, step, errors, at };
                        Some(BlockedAttempt { outcome, blocked })
                    }
                    BlockedAt::BeforeExecution | BlockedAt::End => None,
                };
            }
        }
        Ok(book.replay_step(&recorded_outcome_key(record), record)?)
    }

    fn apply_control(
        &mut self,
        _: &mut Book<'_>,
        control: &Control,
        _: &dyn Blobs,
    ) -> Result<(), RecordMismatch> {
        match control {
            Control::Loop(_) => Err(RecordMismatch::flow("a skill run has steps and a completion only")),
            Control::Complete { .. } | Control::Checkpoint(_) | Control::Rollback(_) => Ok(()),
        }
    }

    /// Snapshots are taken only while a run is resumed, when no step is being executed.
    fn snapshot(&self) -> Self::Snapshot {
        (self.progress.clone(), self.variables.clone())
    }

    fn restore(&mut self, (progress, variables): &Self::Snapshot) {
        self.rollbacks += 1;
        (self.progress, self.variables) = (progress.clone(), variables.clone());
        self.blocked = None;
    }

    fn offer_again(&mut self, _: RecordIndex) {
        // A step that was stopped between its calls has no outcome yet: it continues.
        if let Some(BlockedAttempt { outcome, .. }) =
            self.blocked.take_if(|attempt| attempt.blocked.at != BlockedAt::BetweenCalls)
        {
            self.recorded.insert(outcome.step_id.clone(), outcome);
        }
    }

    fn recorded(
        &self,
        result: &StepResult,
        blobs: &dyn Blobs,
    ) -> Result<Option<StepOutcome>, RecordMismatch> {
        let outcome = recorded_outcome::read(result, blobs)?;
        let step = self.progress.skill().step(&outcome.step_id);
        let is_read = calls_any(&outcome, step, self.host, |id| !self.host.is_recomputed(id))
            || step.is_some_and(|step| ended_before_its_call(&outcome, step, self.host));
        Ok(is_read.then_some(outcome))
    }

    fn believed(&self, recorded: &StepOutcome) -> Vec<String> {
        let family = self.family();
        let step = self.progress.skill().step(&recorded.step_id);
        step.map(|step| self.again(self.host, step, recorded, &family).believed()).unwrap_or_default()
    }

    fn replay<'g>(
        mut run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, StepOutcome>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError> {
        // Of a step that was attempted several times, the first attempt from here on is the next one.
        let mut next: BTreeMap<Arc<str>, StepOutcome> = BTreeMap::new();
        for outcome in recorded.range(run.next_index()..).map(|(_, outcome)| outcome) {
            next.entry(outcome.step_id.clone()).or_insert_with(|| outcome.clone());
        }
        let (log, program) = (CallLog::in_memory(), run.program());
        let (host, skill) = (program.host, program.progress.skill());
        let calls = CallExecutor::new(host, &log, &NeverStop);
        let calls = calls.closed().for_skill(skill, &NoChildRuns, program.family());
        run.parts().0.add_recorded(next);
        run.parts().0.executed = Some(recorded.keys().copied().collect());
        drive(run, &calls, NonZeroUsize::MIN, until, sink, |_| {})
    }
}

impl SkillProgram<'_> {
    /// Adds outcomes to read; a blocked outcome that is offered again comes before what the journal says.
    fn add_recorded(&mut self, outcomes: BTreeMap<Arc<str>, StepOutcome>) {
        for (step, outcome) in outcomes {
            self.recorded.entry(step).or_insert(outcome);
        }
    }
}

impl From<RecordedOutcomeError> for RecordMismatch {
    fn from(error: RecordedOutcomeError) -> Self {
        match error {
            RecordedOutcomeError::Blob(error) => Self::Blob(error),
            other => Self::flow(other),
        }
    }
}

/// Returns whether executing a step again may give another outcome, because it calls something that is not
/// deterministic.
pub fn asks_the_world(outcome: &StepOutcome, step: Option<&Step>, host: &dyn Host) -> bool {
    calls_any(outcome, step, host, |id| host.determinism(id) == Determinism::Recorded)
}

/// Returns whether a step that was to call something outside ended before any call: a limit or a contract refused it. A
/// replay cannot tell that without coming to the call, so it reads the outcome.
fn ended_before_its_call(outcome: &StepOutcome, step: &Step, host: &dyn Host) -> bool {
    let reaches_out =
        || may_call(step).iter().any(|id| !host.is_recomputed(id)) || !nested_skills(step).is_empty();
    outcome.called.is_empty() && outcome.status != StepStatus::Skipped && reaches_out()
}

/// Returns whether a step made or may have made a call of such a capability.
///
/// A gate of a capability is not in the list of calls, and a gate that denies leaves no call at all. So the gates are
/// read from the declarations of everything the step may call.
fn calls_any(
    outcome: &StepOutcome,
    step: Option<&Step>,
    host: &dyn Host,
    is_recorded: impl Fn(&str) -> bool,
) -> bool {
    // A nested run is named by its own journal, which a replay does not write again.
    let has_nested = outcome.meta.contains_key(NESTED_RUNS_KEY);
    if has_nested || outcome.called.keys().any(|id| is_recorded(id)) {
        return true;
    }
    let mut gates = step.into_iter().flat_map(may_call).flat_map(|id| gates_of(&id, host));
    gates.any(|gate| is_recorded(&gate))
}

/// Returns the violations that block a result.
fn blocking(book: &Book<'_>, result: &StepResult) -> Option<Vec<StepError>> {
    match result.outcome() {
        Outcome::Failed(errors) if book.policy_state().is_pinned() && result.outcome().is_blocked() => {
            Some(errors.clone())
        }
        _ => None,
    }
}

/// Checks that a problem pins exactly this skill, and that no step has a reserved id.
fn check_pin(problem: &ProblemSpec, prepared: &Prepared, source: &Canonical) -> Result<Pinned, SkillError> {
    let skill = prepared.skill();
    let found = format!("{} {} ({})", skill.id, skill.version, source.digest().short());
    let Some(pinned) = Pinned::of(problem) else {
        return Err(SkillError::OtherSkill { pinned: "no skill".to_owned(), found });
    };
    if pinned.digest != source.digest() || pinned.id != skill.id || pinned.version != skill.version {
        let pin = format!("{} {} ({})", pinned.id, pinned.version, pinned.digest.short());
        return Err(SkillError::OtherSkill { pinned: pin, found });
    }
    let reserved = [ITERATIONS_KEY, OUTPUTS_STEP, POLICIES_STEP, VERDICTS_STEP];
    if let Some(step) = skill.steps.iter().find(|step| reserved.contains(&&*step.id)) {
        return Err(SkillError::ReservedStep(step.id.clone()));
    }
    Ok(pinned)
}
