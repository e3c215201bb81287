//! Appends an operation to the run of a trace, if the trace stays valid.

use std::sync::Arc;

use hence_canon::time::Instant;
use hence_canon::{Canonical, Digest, Lenient, Value, canonical_bytes};
use hence_engine::{Blobs, Run, Sink, SinkError, without_defects};
use hence_journal::{Head, Sealed};
use hence_projection::{
    Authored, AuthoredRun, Program, RecordedRun, append_end, append_operation, trace_of_run,
};
use hence_review::authoring::{Change, Draft, Operation};
use hence_review::model::ActionId;
use hence_review::secret::{Redactions, redact_value};
use hence_review::validate::{Finding, validate_canonical};
use hence_review::vocabulary::ResidualStatus;
use hence_state::{ProblemSpec, Profile};
use hence_store::{Durability, NewRun, RunId, RunWriter, StoreHandle};

use super::AuthoredReport;
use crate::args::AuthoredRef;
use crate::clock::SystemClock;
use crate::interactive::{CallerTime, lease_of};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::target::{Journal, find_run, problem_name};
use crate::time_log::TimeLog;

/// The records of an operation, held back until the trace with them is known to be valid.
struct Staged<'a> {
    records: Vec<Sealed>,
    store: &'a StoreHandle,
}

impl Sink for Staged<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.records.push(record.clone());
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        // A blob that no record refers to is harmless.
        self.store.put_blob(value.bytes(), Durability::Synced)?;
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for Staged<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        StoreBlobs(self.store).get(digest)
    }
}

impl Staged<'_> {
    fn lines(&self) -> Vec<u8> {
        self.records.iter().flat_map(|record| record.line().iter().copied()).collect()
    }
}

/// An operation that is durable.
pub(super) struct Recorded {
    id: RunId,
    done: &'static str,
    draft: Draft,
    warnings: Vec<String>,
    head: Head,
}

impl Recorded {
    /// Returns the trace after the operation.
    pub(super) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Prints the operation with the action and the ids it is about.
    pub(super) fn report(
        self,
        context: &Context,
        action: Option<ActionId>,
        ids: Vec<String>,
    ) -> Result<Exit, CliError> {
        let is_open =
            |status: Option<ResidualStatus>| status.unwrap_or(ResidualStatus::Open) == ResidualStatus::Open;
        context.print(&AuthoredReport {
            run: self.id.as_str().to_owned(),
            done: self.done,
            action: action.map(|action| action.0),
            ids,
            actions: self.draft.actions().len() + 1,
            gaps_open: self.draft.residuals().iter().filter(|residual| is_open(residual.status)).count(),
            warnings: self.warnings,
            head: self.head.to_string(),
        })?;
        Ok(Exit::Yes)
    }
}

/// Creates the run of a trace with its first operation: a run without an agent never exists.
pub(super) fn create(
    context: &Context,
    problem: &Value,
    change: Change,
    at: Instant,
) -> Result<Recorded, CliError> {
    let store = context.store_or_new()?;
    let (run, header) = Run::start(Authored::new(decoded(problem)?))?;
    let id = RunId::new(run.program().problem().id())
        .map_err(|error| CliError::from_error(Code::Argument, error).with_hint(hint::OTHER_ID))?;
    let mut staged = Staged { records: vec![header], store: &store };
    let document = without_defects(problem.clone());
    let (recorded, _) = stage(context, &id, run, (change, at), &document, Vec::new(), &mut staged)?;
    let lines = staged.lines();
    let attachments = vec![(problem_name(), canonical_bytes(problem))];
    let new = NewRun { id, attachments, lines: lines.clone() };
    let mut writer = store.create(new).map_err(|error| match CliError::from(error) {
        taken if taken.code == Code::Conflict => taken.with_hint(hint::OTHER_ID_FOR_RUN),
        other => other,
    })?;
    TimeLog::open(&mut *writer, SystemClock::started()).created_whole(&lines);
    Ok(recorded)
}

/// Appends the operation that `make` makes of the trace so far.
pub(super) fn append(
    context: &Context,
    target: &AuthoredRef,
    make: impl FnOnce(&Draft, Instant) -> Result<Change, CliError>,
) -> Result<Recorded, CliError> {
    let store = context.store()?;
    let id = find_run(&store, &target.run)?;
    let time = CallerTime::of(target.now.as_deref())?;
    let (document, run, journal, mut writer) = open(context, &store, &id)?;
    let at = time.not_before(context, run.program().draft().last_time())?;
    let change = make(run.program().draft(), at)?;
    let mut staged = Staged { records: Vec::new(), store: &store };
    let (recorded, run) = stage(context, &id, run, (change, at), &document, journal, &mut staged)?;
    store_lines(&mut *writer, &staged)?;
    debug_assert_eq!(run.head(), writer.head());
    Ok(recorded)
}

