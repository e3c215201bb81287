//! `hence checkpoint` and `hence rollback`: named positions of a run, and the return to them.

use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{Mark, Program, Run, RunError, Sink};
use hence_journal::{RecordIndex, read_tail};
use hence_skills::{CallStatus, RecordKind, effective_records};
use hence_state::{Status, StepResult};
use hence_store::{Condition, RunId, RunView as _, StoreError, StoreHandle};

use super::runs::row;
use super::show::find_record;
use crate::address::Address;
use crate::args::position::{CheckpointArgs, RollbackArgs, VariablesArgs};
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::run_view::RunRowView;
use crate::sink::{StoreBlobs, StoreSink};
use crate::skills::{ActingCalls, Again};
use crate::target::{Journal, find_run};

/// A position that was named or returned to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PositionReport {
    /// The run's id.
    pub(crate) run: String,
    /// `checkpoint` or `rollback`.
    pub(crate) done: &'static str,
    /// The checkpoint.
    pub(crate) name: String,
    /// The record whose state the checkpoint names; null for a run of variables, in which each state counts its own
    /// mutations.
    pub(crate) position: Option<u64>,
    /// The status of the run, as `hence runs` lists it; null for a run of variables, in which each state has a status of
    /// its own.
    pub(crate) status: Option<String>,
    /// The record of the checkpoint or rollback.
    pub(crate) record: u64,
    /// The head of the journal.
    pub(crate) head: String,
}

impl Text for PositionReport {
    fn text(&self) -> String {
        let mut rows = vec![("done", format!("{} {}", self.done, escape(&self.name)))];
        rows.extend(self.status.clone().map(|status| ("status", status)));
        rows.extend(self.position.map(|position| ("position", format!("after record {position}"))));
        rows.push(("record", self.record.to_string()));
        rows.push(("head", self.head.clone()));
        pairs(&rows)
    }
}

pub(super) fn checkpoint(context: &Context, args: &CheckpointArgs) -> Result<Exit, CliError> {
    let address = Address::find(context, &args.run)?;
    let at = address.at_or(args.at.as_deref())?.map(str::to_owned);
    let args = &CheckpointArgs { run: address.run.as_str().into(), at, ..args.clone() };
    let journal = Journal::of_run(context, &args.run)?;
    kind::open(&journal, &[], Purpose::Read)?.checkpoint(context, &journal, args)
}

pub(super) fn rollback(context: &Context, args: &RollbackArgs) -> Result<Exit, CliError> {
    if args.name.is_empty() {
        return Err(no_checkpoint(&Address::find(context, &args.run)?));
    }
    let journal = Journal::of_run(context, &args.run)?;
    kind::open(&journal, &[], Purpose::Read)?.roll_back(context, &journal, args)
}

/// Describes a rollback that names no checkpoint: a place in the run, or nothing.
fn no_checkpoint(address: &Address) -> CliError {
    let found = match &address.at {
        Some(at) => format!(", found the place {at:?}"),
        None => String::new(),
    };
    let message = format!("run {}: expected the name of a checkpoint{found}", address.run);
    CliError::new(Code::Checkpoint, message)
        .with_hint(hint::name_checkpoint(&address.run, address.at.as_deref()))
}

/// Records a checkpoint of a program.
pub(crate) fn checkpoint_run<P: Program>(
    context: &Context,
    journal: &Journal,
    args: &CheckpointArgs,
    program: impl Fn() -> Result<P, CliError>,
) -> Result<Exit, CliError> {
    args.variables.refuse()?;
    let position = match &args.at {
        Some(step) => find_record(journal, step)?,
        None => last_record(journal)?,
    };
    let mark = Mark::Checkpoint { name: args.name.as_str().into(), position };
    mark_run(context, journal, program, &mark, ("checkpoint", &args.name))
}

