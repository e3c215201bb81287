//! Runs in which an agent of its own reports its work: each accepted operation is one step of the journal.
//!
//! A problem pins such a run by `settings.skill`. A step is called `trace.<operation>`, and its output is the operation,
//! which [`Draft`] folds. The time of an operation is its caller's: it is recorded, never goes back, and a replay reads
//! it. The operation `complete` ends the run: with a completion, or with the failed step `trace.end` when the work was
//! not completed.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_engine::{
    BlobError, Blobs, Book, BookStart, Driven, ENGINE_VERSION, Evidence, Judge, Pause, Program,
    ProgramFollower, RecordMismatch, RecordedStep, ResumeError, Role, Run, RunError, Sink, TRACE_ARTIFACT,
    TRACE_SKILL, TRACE_SKILL_VERSION, TRACE_STEP_PREFIX, resolve,
};
use hence_journal::verify::{Completeness, Follower, LevelReport, Reason as Finding, ReasonCode, Verifiable};
use hence_journal::{Control, Header, RecordIndex, Sealed, StepRecord};
use hence_review::authoring::{Draft, Operation, Refusal};
use hence_review::model::OutcomeType;
use hence_state::{Clock, Outcome, ProblemSpec, Profile, StepError, StepResult};

/// The step that ends a run whose work was not completed. It changes nothing in the trace.
pub(crate) const TRACE_END_STEP: &str = "trace.end";

/// The parts of such a run that nothing but its caller determines.
const OPERATIONS: &str = "the operations that the agent reported, with their texts, times and figures";

/// Makes the problem of a run in which an agent reports its work on a task.
pub fn authored_problem(id: &str, created_at: &str, task: &str) -> Value {
    let skill = Object::from_iter([("id", TRACE_SKILL), ("version", TRACE_SKILL_VERSION)]);
    Object::from_iter([
        ("version", Value::from("1.0.0")),
        ("id", id.into()),
        ("created_at", created_at.into()),
        ("inputs", Object::from_iter([("prompt", task)]).into()),
        ("settings", Object::from_iter([("skill", skill)]).into()),
    ])
    .into()
}

/// The program of such a run at one position.
#[derive(Clone)]
pub struct Authored {
    problem: Arc<ProblemSpec>,
    draft: Draft,
}

/// A run in which an agent reports its work.
pub type AuthoredRun = Run<'static, Authored>;

/// A result that is not an operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAnOperation {
    /// The operation is stored outside the journal and is missing or damaged.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The step is not one of such a run.
    #[error("expected a step {TRACE_STEP_PREFIX}…, found {0:?}")]
    OtherStep(Arc<str>),
    /// The result breaks a rule of operations.
    #[error("{0}")]
    Invalid(String),
}

/// Reads the operation of a step.
pub(crate) fn read_operation(result: &StepResult, blobs: &dyn Blobs) -> Result<Operation, NotAnOperation> {
    if !result.step().starts_with(TRACE_STEP_PREFIX) {
        return Err(NotAnOperation::OtherStep(result.step().clone()));
    }
    let output = result.outcome().output().ok_or_else(|| {
        NotAnOperation::Invalid("a refused operation is not recorded, found a step without output".to_owned())
    })?;
    let value = resolve(output, blobs)?;
    let read = Operation::from_value(&value).map_err(|error| NotAnOperation::Invalid(error.to_string()))?;
    if *step_name(&read) != **result.step() {
        let message = format!("step {:?} holds the operation {}", result.step(), read.change.kind());
        return Err(NotAnOperation::Invalid(message));
    }
    Ok(read)
}

fn step_name(operation: &Operation) -> String {
    format!("{TRACE_STEP_PREFIX}{}", operation.change.kind())
}

/// Returns the input of a step: the operation and its time.
fn input_of(operation: &Operation) -> Value {
    Object::from_iter([
        ("op", Value::from(operation.change.kind().as_str())),
        ("at", operation.at.to_string().into()),
    ])
    .into()
}

/// How a run ends after the operation `complete`.
#[derive(Clone, PartialEq, Eq, Debug)]
enum End {
    Completed,
    /// The work was aborted or interrupted.
    Failed(Vec<StepError>),
}

