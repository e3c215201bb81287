//! A skill run under way: outcomes in plan order, each a record before the next is settled.

mod carry;
mod drive;
mod mark;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_cognition::capability::{ContractBreach, Registry};
use hence_cognition::run::{Prepared, Progress, RunReport, RunRequest, Settled, StepOutcome, settle};
use hence_cognition::skill::{Flow, Step, Uses};
use hence_cognition::state::{ExecutionState, Memory, Names, StepStatus, TraceMetrics};
use hence_engine::{
    Blocked, Book, BookError, BookStart, ENGINE_VERSION, Finished, POLICIES_STEP, PolicyState, Sink,
    SinkError, VERDICTS_STEP, outcome_key,
};
use hence_journal::{Head, RecordIndex, Sealed};
use hence_state::{
    Clock, ITERATIONS_KEY, Outcome, ProblemSpec, Profile, ReasoningState, Status, StepError, StepResult,
    Timestamp,
};

pub use drive::{Driven, Driver, Pause};
pub use resume::ResumeSkillError;

use crate::child::Family;
use crate::host::{Effect, Host};
use crate::kept::{self, Kept};
use crate::pinned::{InvalidFrame, Pinned};
use crate::variables::SkillVariables;

/// The step that reports outputs a skill declares and no step produced.
pub const OUTPUTS_STEP: &str = "$outputs";

/// The member of a provider's report that says how long a call took.
const LATENCY_KEY: &str = "latency_ms";

/// A skill run under way.
pub struct SkillRun<'a> {
    pinned: Pinned,
    created_at: Timestamp,
    request: RunRequest,
    progress: Progress<'a>,
    book: Book,
    /// Outcomes a replay reads instead of asking the world again, by step.
    recorded: BTreeMap<Arc<str>, StepOutcome>,
    /// The progress behind the records that something returns to.
    kept: BTreeMap<RecordIndex, (Progress<'a>, Option<SkillVariables>)>,
    /// The variables, where a step declares any.
    variables: Option<SkillVariables>,
    /// The record a replay stops before, because something from outside comes there.
    stop: Option<RecordIndex>,
    /// What the step that policies blocked last gave. Other policies judge it again; nothing is called twice for them.
    blocked: Option<StepOutcome>,
    /// How often the run returned to an earlier position.
    returns: u64,
}

/// A skill run that has ended.
#[derive(Debug)]
pub struct FinishedSkill {
    /// The last state and where the journal ends.
    pub finished: Finished,
    /// The execution state and every outcome.
    pub report: RunReport,
}

