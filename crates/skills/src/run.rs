//! A skill run under way: outcomes in plan order, each a record before the next is settled.

mod drive;
mod mark;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::capability::{ContractBreach, Registry};
use hence_cognition::run::{Prepared, Progress, RunReport, RunRequest, StepOutcome};
use hence_cognition::state::ExecutionState;
use hence_engine::{Book, BookError, BookStart, ENGINE_VERSION, Finished, Sink};
use hence_journal::{Head, RecordIndex, Sealed};
use hence_state::{Clock, ITERATIONS_KEY, Outcome, ProblemSpec, Profile, ReasoningState, Status, StepError};

pub use resume::ResumeSkillError;

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
    /// A step uses an id the state keeps for itself.
    #[error("step id `{ITERATIONS_KEY}` is reserved")]
    ReservedStep,
    /// The variables cannot even begin.
    #[error(transparent)]
    Variables(#[from] hence_variables::Refusal),
    /// A record could not be made or kept.
    #[error(transparent)]
    Book(#[from] BookError),
    /// A step waits for an answer. Nothing was recorded for it; resume the run once the answer is there.
    #[error("the run waits for an answer")]
    Waiting(hence_cognition::run::Waiting),
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
        let (recorded, kept) = (BTreeMap::new(), BTreeMap::new());
        Ok((Self { pinned, request, progress, book, recorded, kept, variables, stop: None }, header))
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

    pub(crate) fn read_outcomes_from(&mut self, recorded: BTreeMap<Arc<str>, StepOutcome>) {
        self.recorded = recorded;
    }

    pub(crate) fn stop_before(&mut self, index: RecordIndex) {
        self.stop = Some(index);
    }

    fn has_reached_stop(&self) -> bool {
        self.stop.is_some_and(|stop| self.book.next_index() >= stop)
    }

    /// Settles the outcome of the step that is due and keeps it as a record.
    fn commit(
        &mut self,
        mut outcome: StepOutcome,
        sink: &mut dyn Sink,
    ) -> Result<StepOutcome, SkillRunError> {
        // Time as the wall saw it belongs to no record, whoever reports it.
        outcome.metrics.elapsed_ms = 0;
        if outcome.meta.contains_key(LATENCY_KEY) {
            outcome.meta = outcome.meta.without(LATENCY_KEY);
        }
        let settled = self.settle(outcome)?;
        let (held, beside) = match Kept::of(&settled, self.pinned.on_failure) {
            Kept::Output(value) => (self.book.store(Canonical::of(&value), sink)?, None),
            Kept::Ended(errors, value) => (Outcome::Failed(errors), Some(value)),
            Kept::Skipped(value) => (Outcome::Skipped, Some(value)),
        };
        let result = kept::result(&settled.step_id, &settled.input, self.book.next_times()?, held, beside);
        self.book.record(&settled.step_id, result, sink)?;
        Ok(settled)
    }

    /// Settles an outcome; where variables are declared, their rules have a say.
    fn settle(&mut self, outcome: StepOutcome) -> Result<StepOutcome, SkillRunError> {
        let Some(variables) = self.variables.take() else {
            return Ok(self.progress.settle(outcome)?.clone());
        };
        let (index, times) = (self.book.next_index(), self.book.next_times()?);
        let mut after = None;
        let settled = self.progress.settle_if(outcome, |step, outcome, memory| {
            let judged = variables.after(step, outcome, memory, &times.1, index);
            after = Some(judged.map_err(|refusal| crate::variables::failure(&refusal))?);
            Ok(())
        });
        let settled = settled?.clone();
        self.follow_variables(variables, after);
        Ok(settled)
    }

    /// Puts the variables after a step in place of those before; what is past its time leaves the memory, too.
    fn follow_variables(&mut self, before: SkillVariables, after: Option<SkillVariables>) {
        let after = after.unwrap_or_else(|| before.clone());
        before.gone_in(&after).iter().for_each(|name| self.progress.forget(name.as_str()));
        self.variables = Some(after);
    }

    /// Ends the run: says which declared outputs are missing, or that it completed.
    fn end(self, sink: &mut dyn Sink) -> Result<FinishedSkill, SkillRunError> {
        let (report, mut book) = (self.progress.end(), self.book);
        if book.state().status() == Status::Running {
            match &report.failure {
                Some(failure) => {
                    let error = StepError::new(failure.code().name(), failure.failure.message.clone());
                    let held = Outcome::Failed(vec![error]);
                    let result = kept::result(OUTPUTS_STEP, &Value::Null, book.next_times()?, held, None);
                    book.record(OUTPUTS_STEP, result, sink)?;
                }
                None => {
                    book.complete(sink)?;
                }
            }
        }
        let head = book.head();
        Ok(FinishedSkill { finished: Finished { state: book.into_state(), head }, report })
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
    if skill.steps.iter().any(|step| &*step.id == ITERATIONS_KEY) {
        return Err(SkillRunError::ReservedStep);
    }
    Ok(pinned)
}