/// Records a rollback of a program.
pub(crate) fn roll_back_run<P: Program>(
    context: &Context,
    journal: &Journal,
    args: &RollbackArgs,
    program: impl Fn() -> Result<P, CliError>,
    acting: impl Fn(&StepResult) -> Vec<ActingCalls>,
) -> Result<Exit, CliError> {
    args.variables.refuse()?;
    let mark = Mark::Rollback { name: args.name.as_str().into() };
    let undone = undone(context, journal, &mark, program()?)?;
    require_recorded_calls(context, journal)?;
    Again {
        run: &journal.name,
        what: "these calls act, and a run that is resumed after the rollback makes them again under the same \
               idempotency keys",
        calls: undone.iter().flat_map(acting).collect(),
        advice: hint::repeat_after_rollback(&journal.name),
    }
    .confirm(context, args.yes)?;
    let answered = unrecorded_answers(context, journal)?;
    let exit = mark_run(context, journal, program, &mark, ("rollback", &args.name))?;
    for (step, by) in answered {
        context.say(format_args!(
            "the answer of {by} to step {step} was not recorded yet and is dropped: the run asks again"
        ));
    }
    Ok(exit)
}

/// Returns the answers of people that no record has yet: the step, and who answered.
fn unrecorded_answers(context: &Context, journal: &Journal) -> Result<Vec<(String, String)>, CliError> {
    let store = context.store()?;
    let id = find_run(&store, &journal.name)?;
    let history = crate::skills::history(&store, &id)?.unwrap_or_default();
    let answered = history.calls().filter_map(|(call, status)| match status {
        CallStatus::Replied(Ok(reply)) => {
            let by = reply.output.get("by").and_then(Value::as_str)?;
            Some((escape(&call.step), escape(by)))
        }
        _ => None,
    });
    Ok(answered.collect())
}

/// Refuses a rollback of a step in progress whose calls have acted. A step becomes a record as a whole: rolled back before
/// that, its effects would be in no record, and would happen again.
fn require_recorded_calls(context: &Context, journal: &Journal) -> Result<(), CliError> {
    let store = context.store()?;
    let id = find_run(&store, &journal.name)?;
    let history = crate::skills::history(&store, &id)?.unwrap_or_default();
    let executed: Vec<String> = history
        .executed()
        .map(|call| format!("step {} called {}: {}", call.step, call.capability, call.key))
        .collect();
    if executed.is_empty() {
        return Ok(());
    }
    let message =
        "calls that act were made by a step that is not recorded yet, and a rollback would lose them";
    Err(CliError::of_run(Code::Checkpoint, &journal.name, message)
        .with_findings(executed)
        .with_hint(hint::record_calls_first(context, &journal.name)))
}

/// Returns the results in effect that a rollback undoes. It is tried in memory.
fn undone<P: Program>(
    context: &Context,
    journal: &Journal,
    mark: &Mark,
    program: P,
) -> Result<Vec<StepResult>, CliError> {
    let store = context.store()?;
    let id = find_run(&store, &journal.name)?;
    let mut trial = hence_engine::MemorySink::default();
    append_mark(context, (&store, &id), program, mark, &mut trial)?;
    let unread = |error| CliError::at(Code::BadRecord, &journal.name, error);
    let before = effective_records(kind::whole_records(&journal.bytes)).map_err(unread)?;
    let whole = [kind::whole_records(&journal.bytes), &trial.journal].concat();
    let after = effective_records(&whole).map_err(unread)?;
    let is_undone = |index: RecordIndex| !after.iter().any(|one| one.index == index);
    let before = before.into_iter().filter(|one| one.kind == RecordKind::Step && is_undone(one.index));
    Ok(before.map(|one| one.result).collect())
}

impl VariablesArgs {
    fn refuse(&self) -> Result<(), CliError> {
        if self.is_empty() {
            return Ok(());
        }
        let message = "--state and --if-mutation-count are for runs of variables, and this is none";
        Err(CliError::new(Code::Checkpoint, message).with_hint(hint::LEAVE_THEM_OUT))
    }
}

fn last_record(journal: &Journal) -> Result<RecordIndex, CliError> {
    let tail = read_tail(&journal.bytes).map_err(|error| {
        CliError::of_run(Code::BadRecord, &journal.name, error).with_hint(hint::verify(&journal.name))
    })?;
    Ok(RecordIndex::new(tail.head.records.get().saturating_sub(1)))
}

