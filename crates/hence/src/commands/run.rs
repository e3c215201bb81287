//! `hence run`: a problem in, an answer and its record out.

mod report;

use std::path::Path;

use hence_engine::{Engine, Event, Finished, Request, Resumed, Run};
use hence_state::{Profile, Status};
use hence_store::{Condition, Cut, FileStore, NewRun, RunId, RunWriter, Store, StoreError};

use crate::args::RunArgs;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::sink::StoreSink;
use crate::{hint, input, target};

pub(crate) use report::RunReport;

/// A run that came to its end, and how.
pub(super) struct Ended {
    finished: Finished,
    beginning: Beginning,
}

/// Where a run was begun.
enum Beginning {
    /// By this command.
    Here,
    /// Before; this is what had to be cut from its journal.
    Before(Option<Cut>),
}

pub(super) fn run(context: &Context, args: &RunArgs) -> Result<Exit, CliError> {
    let bytes = input::read_document(&args.problem)?;
    if crate::skills::is_skill(&args.problem, &bytes) {
        return crate::skills::run(context, args, &bytes);
    }
    crate::skills::refuse_options(args)?;
    let profile = Profile::named(args.profile);
    let document = input::parse_problem(&args.problem, &bytes, &profile)?;
    let mut request = Request::new(document, profile);
    request.trace_id.clone_from(&args.trace_id);
    request.now.clone_from(&args.now);
    request.engine_version.clone_from(&args.engine_version);
    let plan = Engine::new()
        .plan(&request)
        .map_err(|findings| CliError::refused(input::shown_name(&args.problem), &findings))?;
    let id = run_id(plan.trace_id())?;
    let store = context.store_or_new()?;
    let (run, header) = Run::start(plan.clone())?;
    let new = NewRun {
        id: id.clone(),
        attachments: vec![(target::problem_name(), bytes)],
        lines: header.line().to_vec(),
    };
    let ended = match store.create(new) {
        Ok(writer) => Ended { finished: finish(context, &store, run, writer)?, beginning: Beginning::Here },
        // The same problem under the same id is the same run: it is taken up, never executed twice.
        Err(StoreError::AlreadyCreated { .. }) => take_up(context, &store, plan, &id)?,
        // So it is when the problem is only spelled otherwise: the header names what it says.
        Err(StoreError::RunConflict { .. }) if begins_with(&store, &id, header.line()) => {
            take_up(context, &store, plan, &id)?
        }
        Err(error) => return Err(error.into()),
    };
    report(context, &store, &id, &ended, args.journal.as_deref())
}

/// Tells whether a stored run begins with a header.
fn begins_with(store: &FileStore, id: &RunId, header: &[u8]) -> bool {
    store.journal_bytes(id).is_ok_and(|journal| journal.starts_with(header))
}

fn run_id(trace_id: &str) -> Result<RunId, CliError> {
    RunId::new(trace_id).map_err(|error| {
        CliError::new(crate::code::Code::Refused, error.to_string())
            .advise("choose another id with --trace-id")
    })
}

/// Runs to the end, each record durable before the next.
fn finish(
    context: &Context,
    store: &FileStore,
    run: Run,
    writer: Box<dyn RunWriter>,
) -> Result<Finished, CliError> {
    let id = writer.run().as_str().to_owned();
    let mut sink = StoreSink::new(store, writer);
    let watched = context.is_watched();
    let finished = run.finish(&mut sink, |event| {
        if watched {
            context.say(line(event));
        }
    });
    finished
        .map_err(|error| CliError::from(error).advise(format!("mend the cause, then {}", hint::resume(&id))))
}

/// Takes a run up where its record ends.
///
/// The record is judged before the run is opened for writing, so that a run that is refused keeps every byte, a torn
/// tail included; a run that has ended needs no writer at all.
pub(super) fn take_up(
    context: &Context,
    store: &FileStore,
    plan: hence_engine::Plan,
    id: &RunId,
) -> Result<Ended, CliError> {
    // Nobody may append behind something that is no record, whatever comes before it.
    if let Condition::Damaged(reason) = store.summary(id)?.condition {
        return Err(StoreError::Damaged { run: id.clone(), reason }.into());
    }
    let (going, torn) = read_back(store, plan.clone(), id)?;
    if let (Resumed::Ended(finished), 0) = (&going, torn) {
        context.say(format_args!("run {id} had ended already; nothing was run again"));
        return Ok(Ended { finished: finished.clone(), beginning: Beginning::Before(None) });
    }
    let opened = store.open(id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    // Somebody may have written between the reading and the opening; from here on nobody else does.
    let going = if head_of(&going) == opened.writer.head() { going } else { read_back(store, plan, id)?.0 };
    let finished = match going {
        Resumed::Ended(finished) => finished,
        Resumed::Going(run) => finish(context, store, *run, opened.writer)?,
    };
    Ok(Ended { finished, beginning: Beginning::Before(opened.cut) })
}

/// Reads a run back from its whole records, and says how many torn bytes lie behind them.
fn read_back(store: &FileStore, plan: hence_engine::Plan, id: &RunId) -> Result<(Resumed, usize), CliError> {
    let mut journal = store.journal_bytes(id)?;
    let torn = hence_journal::read_tail(&journal).map_or(0, |tail| tail.torn_bytes);
    journal.truncate(journal.len().saturating_sub(torn));
    let blobs = crate::sink::StoreBlobs(store);
    let resumed =
        Run::resume(plan, &journal, &blobs).map_err(|error| CliError::resume(id.as_str(), error))?;
    Ok((resumed, torn))
}

fn head_of(resumed: &Resumed) -> hence_journal::Head {
    match resumed {
        Resumed::Going(run) => run.head(),
        Resumed::Ended(finished) => finished.head,
    }
}

/// Describes a record in a line, as it is kept.
fn line(event: &Event) -> String {
    match event {
        Event::Step { index, step, status } => {
            format!("{:>5}  {}  {}", index.get(), escape(step), status.as_str())
        }
        Event::Decision { index, action, iteration } => {
            format!("{:>5}  loop iteration {iteration}: {}", index.get(), action.as_str())
        }
        Event::Blocked(blocked) => format!("{:>5}  {}  blocked", blocked.index.get(), escape(&blocked.step)),
        Event::Policies { index, .. } => format!("{:>5}  policies", index.get()),
        Event::Completed { index } => match index {
            Some(index) => format!("{:>5}  completed", index.get()),
            None => "       completed".to_owned(),
        },
    }
}

/// Prints what became of a run; a failed run is a finding.
pub(super) fn report(
    context: &Context,
    store: &FileStore,
    id: &RunId,
    ended: &Ended,
    copy: Option<&str>,
) -> Result<Exit, CliError> {
    let report = report::describe(store, id, ended)?;
    match copy {
        None => context.print(&report)?,
        Some("-") => {
            context.write(&store.journal_bytes(id)?)?;
            context.print_aside(&report);
        }
        Some(path) => {
            context.print(&report)?;
            let written = std::fs::write(path, store.journal_bytes(id)?);
            if let Err(error) = written {
                let error = CliError::file("write", Path::new(path), &error);
                context.report_error(&error.advise(hint::copy(id.as_str())));
                return Ok(Exit::Partial);
            }
        }
    }
    Ok(if ended.finished.state.status() == Status::Failed { Exit::No } else { Exit::Yes })
}