impl End {
    /// Returns the end of a run; `None` while the agent has not ended its work.
    fn of(draft: &Draft) -> Option<Self> {
        let outcome = draft.outcome()?;
        let code = match outcome.event_type {
            OutcomeType::ProcessCompleted => return Some(Self::Completed),
            OutcomeType::ProcessAborted => "process_aborted",
            OutcomeType::ProcessInterrupted => "process_interrupted",
        };
        let summary = outcome.summary.as_deref().unwrap_or("the agent did not complete its work");
        Some(Self::Failed(vec![StepError::new(code, summary)]))
    }

    /// Checks the step that ends a run against the end that its last operation states.
    fn check(expected: Option<&Self>, result: &StepResult) -> Result<(), String> {
        match (expected, result.outcome()) {
            (Some(Self::Failed(expected)), Outcome::Failed(found)) if expected == found => Ok(()),
            (None, _) => Err("the agent has not ended its work".to_owned()),
            _ => Err("the agent ended its work otherwise".to_owned()),
        }
    }
}

impl Authored {
    /// Makes the program of a problem, at the beginning of a run.
    pub fn new(problem: Arc<ProblemSpec>) -> Self {
        let draft = Draft::new(problem.id().clone());
        Self { problem, draft }
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        &self.problem
    }

    /// Returns the trace so far.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }
}

impl Program for Authored {
    /// Nothing: a reported operation is never rolled back.
    type Snapshot = ();
    type Recorded = Operation;

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
        let result = &step.record.result;
        if &**result.step() == TRACE_END_STEP {
            End::check(End::of(&self.draft).as_ref(), result).map_err(RecordMismatch::flow)?;
        } else {
            let operation = read_operation(result, step.blobs).map_err(|error| match error {
                NotAnOperation::Blob(error) => RecordMismatch::Blob(error),
                other => RecordMismatch::flow(other),
            })?;
            self.draft.apply(&operation).map_err(RecordMismatch::flow)?;
        }
        Ok(book.replay_step(TRACE_ARTIFACT, step.record)?)
    }

    fn apply_control(
        &mut self,
        _: &mut Book<'_>,
        control: &Control,
        _: &dyn Blobs,
    ) -> Result<(), RecordMismatch> {
        match (control, End::of(&self.draft)) {
            (Control::Complete { .. }, Some(End::Completed)) => Ok(()),
            (Control::Complete { .. }, _) => {
                Err(RecordMismatch::flow("the agent has not completed its work"))
            }
            _ => Err(RecordMismatch::flow("such a run has steps and a completion only")),
        }
    }

    fn has_checkpoints() -> bool {
        false
    }

    fn snapshot(&self) {}

    fn restore(&mut self, (): &()) {}

    fn offer_again(&mut self, _: RecordIndex) {}

    fn recorded(&self, result: &StepResult, blobs: &dyn Blobs) -> Result<Option<Operation>, RecordMismatch> {
        match read_operation(result, blobs) {
            Ok(operation) => Ok(Some(operation)),
            Err(NotAnOperation::Blob(error)) => Err(error.into()),
            // A replay ends before a step that is no operation; the comparison of bytes then reports that step.
            Err(_) => Ok(None),
        }
    }

    fn believed(&self, _: &Operation) -> Vec<String> {
        vec![OPERATIONS.to_owned()]
    }

    fn replay<'g>(
        mut run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, Operation>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError> {
        while let Some(operation) =
            recorded.get(&run.next_index()).filter(|_| until != Some(run.next_index()))
        {
            append_operation(&mut run, operation, sink)?
                .map_err(|refusal| RunError::Unfit { index: run.next_index(), source: refusal.into() })?;
        }
        if until == Some(run.next_index()) {
            return Ok(Driven::Paused(run, Pause::Stopped));
        }
        match append_end(&mut run, sink)? {
            true => Ok(Driven::Finished(run)),
            false => Ok(Driven::Paused(run, Pause::Stopped)),
        }
    }
}

/// Appends an operation, unless the draft refuses it: then nothing changes.
///
/// # Errors
/// [`RunError`] when the record could not be stored.
pub fn append_operation(
    run: &mut Run<'_, Authored>,
    operation: &Operation,
    sink: &mut dyn Sink,
) -> Result<Result<(), Refusal>, RunError> {
    let (program, book) = run.parts();
    if let Err(refusal) = program.draft.apply(operation) {
        return Ok(Err(refusal));
    }
    let (started_at, at) = book.next_times()?;
    let outcome = book.store(Canonical::of(&operation.to_value()), sink)?;
    let result = StepResult::new(step_name(operation), &input_of(operation), started_at, at, outcome);
    book.record(TRACE_ARTIFACT, result, sink)?;
    Ok(Ok(()))
}