/// Records a mark. The mark is tried in memory before the run is opened for writing.
fn mark_run<P: Program>(
    context: &Context,
    journal: &Journal,
    program: impl Fn() -> Result<P, CliError>,
    mark: &Mark,
    (done, name): (&'static str, &str),
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let id = find_run(&store, &journal.name)?;
    if let Condition::Damaged(reason) = store.summary(&id)?.condition {
        return Err(StoreError::Damaged { run: id, reason }.into());
    }
    // A refused mark changes no byte, not even an unfinished append.
    let mut trial = hence_engine::MemorySink::default();
    append_mark(context, (&store, &id), program()?, mark, &mut trial)?;
    let opened = store.open(&id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    let mut writer = opened.writer;
    if let Mark::Rollback { .. } = mark {
        crate::skills::roll_back(&store, &id, &mut *writer)?;
    }
    let (mut sink, times) = StoreSink::measured(&store, writer);
    let marked = append_mark(context, (&store, &id), program()?, mark, &mut sink)?;
    times.finish();
    let head = sink.head.to_string();
    // The run is not held any more, so its status is the one that every other command finds.
    drop(sink);
    let summary = store.summary(&id)?;
    let view = RunRowView::compute(&store, &summary);
    let status = row(context, &store, &summary, view).status;
    context.print(&PositionReport {
        run: id.as_str().to_owned(),
        done,
        name: name.to_owned(),
        position: marked.position.map(RecordIndex::get),
        status: Some(status),
        record: marked.record.get(),
        head,
    })?;
    if let Some(end) = [Status::Completed, Status::Failed].into_iter().find(|end| marked.status == *end) {
        context.hint(hint::checkpoint_after_the_end(context, id.as_str(), end));
    }
    Ok(Exit::Yes)
}

/// A mark that was appended.
struct Marked {
    /// The status in the state after it.
    status: Status,
    /// The record whose state the mark names.
    position: Option<RecordIndex>,
    /// The record of the mark.
    record: RecordIndex,
}

/// Reads the run back and appends the mark to `sink`.
fn append_mark<P: Program>(
    context: &Context,
    (store, id): (&StoreHandle, &RunId),
    program: P,
    mark: &Mark,
    sink: &mut dyn Sink,
) -> Result<Marked, CliError> {
    let bytes = store.journal_bytes(id)?;
    let run = Run::resume(program, kind::whole_records(&bytes), &StoreBlobs(store))
        .map_err(|error| CliError::resume(id.as_str(), error))?;
    let undone = first_undone(&run, mark, kind::whole_records(&bytes));
    let position = match mark {
        Mark::Checkpoint { position, .. } => Some(*position),
        Mark::Rollback { name } => run.book().checkpoints().find(name).ok(),
    };
    let (run, record) =
        run.mark(mark, sink).map_err(|error| refused(context, id, error, undone.as_deref()))?;
    Ok(Marked { status: run.state().status(), position, record })
}

/// Returns the first step that a rollback would undo.
fn first_undone<P: Program>(run: &Run<'_, P>, mark: &Mark, journal: &[u8]) -> Option<Arc<str>> {
    let Mark::Rollback { name } = mark else { return None };
    let to = run.book().checkpoints().find(name).ok()?;
    let mut effective = effective_records(journal).ok()?.into_iter();
    // Records of policies and verdicts are no steps that a fork can begin at.
    let is_own = |one: &str| !one.starts_with('$');
    let first =
        effective.find(|one| one.kind == RecordKind::Step && one.index > to && is_own(one.result.step()))?;
    Some(first.result.step().clone())
}

fn refused(context: &Context, id: &RunId, error: RunError, first_undone: Option<&str>) -> CliError {
    use hence_engine::BookError;
    use hence_journal::FoldError;
    match error {
        RunError::Book(BookError::Fold { source: FoldError::Ended(status), .. }) => {
            let message = format!("it is {status}, and that is final: only a run in progress is rolled back");
            CliError::of_run(Code::Checkpoint, id, message).with_hint(hint::after_the_end(
                context,
                id.as_str(),
                status,
                first_undone,
            ))
        }
        RunError::Book(BookError::NoCheckpoints) => {
            CliError::of_run(Code::Checkpoint, id, error).with_hint(hint::RUN_AGAIN_STRICT)
        }
        RunError::Book(BookError::Fold { source: FoldError::Checkpoint(source), .. }) => {
            CliError::of_run(Code::Checkpoint, id, source).with_hint(hint::records(id.as_str()))
        }
        other => other.into(),
    }
}