/// Appends the end that a process which died after the last operation left out. Returns whether the run has ended.
pub(crate) fn append_missing_end(
    context: &Context,
    store: &StoreHandle,
    id: &RunId,
) -> Result<bool, CliError> {
    let (_, mut run, _, mut writer) = open(context, store, id)?;
    let mut staged = Staged { records: Vec::new(), store };
    let has_ended = append_end(&mut run, &mut staged)?;
    if !staged.records.is_empty() {
        store_lines(&mut *writer, &staged)?;
    }
    Ok(has_ended)
}

type Opened = (Lenient, AuthoredRun, Vec<u8>, Box<dyn RunWriter>);

/// Takes the lease of a run and reads it.
fn open(context: &Context, store: &StoreHandle, id: &RunId) -> Result<Opened, CliError> {
    let start = Journal::start_of_run(store, id)?;
    if start.kind != hence_engine::RunKind::Trace {
        let message = format!(
            "run {id} is not a trace that an agent reports: it is a run of the kind `{}`",
            start.kind.as_str()
        );
        return Err(CliError::new(Code::TraceRefused, message).with_hint(hint::BEGIN_A_TRACE));
    }
    let document = start.required_problem()?.clone();
    let program = Authored::new(decoded(&document.value)?);
    let writer = lease_of(context, store, id)?;
    let journal = store.journal_bytes(id)?;
    let run = Run::resume(program, &journal, &StoreBlobs(store))
        .map_err(|error| CliError::resume(id.as_str(), error))?;
    Ok((document, run, journal, writer))
}

/// Appends an operation to the staged records, and validates the trace with them.
fn stage(
    context: &Context,
    id: &RunId,
    mut run: AuthoredRun,
    (change, at): (Change, Instant),
    document: &Lenient,
    mut journal: Vec<u8>,
    staged: &mut Staged<'_>,
) -> Result<(Recorded, AuthoredRun), CliError> {
    let done = change.kind().as_str();
    let operation = without_secrets(context, &Operation { at, change })?;
    append_operation(&mut run, &operation, staged)?
        .map_err(|refusal| refused(id, done).with_findings([refusal]))?;
    append_end(&mut run, staged)?;
    journal.extend_from_slice(&staged.lines());
    let recorded =
        RecordedRun { journal: &journal, problem: document, blobs: &*staged, links: &[], calls: None };
    let trace = trace_of_run(Program::Trace, &recorded)
        .map_err(|error| CliError::of_run(Code::Diverged, id, error).with_hint(hint::verify(id.as_str())))?;
    let report = validate_canonical(&trace);
    if !report.is_valid() {
        return Err(refused(id, done).with_findings(report.errors()));
    }
    let warning = |found: &Finding| format!("{} at `{}`: {}", found.rule, found.pointer, found.message);
    let warnings = report.warnings().map(warning).collect();
    let draft = run.program().draft().clone();
    Ok((Recorded { id: id.clone(), done, draft, warnings, head: run.head() }, run))
}

fn refused(id: &RunId, done: &str) -> CliError {
    CliError::new(Code::TraceRefused, format!("run {id}: the operation {done} is refused"))
}

/// Returns the operation without texts that look like secrets, and says so.
fn without_secrets(context: &Context, operation: &Operation) -> Result<Operation, CliError> {
    let mut removed = Redactions::default();
    let clean = redact_value(&operation.to_value(), &mut removed);
    if removed.is_empty() {
        return Ok(operation.clone());
    }
    context
        .say(format_args!("what looks like a secret is not recorded: {}", Value::from(removed.to_object())));
    Operation::from_value(&clean).map_err(|error| CliError::from_error(Code::TraceRefused, error))
}

/// Appends the staged records as one unit: after a crash either all of them are stored or none.
fn store_lines(writer: &mut dyn RunWriter, staged: &Staged<'_>) -> Result<(), CliError> {
    let times = TimeLog::open(writer, SystemClock::started());
    let head = writer.head();
    writer.append(head, &staged.lines(), Durability::Synced)?;
    for record in &staged.records {
        times.recorded(record);
    }
    Ok(())
}

fn decoded(problem: &Value) -> Result<Arc<ProblemSpec>, CliError> {
    ProblemSpec::decode(problem, &Profile::STRICT)
        .map(Arc::new)
        .map_err(|findings| CliError::refused("the new run", &findings))
}