/// Appends the end of a run whose agent has ended its work. Returns whether the run has ended.
///
/// # Errors
/// [`RunError`] when the record could not be stored.
pub fn append_end(run: &mut Run<'_, Authored>, sink: &mut dyn Sink) -> Result<bool, RunError> {
    let has_ended = run.has_ended();
    let (program, book) = run.parts();
    match End::of(&program.draft).filter(|_| !has_ended) {
        None => {}
        Some(End::Completed) => {
            book.complete(sink)?;
        }
        Some(End::Failed(errors)) => {
            book.record_failed_end(TRACE_ARTIFACT, TRACE_END_STEP, errors, sink)?;
        }
    }
    Ok(run.has_ended())
}

/// The journal of such a run, to be verified.
pub struct AuthoredJournal<'a, 'e> {
    /// The program at the beginning of the run, or the reason why there is none.
    pub program: Result<Authored, String>,
    /// The journal and what belongs to it.
    pub evidence: &'a Evidence<'e>,
}

impl Verifiable for AuthoredJournal<'_, '_> {
    fn follow<'s>(&'s self, header: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let judge = AuthoredJudge {
            blobs: self.evidence.blobs,
            draft: Some(Draft::new(header.trace_id.clone())),
            ended: false,
        };
        Box::new(ProgramFollower::new(judge, problem))
    }

    fn replay(&self) -> LevelReport {
        let program = self.program.clone();
        self.evidence.replay(
            program.map_err(|message| {
                ResumeError::Run(RunError::Stopped { step: TRACE_END_STEP.into(), message })
            }),
        )
    }
}

/// Verifies operations: the agent may report anything, and each operation must follow from those before it.
#[derive(Clone)]
struct AuthoredJudge<'a> {
    blobs: &'a dyn Blobs,
    /// The trace so far; `None` after a missing operation, because no later one can be judged then.
    draft: Option<Draft>,
    ended: bool,
}

impl Judge for AuthoredJudge<'_> {
    fn step(&mut self, _: Role, record: &StepRecord, unchecked: &mut Vec<String>) -> Vec<Finding> {
        let result = &record.result;
        let refused =
            |found: String| Finding { found: Some(found), ..Finding::new(ReasonCode::ResultRefused) };
        if &**result.step() == TRACE_END_STEP {
            self.ended = true;
            let checked =
                self.draft.as_ref().map_or(Ok(()), |draft| End::check(End::of(draft).as_ref(), result));
            return checked.err().map(refused).into_iter().collect();
        }
        let operation = match read_operation(result, self.blobs) {
            Ok(operation) => operation,
            Err(error @ NotAnOperation::OtherStep(_)) => {
                let found = Some(error.to_string());
                return vec![Finding { found, ..Finding::new(ReasonCode::FlowViolation) }];
            }
            Err(NotAnOperation::Blob(error)) => {
                let lost = self.draft.take().map_or("", |_| ", nor whether later steps follow");
                unchecked.push(format!("operation of step {}{lost} ({error})", record.step_index));
                return Vec::new();
            }
            Err(error) => return vec![refused(error.to_string())],
        };
        let expected = Canonical::of(&input_of(&operation)).digest();
        let input = Finding::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash());
        let applied = self.draft.as_mut().map_or(Ok(()), |draft| draft.apply(&operation));
        input.into_iter().chain(applied.err().map(|refusal| refused(refusal.to_string()))).collect()
    }

    fn control(&mut self, control: &Control) -> Vec<Finding> {
        let may_complete =
            self.draft.as_ref().is_none_or(|draft| End::of(draft) == Some(End::Completed)) && !self.ended;
        match control {
            Control::Complete { .. } if may_complete => {
                self.ended = true;
                Vec::new()
            }
            _ => vec![Finding::new(ReasonCode::FlowViolation)],
        }
    }

    fn has_checkpoints(&self) -> bool {
        false
    }

    fn artifact_key(&self, _: &StepRecord) -> Arc<str> {
        TRACE_ARTIFACT.into()
    }

    /// An agent may report anything, so whoever can write the journal can replace one report by another.
    fn unchecked_at_start(&self) -> Vec<String> {
        vec![format!("{OPERATIONS}: read from the record")]
    }

    fn completeness(&self) -> Completeness {
        if self.ended { Completeness::Complete } else { Completeness::Incomplete }
    }
}