/// Why a skill run could not begin or go on. What is kept is whole; the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum SkillRunError {
    /// The problem pins no skill, or another one.
    #[error("the problem pins {pinned}, the skill at hand is {found}")]
    OtherSkill {
        /// What the problem pins.
        pinned: String,
        /// What is at hand.
        found: String,
    },
    /// The inputs are not what the skill declares.
    #[error("the inputs do not fit the skill: {0}")]
    Inputs(#[from] ContractBreach),
    /// The frame is not one.
    #[error(transparent)]
    Frame(#[from] InvalidFrame),
    /// The variables cannot even begin.
    #[error(transparent)]
    Variables(#[from] hence_variables::Refusal),
    /// A step uses an id the record keeps for itself.
    #[error("step id `{0}` is reserved")]
    ReservedStep(Arc<str>),
    /// Policies block the step that is due, or the end of the run. Its record is kept.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// A record could not be made or kept.
    #[error(transparent)]
    Book(#[from] BookError),
    /// A step waits for an answer. Nothing was recorded for it; resume the run once the answer is there.
    #[error("the run waits for an answer")]
    Waiting(Vec<hence_cognition::run::Waiting>),
    /// What is under way could not be kept beside the journal.
    #[error("what is under way could not be kept: {0}")]
    CallLog(SinkError),
    /// The interpreter refuses an outcome.
    #[error(transparent)]
    Outcome(#[from] hence_cognition::run::FoldError),
}

impl<'a> SkillRun<'a> {
    /// Starts a run of the skill the problem pins and returns its header, which the caller keeps first.
    ///
    /// # Errors
    /// [`SkillRunError`] when problem, skill and inputs do not belong together.
    pub fn start(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        registry: &dyn Registry,
    ) -> Result<(Self, Sealed), SkillRunError> {
        let pinned = check_pin(&problem, prepared, source)?;
        let trace_id = problem.id().clone();
        let created_at = problem.created_at().clone();
        let request = pinned.request(&trace_id)?;
        let progress = Progress::begin(prepared, &request, registry)?;
        let is_declared = SkillVariables::are_declared(prepared.skill());
        let variables = if is_declared { Some(SkillVariables::begin(&problem)?) } else { None };
        let clock = Clock::ticking(problem.created_at().clone());
        let (book, header) = Book::open(BookStart {
            problem,
            trace_id,
            engine_version: ENGINE_VERSION.into(),
            profile: Profile::STRICT,
            clock,
        })?;
        let run = Self {
            pinned,
            created_at,
            request,
            progress,
            book,
            recorded: BTreeMap::new(),
            kept: BTreeMap::new(),
            variables,
            stop: None,
            blocked: None,
            returns: 0,
        };
        Ok((run, header))
    }

    /// Returns where the journal ends.
    pub fn head(&self) -> Head {
        self.book.head()
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.book.state()
    }

    /// Returns whether the run has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.book.state().status(), Status::Completed | Status::Failed)
    }

    /// Returns the execution state so far.
    pub fn execution(&self) -> &ExecutionState {
        self.progress.state()
    }

    /// Returns the step whose outcome is to be recorded next, if any is left.
    pub fn due(&self) -> Option<&Arc<str>> {
        self.progress.due().map(|step| &step.id)
    }

    /// Returns the outcomes so far, in the order of the record.
    pub fn outcomes(&self) -> &[StepOutcome] {
        self.progress.outcomes()
    }

    /// Reports a run that has ended, as its record says. Nothing is written.
    pub fn ended(self) -> FinishedSkill {
        let head = self.book.head();
        let report = self.progress.end();
        FinishedSkill { finished: Finished { state: self.book.into_state(), head }, report }
    }

    pub(crate) fn pinned(&self) -> &Pinned {
        &self.pinned
    }

    pub(crate) fn stop_before(&mut self, index: RecordIndex) {
        self.stop = Some(index);
    }

    fn has_reached_stop(&self) -> bool {
        self.stop.is_some_and(|stop| self.book.next_index() >= stop)
    }

    /// Returns the memory after an outcome of the step that is due, which is not taken in.
    pub(crate) fn memory_after(&self, outcome: &StepOutcome) -> Memory {
        let memory = &self.progress.state().memory;
        match self.progress.due() {
            Some(step) => settle(step, outcome.clone(), memory.clone()).memory,
            None => memory.clone(),
        }
    }

    pub(crate) fn family(&self) -> Family {
        let run = self.book.state().metadata().trace_id.clone();
        Family {
            run,
            returns: self.returns,
            created_at: self.created_at.clone(),
            pinned: self.pinned.clone(),
        }
    }

    pub(crate) fn read_outcomes_from(&mut self, recorded: BTreeMap<Arc<str>, StepOutcome>) {
        self.recorded.extend(recorded);
    }

    /// Records the policies the run goes by from here on: the pinned ones at its beginning, others where it is blocked.
    ///
    /// What the blocked step gave is judged again by the new policies; it is not executed again for them.
    ///
    /// # Errors
    /// [`SkillRunError::Book`] when they cannot be enforced or may not come here; nothing is kept then.
    pub fn install_policies(
        &mut self,
        policies: &Value,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, SkillRunError> {
        let index = self.book.install_policies(policies, sink)?;
        self.judge_again();
        Ok(index)
    }

    /// Returns where the run stands with its policies.
    pub fn policy_state(&self) -> &PolicyState {
        self.book.policy_state()
    }

    fn judge_again(&mut self) {
        if let Some(outcome) = self.blocked.take() {
            self.recorded.insert(outcome.step_id.clone(), outcome);
        }
    }

    /// Settles the outcome of the step that is due and keeps it as a record, or keeps that policies block it.
    ///
    /// A run whose record could not be kept is over: it goes on from what is kept, as another one.
    pub(crate) fn commit(
        &mut self,
        mut outcome: StepOutcome,
        sink: &mut dyn Sink,
    ) -> Result<Result<(), Blocked>, SkillRunError> {
        // Time as the wall saw it belongs to no record, whoever reports it.
        outcome.metrics.elapsed_ms = 0;
        if outcome.meta.contains_key(LATENCY_KEY) {
            outcome.meta = outcome.meta.without(LATENCY_KEY);
        }
        let (proposed, variables) = self.propose(outcome)?;
        let settled = &proposed.outcome;
        let (held, beside) = match Kept::of(settled, self.pinned.on_failure) {
            Kept::Output(output) => (self.book.store(output, sink)?, None),
            Kept::Ended(errors, value) => (Outcome::Failed(errors), Some(value)),
            Kept::Skipped(value) => (Outcome::Skipped, Some(value)),
        };
        let result = kept::result(&settled.step_id, &settled.input, self.book.next_times()?, held, beside);
        let result = self.book.judge(result, sink)?;
        let (step, errors) = (settled.step_id.clone(), blocking(&self.book, &result));
        let key = outcome_key(self.book.state().step_index(), &step);
        let index = self.book.record(&key, result, sink)?;
        if let Some(errors) = errors {
            self.blocked = Some(proposed.outcome);
            return Ok(Err(Blocked { index, step, errors }));
        }
        self.progress.accept(proposed);
        if let (Some(before), Some(after)) = (self.variables.take(), variables) {
            self.follow_variables(&before, after);
        }
        Ok(Ok(()))
    }

    /// Says what settling an outcome would give, and which variables there would be; where any are declared, their
    /// rules have a say.
    fn propose(&mut self, outcome: StepOutcome) -> Result<(Settled, Option<SkillVariables>), SkillRunError> {
        if self.variables.is_none() && !self.policy_state().is_pinned() {
            return Ok((self.progress.propose_owned(outcome)?, None));
        }
        let (step, proposed) = (self.progress.due(), self.progress.propose(outcome)?);
        let (Some(variables), Some(step)) = (&self.variables, step) else { return Ok((proposed, None)) };
        let (index, times) = (self.book.next_index(), self.book.next_times()?);
        let judge =
            |proposed: &Settled| variables.after(step, &proposed.outcome, &proposed.memory, &times.1, index);
        match judge(&proposed) {
            Ok(after) => Ok((proposed, Some(after))),
            Err(refusal) => {
                let refused = self.progress.refuse(proposed, crate::variables::failure(&refusal));
                // A step that failed writes nothing, and time goes on all the same.
                let after = judge(&refused)?;
                Ok((refused, Some(after)))
            }
        }
    }

    /// Puts the variables after a step in place of those before; what is past its time leaves the memory, too.
    fn follow_variables(&mut self, before: &SkillVariables, after: SkillVariables) {
        before.gone_in(&after).iter().for_each(|name| self.progress.forget(name.as_str()));
        self.variables = Some(after);
    }

    /// Asks whether a step that acts on the world may be executed, now that everything before it is recorded.
    fn precheck(&mut self, step: &Step, sink: &mut dyn Sink) -> Result<Option<Blocked>, SkillRunError> {
        let imagined = imagined(step).canonical();
        let times = self.book.next_times()?;
        let result = kept::result(&step.id, &Value::Null, times, Outcome::Success(imagined), None);
        Ok(self.book.precheck(result, sink)?)
    }

    /// Ends the run: says which declared outputs are missing, or that it completed.
    pub(crate) fn end(self, sink: &mut dyn Sink) -> Result<FinishedSkill, SkillRunError> {
        let (report, mut book) = (self.progress.end(), self.book);
        if book.state().status() == Status::Running {
            match &report.failure {
                Some(failure) => {
                    let error = StepError::new(failure.code().as_str(), failure.failure.message.clone());
                    let held = Outcome::Failed(vec![error]);
                    let result =
                        kept::result(&OUTPUTS_STEP.into(), &Value::Null, book.next_times()?, held, None);
                    book.record(OUTPUTS_STEP, result, sink)?;
                }
                None => {
                    if let Some(blocked) = book.final_verdict(sink)? {
                        return Err(blocked.into());
                    }
                    book.complete(sink)?;
                }
            }
        }
        let head = book.head();
        Ok(FinishedSkill { finished: Finished { state: book.into_state(), head }, report })
    }
}

/// Returns an outcome that a step might have.
fn imagined(step: &Step) -> StepOutcome {
    StepOutcome {
        step_id: step.id.clone(),
        uses: step.uses.to_string().into(),
        status: StepStatus::Completed,
        input: Object::new().into(),
        produced: Some(Object::new().into()),
        commits: Vec::new(),
        wired: None,
        reads: Names::default(),
        control_reads: Names::default(),
        writes: Names::default(),
        meta: Object::new(),
        metrics: TraceMetrics::default(),
        called: BTreeMap::new(),
        notes: Vec::new(),
        failure: None,
    }
}

/// Returns whether a step acts on the world, and does so by one call that is known before it is made: then it is
/// executed only once everything before it is recorded, and policies are asked first.
pub(crate) fn acts(step: &Step, host: &dyn Host) -> bool {
    let control = &step.control;
    let is_plain =
        control.condition.is_none() && control.router.is_none() && matches!(control.flow, Flow::Once);
    match &step.uses {
        Uses::Capability(id) => is_plain && host.effect(id) == Effect::Acts,
        Uses::Skill(_) => false,
    }
}

/// Returns what blocks a result, if policies do.
fn blocking(book: &Book, result: &StepResult) -> Option<Vec<StepError>> {
    match result.outcome() {
        Outcome::Failed(errors) if book.policy_state().is_pinned() && result.outcome().is_blocked() => {
            Some(errors.clone())
        }
        _ => None,
    }
}

/// Checks that a problem pins the very skill that is at hand.
pub(crate) fn check_pin(
    problem: &ProblemSpec,
    prepared: &Prepared,
    source: &Canonical,
) -> Result<Pinned, SkillRunError> {
    let skill = prepared.skill();
    let found = format!("{} {} ({})", skill.id, skill.version, source.digest().short());
    let Some(pinned) = Pinned::of(problem) else {
        return Err(SkillRunError::OtherSkill { pinned: "no skill".to_owned(), found });
    };
    if pinned.digest != source.digest() || pinned.id != skill.id || pinned.version != skill.version {
        let pin = format!("{} {} ({})", pinned.id, pinned.version, pinned.digest.short());
        return Err(SkillRunError::OtherSkill { pinned: pin, found });
    }
    let reserved = [ITERATIONS_KEY, OUTPUTS_STEP, POLICIES_STEP, VERDICTS_STEP];
    if let Some(step) = skill.steps.iter().find(|step| reserved.contains(&&*step.id)) {
        return Err(SkillRunError::ReservedStep(step.id.clone()));
    }
    Ok(pinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imagined_outcome_reads_back() {
        let document = r#"{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {}, "outputs": {},
            "steps": [{"id": "a", "uses": "b", "output": {"v": "vars.v"}}]}"#;
        let skill =
            hence_cognition::skill::Skill::read(&hence_canon::parse(document.as_bytes()).unwrap()).skill;
        let imagined = imagined(skill.unwrap().steps.first().unwrap());
        assert_eq!(StepOutcome::from_value(&imagined.to_value()).unwrap(), imagined);
    }
}
