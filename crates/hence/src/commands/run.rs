//! `hence run`: a problem in, an answer and its record out.

mod report;

use std::path::Path;

use hence_canon::Value;
use hence_engine::{Engine, Event, Finished, Request, Resumed, Run, RunError, Sink};
use hence_projection::Program;
use hence_state::{Profile, ProfileName, Status};
use hence_store::{Condition, Cut, FileStore, NewRun, RunId, Store, StoreError};

use crate::args::RunArgs;
use crate::bound::{self, Ready};
use crate::code::Code;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::sink::StoreSink;
use crate::{guard, hint, input};

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
    let name = input::shown_name(&args.problem);
    let mut document = input::parse_problem(&args.problem, &bytes, &profile)?;
    let policies = guard::given(&args.policies)?;
    let bytes = pinned(args, &mut document, policies.as_ref(), bytes)?;
    let Ready { document, engine, attachments } =
        bound::ready(Engine::new(), name, document, bytes, &args.skill.capabilities.capabilities, &profile)?;
    let engine = guard::gated(engine);
    let mut request = Request::new(document, profile);
    request.trace_id.clone_from(&args.trace_id);
    request.now.clone_from(&args.now);
    request.engine_version.clone_from(&args.engine_version);
    let plan = engine.plan(&request).map_err(|findings| CliError::refused(name, &findings))?;
    let id = run_id(plan.trace_id())?;
    let store = context.store_or_new()?;
    let (mut run, header) = Run::start(plan.clone())?;
    let blobs = crate::sink::StoreBlobs(&store);
    let gate = guard::open(header.line(), plan.problem(), Program::Reason(&engine), &blobs)
        .map_err(|error| guard::refused(id.as_str(), &error))?;
    let first = guard::begin(&header, gate, &store, |sink| {
        run.lay_policies(policies.as_ref().unwrap_or(&Value::Null), sink)?;
        Ok(())
    })?;
    let new = NewRun { id: id.clone(), attachments, lines: first.lines };
    let ended = match store.create(new) {
        Ok(writer) => {
            let sink = guard::guarded(StoreSink::new(&store, writer), first.gate);
            Ended { finished: finish(context, &id, run, sink)?, beginning: Beginning::Here }
        }
        // The same problem under the same id is the same run: it is taken up, never executed twice.
        Err(StoreError::AlreadyCreated { .. }) => take_up(context, &store, (&engine, plan), &id, None)?,
        // So it is when the problem is only spelled otherwise: the header names what it says.
        Err(StoreError::RunConflict { .. }) if begins_with(&store, &id, header.line()) => {
            take_up(context, &store, (&engine, plan), &id, None)?
        }
        Err(error) => return Err(error.into()),
    };
    report(context, &store, &id, &ended, args.journal.as_deref())
}

/// Pins the policies a person names, and returns the bytes of the problem that is run.
fn pinned(
    args: &RunArgs,
    document: &mut hence_canon::Lenient,
    policies: Option<&Value>,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, CliError> {
    if policies.is_some() && args.profile != ProfileName::Strict {
        return Err(CliError::new(Code::Refused, "a run goes by policies in the strict profile only"));
    }
    if args.profile != ProfileName::Strict {
        return Ok(bytes);
    }
    let pinned = guard::pin(input::shown_name(&args.problem), &document.value, policies)?;
    if pinned == document.value {
        return Ok(bytes);
    }
    document.value = pinned;
    Ok(hence_canon::pretty(&document.value).into_bytes())
}

/// Tells whether a stored run begins with a header.
fn begins_with(store: &FileStore, id: &RunId, header: &[u8]) -> bool {
    store.journal_bytes(id).is_ok_and(|journal| journal.starts_with(header))
}

fn run_id(trace_id: &str) -> Result<RunId, CliError> {
    RunId::new(trace_id).map_err(|error| {
        CliError::new(Code::Refused, error.to_string()).advise("choose another id with --trace-id")
    })
}

/// Runs to the end, each record durable before the next.
fn finish(
    context: &Context,
    id: &RunId,
    run: Run,
    mut sink: Box<dyn Sink + '_>,
) -> Result<Finished, CliError> {
    let watched = context.is_watched();
    let finished = run.finish(&mut *sink, |event| {
        if watched {
            context.say(line(event));
        }
    });
    finished.map_err(|error| match &error {
        RunError::Blocked(blocked) => guard::blocked(id.as_str(), blocked),
        _ => CliError::from(error).advise(format!("mend the cause, then {}", hint::resume(id.as_str()))),
    })
}

/// Takes a run up where its record ends.
///
/// The record is judged before the run is opened for writing, so that a run that is refused keeps every byte, a torn
/// tail included; a run that has ended needs no writer at all.
pub(super) fn take_up(
    context: &Context,
    store: &FileStore,
    (engine, plan): (&Engine, hence_engine::Plan),
    id: &RunId,
    amended: Option<&Value>,
) -> Result<Ended, CliError> {
    // Nobody may append behind something that is no record, whatever comes before it.
    if let Condition::Damaged(reason) = store.summary(id)?.condition {
        return Err(StoreError::Damaged { run: id.clone(), reason }.into());
    }
    let (going, torn) = read_back(store, plan.clone(), id)?;
    if let (Resumed::Ended(finished), 0) = (&going, torn) {
        guard::refuse_amendment(id.as_str(), amended)?;
        context.say(format_args!("run {id} had ended already; nothing was run again"));
        return Ok(Ended { finished: finished.clone(), beginning: Beginning::Before(None) });
    }
    let opened = store.open(id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    // Somebody may have written between the reading and the opening; from here on nobody else does.
    let problem = plan.problem().clone();
    let going = if head_of(&going) == opened.writer.head() { going } else { read_back(store, plan, id)?.0 };
    let finished = match going {
        Resumed::Ended(finished) => finished,
        Resumed::Going(mut run) => {
            let blobs = crate::sink::StoreBlobs(store);
            let journal = store.journal_bytes(id)?;
            let gate = guard::open_behind(&journal, &problem, Program::Reason(engine), &blobs)
                .map_err(|error| guard::refused(id.as_str(), &error))?;
            let mut sink = guard::guarded(StoreSink::new(store, opened.writer), gate);
            let owed = guard::owed(id.as_str(), run.custody(), &journal, &blobs)?;
            for policies in owed.iter().chain(amended) {
                run.lay_policies(policies, &mut *sink).map_err(|error| not_amended(id, error))?;
            }
            finish(context, id, *run, sink)?
        }
    };
    Ok(Ended { finished, beginning: Beginning::Before(opened.cut) })
}

/// Names why the policies of a run stay as they are.
fn not_amended(id: &RunId, error: RunError) -> CliError {
    match &error {
        RunError::Book(book) => guard::refused_book(id.as_str(), book).unwrap_or_else(|| error.into()),
        _ => error.into(),
    }
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
        Event::Policies { index, .. } => format!("{:>5}  policies judged", index.get()),
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
