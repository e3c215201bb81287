//! `hence checkpoint` and `hence rollback`: positions of any run, and the way back to them.

use std::path::Path;

use hence_engine::{Engine, Mark, Run, RunError, Sink};
use hence_journal::{RecordIndex, read_tail};
use hence_skills::SkillRunError;
use hence_store::{Condition, FileStore, RunId, Store, StoreError};
use hence_variables::{Call, Op, Rollback, TakeCheckpoint};

use super::show::find_record;
use crate::args::position::{CheckpointArgs, RollbackArgs, VariablesArgs};
use crate::interactive::Session;
use crate::prelude::*;
use crate::sink::{StoreBlobs, StoreSink};
use crate::target::{Journal, find_run};

/// A position that was named or returned to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PositionReport {
    /// The run's id.
    run: String,
    /// `checkpoint` or `rollback`.
    done: &'static str,
    /// The checkpoint.
    name: String,
    /// How the run stands now; nothing for a run of variables, whose states have each their own.
    status: Option<String>,
    /// The record that says so.
    record: u64,
    /// Where the journal ends.
    head: String,
}

impl Text for PositionReport {
    fn text(&self) -> String {
        let mut rows = vec![("done", format!("{} {}", self.done, escape(&self.name)))];
        rows.extend(self.status.clone().map(|status| ("status", status)));
        rows.push(("record", self.record.to_string()));
        rows.push(("head", self.head.clone()));
        pairs(&rows)
    }
}

pub(super) fn checkpoint(context: &Context, args: &CheckpointArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    if is_interactive(&journal)? {
        if args.at.is_some() {
            let message = "the variables of a state are named as they are now, without --at";
            return Err(CliError::new(Code::Checkpoint, message).with_hint(hint::LIST_VARIABLES_AT));
        }
        let (name, if_mutation_count) = (args.name.as_str().into(), args.variables.if_mutation_count);
        let op = Op::Checkpoint(TakeCheckpoint { name, description: None, if_mutation_count });
        return on_variables(context, &args.run, &args.variables, op, ("checkpoint", &args.name));
    }
    args.variables.refuse()?;
    let position = match &args.at {
        Some(step) => find_record(&journal, step)?,
        None => last_record(&journal)?,
    };
    let mark = Mark::Checkpoint { name: args.name.as_str().into(), position };
    on_run(context, &journal, &mark, ("checkpoint", &args.name))
}

pub(super) fn rollback(context: &Context, args: &RollbackArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    if is_interactive(&journal)? {
        let (to, if_mutation_count) = (args.name.as_str().into(), args.variables.if_mutation_count);
        let op = Op::Rollback(Rollback { to, if_mutation_count });
        return on_variables(context, &args.run, &args.variables, op, ("rollback", &args.name));
    }
    args.variables.refuse()?;
    let mark = Mark::Rollback { name: args.name.as_str().into() };
    on_run(context, &journal, &mark, ("rollback", &args.name))
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

fn is_interactive(journal: &Journal) -> Result<bool, CliError> {
    Ok(journal.parsed_problem()?.is_some_and(|problem| hence_engine::is_interactive(&problem.value)))
}

fn last_record(journal: &Journal) -> Result<RecordIndex, CliError> {
    let tail = read_tail(&journal.bytes).map_err(|error| {
        CliError::of_run(Code::BadRecord, &journal.name, error).with_hint(hint::verify(&journal.name))
    })?;
    Ok(RecordIndex::new(tail.head.records.get().saturating_sub(1)))
}

fn on_variables(
    context: &Context,
    run: &str,
    args: &VariablesArgs,
    op: Op,
    (done, name): (&'static str, &str),
) -> Result<Exit, CliError> {
    let mut session = Session::open(context, run, Path::new("."))?;
    let state = session.state(args.state)?;
    session.call(&Call::On { state, op })?;
    let head = session.loaded()?.head();
    context.print(&PositionReport {
        run: session.id.as_str().to_owned(),
        done,
        name: name.to_owned(),
        status: None,
        record: head.records.get().saturating_sub(1),
        head: head.to_string(),
    })?;
    Ok(Exit::Yes)
}

/// Records a mark in a run that has a program of its own. The record is judged before the run is opened for writing.
fn on_run(
    context: &Context,
    journal: &Journal,
    mark: &Mark,
    (done, name): (&'static str, &str),
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let id = find_run(&store, &journal.name)?;
    if let Condition::Damaged(reason) = store.summary(&id)?.condition {
        return Err(StoreError::Damaged { run: id, reason }.into());
    }
    // A mark that is refused leaves every byte as it was, a torn tail included.
    let mut trial = hence_engine::MemorySink::default();
    recorded(&store, &id, journal, mark, &mut trial)?;
    let opened = store.open(&id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    let mut writer = opened.writer;
    if let Mark::Rollback { .. } = mark {
        crate::skills::roll_back(&store, &id, &mut *writer)?;
    }
    let mut sink = StoreSink::new(&store, writer);
    let (status, record) = recorded(&store, &id, journal, mark, &mut sink)?;
    context.print(&PositionReport {
        run: id.as_str().to_owned(),
        done,
        name: name.to_owned(),
        status: Some(status),
        record: record.get(),
        head: sink.head.to_string(),
    })?;
    Ok(Exit::Yes)
}

/// Reads the run back, records the mark in `sink`, and returns how the run stands.
fn recorded(
    store: &FileStore,
    id: &RunId,
    journal: &Journal,
    mark: &Mark,
    sink: &mut dyn Sink,
) -> Result<(String, RecordIndex), CliError> {
    let bytes = store.journal_bytes(id)?;
    let (whole, blobs) = (crate::skills::whole_records(&bytes), StoreBlobs(store));
    if let Some(kept) = crate::skills::Kept::of(journal)? {
        let run = kept.read_back(whole, &blobs);
        let run = run.map_err(|error| CliError::resume_skill(id.as_str(), error))?;
        let (run, index) = run.mark(mark, sink).map_err(|error| match error {
            SkillRunError::Book(error) => refused(id, error.into()),
            other => CliError::from_error(Code::Stopped, other),
        })?;
        return Ok((run.state().status().to_string(), index));
    }
    let problem = journal.required_problem()?;
    let resume = |error| CliError::resume(id.as_str(), error);
    let plan = Engine::new().plan_of_journal(whole, &problem).map_err(resume)?;
    let run = Run::reopen(plan, whole, &blobs).map_err(resume)?;
    let (run, index) = run.mark(mark, sink).map_err(|error| refused(id, error))?;
    Ok((run.state().status().to_string(), index))
}

fn refused(id: &RunId, error: RunError) -> CliError {
    use hence_engine::BookError;
    use hence_journal::FoldError;
    match error {
        RunError::Book(BookError::NoCheckpoints) => {
            CliError::of_run(Code::Checkpoint, id, error).with_hint(hint::RUN_AGAIN_STRICT)
        }
        RunError::Book(BookError::Fold { source: FoldError::Checkpoint(source), .. }) => {
            CliError::of_run(Code::Checkpoint, id, source).with_hint(hint::records(id.as_str()))
        }
        other => other.into(),
    }
}
