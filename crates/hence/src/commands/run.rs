//! `hence run`: a problem in, an answer and its record out.

use std::path::Path;

use hence_engine::{Engine, Event, Finished, Request, Resumed, Run};
use hence_state::{Profile, Status};
use hence_store::{FileStore, NewRun, RunId, RunWriter, Store, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::RunArgs;
use crate::context::{Context, escape};
use crate::data::Data;
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::{Text, pairs};
use crate::sink::StoreSink;
use crate::{hint, input, target};

/// What became of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunReport {
    /// The run's id.
    run: String,
    /// `completed` or `failed`.
    status: String,
    /// The synthesis, when there is one.
    answer: Option<Data>,
    /// What verification said: `passed`, `failed`, or nothing.
    verification: Option<String>,
    /// What went wrong, in order.
    errors: Vec<RunErrorReport>,
    /// How many records the journal holds.
    records: u64,
    /// The head: keep it elsewhere, and `hence verify --anchor` shows a cut or rewritten journal.
    head: String,
    /// Where the journal lies.
    journal: String,
    /// Whether the run had been started before and was taken up.
    resumed: bool,
}

/// An error of the run's record.
#[derive(Serialize, JsonSchema)]
struct RunErrorReport {
    code: String,
    message: String,
    step: Option<String>,
}

impl Text for RunReport {
    fn text(&self) -> String {
        let mut rows = Vec::new();
        if let Some(answer) = &self.answer {
            let text = answer.0.get("summary").and_then(hence_canon::Value::as_str).map(str::to_owned);
            rows.push(("answer", escape(&text.unwrap_or_else(|| answer.0.to_string()))));
        }
        if let Some(verification) = &self.verification {
            rows.push(("verification", verification.clone()));
        }
        for error in &self.errors {
            rows.push(("error", escape(&format!("{}: {}", error.code, error.message))));
        }
        rows.push(("status", self.status.clone()));
        rows.push(("run", escape(&self.run)));
        rows.push(("head", self.head.clone()));
        rows.push(("record", self.journal.clone()));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &RunArgs) -> Result<Exit, CliError> {
    let profile = Profile::named(args.profile);
    let bytes = input::read_document(&args.problem)?;
    let document = input::parse_problem(&args.problem, &bytes, &profile)?;
    let mut request = Request::new(document, profile);
    request.trace_id.clone_from(&args.trace_id);
    request.now.clone_from(&args.now);
    request.engine_version.clone_from(&args.engine_version);
    let plan =
        Engine::new().plan(&request).map_err(|findings| CliError::refused(&args.problem, &findings))?;
    let id = run_id(plan.trace_id())?;
    let store = context.store_or_new()?;
    let (run, header) = Run::start(plan.clone())?;
    let new = NewRun {
        id: id.clone(),
        attachments: vec![(target::problem_name(), bytes)],
        lines: header.line().to_vec(),
    };
    let (finished, resumed) = match store.create(new) {
        Ok(writer) => (finish(context, &store, run, writer)?, false),
        // The same problem under the same id is the same run: it is taken up, never executed twice.
        Err(StoreError::AlreadyCreated { .. }) => (take_up(context, &store, plan, &id)?, true),
        Err(error) => return Err(error.into()),
    };
    report(context, &store, &id, &finished, resumed, args.journal.as_deref())
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
pub(super) fn take_up(
    context: &Context,
    store: &FileStore,
    plan: hence_engine::Plan,
    id: &RunId,
) -> Result<Finished, CliError> {
    let opened = store.open(id)?;
    if let Some(cut) = &opened.cut {
        context.say(format!("run {id}: {cut}"));
    }
    let journal = store.journal_bytes(id)?;
    let blobs = crate::sink::StoreBlobs(store);
    match Run::resume(plan, &journal, &blobs).map_err(|error| CliError::resume(id.as_str(), error))? {
        Resumed::Ended(finished) => Ok(finished),
        Resumed::Going(run) => finish(context, store, *run, opened.writer),
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
    finished: &Finished,
    resumed: bool,
    copy: Option<&str>,
) -> Result<Exit, CliError> {
    let report = describe(store, id, finished, resumed)?;
    match copy {
        None => context.print(&report)?,
        Some("-") => {
            context.write(&store.journal_bytes(id)?)?;
            context.print_aside(&report);
        }
        Some(path) => {
            std::fs::write(path, store.journal_bytes(id)?)
                .map_err(|error| CliError::file("write", Path::new(path), &error))?;
            context.print(&report)?;
        }
    }
    Ok(if finished.state.status() == Status::Failed { Exit::No } else { Exit::Yes })
}

fn describe(
    store: &FileStore,
    id: &RunId,
    finished: &Finished,
    resumed: bool,
) -> Result<RunReport, CliError> {
    let state = &finished.state;
    let blobs = crate::sink::StoreBlobs(store);
    let newest = |key: &str| {
        let newest = state.artifacts().newest(key);
        newest.map(|value| hence_engine::resolve(value, &blobs)).transpose()
    };
    let verification = newest("verification")?;
    let errors = state.errors().iter().map(|error| RunErrorReport {
        code: error.code.to_string(),
        message: error.message.to_string(),
        step: error.step.as_ref().map(ToString::to_string),
    });
    Ok(RunReport {
        run: id.as_str().to_owned(),
        status: state.status().to_string(),
        answer: newest("synthesis")?.map(Data),
        verification: verification.and_then(|value| value.get("status")?.as_str().map(str::to_owned)),
        errors: errors.collect(),
        records: finished.head.records.get(),
        head: finished.head.to_string(),
        journal: store.journal_path(id).display().to_string(),
        resumed,
    })
}
