//! The kinds of runs, and the trait that the program of each kind implements.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_journal::{Control, Lines, RecordIndex, Sealed, StepRecord};
use hence_state::{Status, StepResult};

use crate::blob::{BlobError, Blobs};
use crate::book::{Book, BookError};
use crate::gate::Role;
use crate::run::{Driven, Run, RunError};
use crate::sink::Sink;
use crate::variables::{STEP_PREFIX, VARIABLES_SKILL};

/// The kind of a run. The problem pins it, so the header of the journal binds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    /// The built-in pipeline, or another routing policy of an engine.
    Reason,
    /// A skill that the problem pins by the digest of its document.
    Skill,
    /// Operations on variables, which somebody asks for one by one.
    Variables,
    /// The recursive loop: a model writes blocks of code over a long input.
    Solve,
    /// A trace that an agent of its own reports, operation by operation.
    Trace,
}

/// The skill that a problem pins for a run of the recursive loop.
pub const SOLVE_SKILL: &str = "solve";

/// The only version of [`SOLVE_SKILL`].
pub const SOLVE_SKILL_VERSION: &str = "1.0.0";

/// The prefix of the name of every step of such a run.
pub const SOLVE_STEP_PREFIX: &str = "solve.";

/// The skill that a problem pins for a run in which an agent reports its work.
pub const TRACE_SKILL: &str = "trace";

/// The only version of [`TRACE_SKILL`].
pub const TRACE_SKILL_VERSION: &str = "1.0.0";

/// The prefix of the name of every step of such a run.
pub const TRACE_STEP_PREFIX: &str = "trace.";

/// The artifact of every operation of such a run.
pub const TRACE_ARTIFACT: &str = "trace";

impl RunKind {
    /// Returns the kind of run that a problem document pins.
    pub fn of(problem: &Value) -> Self {
        let pin = problem.get("settings").and_then(|settings| settings.get("skill"));
        let text = |key: &str| pin.and_then(|pin| pin.get(key)?.as_str());
        match text("id") {
            Some(VARIABLES_SKILL) => Self::Variables,
            // A skill that a person wrote is pinned by its digest, whatever its id is.
            Some(SOLVE_SKILL) if text("sha256").is_none() => Self::Solve,
            Some(TRACE_SKILL) if text("sha256").is_none() => Self::Trace,
            Some(_) if text("version").is_some() && text("sha256").is_some() => Self::Skill,
            _ => Self::Reason,
        }
    }

    /// Guesses the kind from the first step of a journal, for verifiers that have no problem.
    pub fn of_journal(journal: &[u8]) -> Self {
        let first = Lines::of(journal).get(RecordIndex::HEADER.next());
        let first = first.and_then(|line| hence_canon::parse(line).ok());
        let step = first.as_ref().and_then(|record| record.get("result")?.get("step")?.as_str());
        match step {
            Some(step) if step.starts_with(STEP_PREFIX) => Self::Variables,
            Some(step) if step.starts_with(SOLVE_STEP_PREFIX) => Self::Solve,
            Some(step) if step.starts_with(TRACE_STEP_PREFIX) => Self::Trace,
            _ => Self::Reason,
        }
    }

    /// Returns whether somebody outside asks for each step, so that nothing of the run is left to resume.
    pub fn is_driven_from_outside(self) -> bool {
        matches!(self, Self::Variables | Self::Trace)
    }

    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reason => "reason",
            Self::Skill => "skill",
            Self::Variables => "variables",
            Self::Solve => "solve",
            Self::Trace => "trace",
        }
    }
}

/// The rules that decide which record may come next in a run, and what each record changes.
///
/// A program is a state machine at one position of a run. [`Run`] moves it together with the book of the run, and
/// gives every program the same resume, replay, checkpoints, rollbacks and policies.
pub trait Program: Clone {
    /// The position that a rollback restores.
    type Snapshot;

    /// The result of a step that a replay reads from the journal because executing it again may give another one.
    type Recorded;

    /// Opens the book of a new run and returns its header.
    ///
    /// # Errors
    /// [`RunError`] when the run cannot begin.
    fn open<'g>(&self) -> Result<(Book<'g>, Sealed), RunError>;

    /// Applies a recorded step to the program and the book, as it was applied when it was appended.
    ///
    /// # Errors
    /// [`RecordMismatch`] when the step may not come here.
    fn apply_step(&mut self, book: &mut Book<'_>, step: &RecordedStep<'_>) -> Result<(), RecordMismatch>;

    /// Applies a recorded control record. The run itself applies completion, checkpoints and rollbacks to the book.
    ///
    /// # Errors
    /// [`RecordMismatch`] when it may not come here.
    fn apply_control(
        &mut self,
        book: &mut Book<'_>,
        control: &Control,
        blobs: &dyn Blobs,
    ) -> Result<(), RecordMismatch>;

    /// Returns whether runs of this program have checkpoints and rollbacks in control records.
    fn has_checkpoints() -> bool {
        true
    }

    /// Returns the present position.
    fn snapshot(&self) -> Self::Snapshot;

    /// Returns to an earlier position.
    fn restore(&mut self, snapshot: &Self::Snapshot);

    /// Returns whether nothing is left to append.
    fn has_ended(&self, book: &Book<'_>) -> bool {
        matches!(book.state().status(), Status::Completed | Status::Failed)
    }

    /// Makes record `next` use the result of the blocked step, so that newly installed policies judge it again. The step
    /// is not executed again.
    fn offer_again(&mut self, next: RecordIndex);

    /// Returns the result that a replay reads instead of executing the step; `None` when the replay executes it again.
    ///
    /// # Errors
    /// [`RecordMismatch`] when the result is not one of this program.
    fn recorded(
        &self,
        result: &StepResult,
        blobs: &dyn Blobs,
    ) -> Result<Option<Self::Recorded>, RecordMismatch>;

    /// Describes what a replay takes over from a result that it reads, without being able to compute it.
    fn believed(&self, _recorded: &Self::Recorded) -> Vec<String> {
        Vec::new()
    }

    /// Drives a replay until the run ends, is blocked, lacks a recorded result, or is about to append record `until`.
    ///
    /// # Errors
    /// [`RunError`].
    fn replay<'g>(
        run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, Self::Recorded>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError>;
}

/// A step record that is applied again.
pub struct RecordedStep<'a> {
    /// The index of the record.
    pub index: RecordIndex,
    /// The role of its result in a run with policies.
    pub role: Role,
    /// The record.
    pub record: &'a StepRecord,
    /// The store of large values.
    pub blobs: &'a dyn Blobs,
}

/// A record that does not follow from the program.
#[derive(Debug)]
pub enum RecordMismatch {
    /// The record may not come here.
    Flow(String),
    /// A large value is missing or damaged.
    Blob(BlobError),
}

impl RecordMismatch {
    /// Makes a mismatch of a reason.
    pub fn flow(reason: impl ToString) -> Self {
        Self::Flow(reason.to_string())
    }
}

impl From<BlobError> for RecordMismatch {
    fn from(error: BlobError) -> Self {
        Self::Blob(error)
    }
}

impl From<BookError> for RecordMismatch {
    fn from(error: BookError) -> Self {
        match error {
            BookError::Fold { source, .. } => Self::flow(source),
            BookError::PolicyOrder { source, .. } => Self::flow(source),
            other => Self::flow(other),
        }
    }
}
