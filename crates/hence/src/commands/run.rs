//! `hence run`: a problem in, an answer and its record out.

mod going;
mod report;

use std::path::Path;
use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{Engine, Event, Finished, Request, Resumed, Run};
use hence_projection::Program;
use hence_state::{Profile, ProfileName, Status};
use hence_store::{Condition, Cut, FileStore, NewRun, RunId, Store, StoreError};

use crate::args::RunArgs;
use crate::bound::{self, BoundCallees, Ready};
use crate::prelude::*;
use crate::skills::WaitingRow;
use crate::{guard, input};

use going::Going;
pub(crate) use report::RunReport;

/// A run that came to its end, and how.
pub(super) struct Ended {
    finished: Finished,
    beginning: Beginning,
    /// What it waits for; nothing when it has ended.
    waiting: Vec<WaitingRow>,
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
    let Ready { document, engine, means, attachments } =
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
        .map_err(|error| guard::refused(id.as_str(), error))?;
    let first = guard::begin(&header, gate, &store, |sink| {
        run.install_policies(policies.as_ref().unwrap_or(&Value::Null), sink)?;
        Ok(())
    })?;
    let new = NewRun { id: id.clone(), attachments, lines: first.lines };
    let ended = match store.create(new) {
        Ok(writer) => {
            let going = Going { context, store: &store, id: &id, plan, means: means.as_ref() };
            going.go(run, (writer, first.gate), [], Beginning::Here)?
        }
        // The same problem under the same id is the same run: it is taken up, never executed twice.
        Err(StoreError::AlreadyCreated { .. }) => {
            let bound = Bound { engine: &engine, means: means.as_ref(), plan };
            take_up(context, &store, bound, &id, None)?
        }
        // So it is when the problem is only spelled otherwise: the header names what it says.
        Err(StoreError::RunConflict { .. }) if begins_with(&store, &id, header.line()) => {
            let bound = Bound { engine: &engine, means: means.as_ref(), plan };
            take_up(context, &store, bound, &id, None)?
        }
        Err(error) => return Err(error.into()),
    };
    report(context, &store, &id, ended, args.journal.as_deref())
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
    RunId::new(trace_id)
        .map_err(|error| CliError::from_error(Code::Refused, error).with_hint(hint::OTHER_TRACE_ID))
}

/// A run's program: the engine, what its bound steps call, and the plan.
pub(super) struct Bound<'a> {
    pub(super) engine: &'a Engine,
    pub(super) means: Option<&'a Arc<BoundCallees>>,
    pub(super) plan: hence_engine::Plan,
}

/// Takes a run up where its record ends.
///
/// The record is judged before the run is opened for writing, so that a run that is refused keeps every byte, a torn
/// tail included; a run that has ended needs no writer at all.
pub(super) fn take_up(
    context: &Context,
    store: &FileStore,
    Bound { engine, means, plan }: Bound<'_>,
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
        let beginning = Beginning::Before(None);
        return Ok(Ended { finished: finished.clone(), beginning, waiting: Vec::new() });
    }
    let opened = store.open(id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    // Somebody may have written between the reading and the opening; from here on nobody else does.
    let problem = plan.problem().clone();
    let is_same = head_of(&going) == opened.writer.head();
    let going = if is_same { going } else { read_back(store, plan.clone(), id)?.0 };
    let beginning = Beginning::Before(opened.cut);
    match going {
        Resumed::Ended(finished) => Ok(Ended { finished, beginning, waiting: Vec::new() }),
        Resumed::Going(run) => {
            let blobs = crate::sink::StoreBlobs(store);
            let journal = store.journal_bytes(id)?;
            let gate = guard::open_behind(&journal, &problem, Program::Reason(engine), &blobs)
                .map_err(|error| guard::refused(id.as_str(), error))?;
            let owed = guard::owed(id.as_str(), run.policy_state(), &journal, &blobs)?;
            let going = Going { context, store, id, plan, means };
            going.go(*run, (opened.writer, gate), owed.iter().chain(amended), beginning)
        }
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
    ended: Ended,
    copy: Option<&str>,
) -> Result<Exit, CliError> {
    let exit = match ended.finished.state.status() {
        _ if !ended.waiting.is_empty() => Exit::Waiting,
        Status::Failed => Exit::No,
        _ => Exit::Yes,
    };
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
                let error = CliError::file("write", Path::new(path), error);
                context.report_error(&error.with_hint(hint::copy(id.as_str())));
                return Ok(Exit::Partial);
            }
        }
    }
    Ok(exit)
}
