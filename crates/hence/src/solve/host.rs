//! Drives the calls of a run: models through its call log, children as runs of the store.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hence_canon::{Canonical, Digest, Object, Value, parse};
use hence_cognition::budget::Usage;
use hence_cognition::run::Reply;
use hence_engine::{Driven, MemorySink, Run, RunError, Sink as _};
use hence_journal::RecordIndex;
use hence_skills::{CallLog, CallName, CallStatus, Entry as LogEntry, Intent, Stop};
use hence_solve::{
    ChildEnd, ChildLink, Exhausted, Halt, ModelPin, ModelReply, Models, NewChild, Next, NoReply, Progress,
    Request, SolveProgram, Spec, Used, drive,
};
use hence_state::{ProblemSpec, Profile, Timestamp};
use hence_store::{Durability, NewRun, RunId, RunWriter, StoreError, StoreHandle};

use super::live::Live;
use super::models::ModelSet;
use super::system_name;
use super::tools::{InterpreterTime, SolveTools};
use crate::kind::whole_records;
use crate::prelude::*;
use crate::sink::{StoreBlobs, StoreSink};
use crate::skills::{self, calls_name};
use crate::target::problem_name;

/// The calls of one run that are under way at the same time, unless the user says otherwise.
pub(crate) const CONCURRENCY_DEFAULT: usize = 8;

/// The member of a logged reply that says which request it answers.
const REQUEST_KEY: &str = "request_sha256";

/// The member of a logged reply that says why the model stopped.
const FINISH_KEY: &str = "finish_reason";

/// Everything that a run shares with its children.
pub(crate) struct HostParts<'a> {
    pub(crate) live: Live,
    pub(crate) store: &'a StoreHandle,
    pub(crate) models: &'a ModelSet,
    pub(crate) system: &'a Arc<str>,
    pub(crate) stop: &'a dyn Stop,
    pub(crate) time: InterpreterTime,
    pub(crate) started: Instant,
    /// The limits of the outermost run, whose time holds for all.
    pub(crate) spec: &'a Spec,
    pub(crate) created_at: Timestamp,
    pub(crate) concurrency: usize,
}

/// The models and children of one run.
pub(crate) struct SolveHost<'a> {
    pub(crate) parts: &'a HostParts<'a>,
    pub(crate) run: &'a RunId,
    pub(crate) log: &'a CallLog<'static>,
    pub(crate) depth: u64,
    pub(crate) position: Mutex<Position>,
}

/// The place of a run, as live lines show it.
#[derive(Default)]
pub(crate) struct Position {
    next: String,
    used: Used,
}

impl SolveHost<'_> {
    /// Notes where the run is, for whoever watches.
    pub(crate) fn tell(&self, progress: &Progress) {
        if !self.parts.live.is_drawn() {
            return;
        }
        let next = match progress.next() {
            Next::Turn { turn } => format!("turn {turn}"),
            Next::Compact { .. } => "summary".to_owned(),
            Next::Block { turn, block, .. } => format!("turn {turn}, block {block}"),
            Next::End(_) | Next::Complete | Next::Nothing => "end".to_owned(),
        };
        let position = Position { next, used: progress.used().clone() };
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = position;
    }

    /// Returns the line of a call: the run, its depth and turn, and what the run has used before.
    fn line(&self, index: RecordIndex, model: &str) -> String {
        let position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let used = &position.used;
        let cost: Vec<String> =
            used.calls.cost.iter().map(|(currency, amount)| format!("  {amount} {currency}")).collect();
        format!(
            "{} #{index}  depth {}  {}  {model}  {} sub-calls  {} tokens{}",
            self.run,
            self.depth,
            position.next,
            used.sub_calls,
            used.calls.tokens(),
            cost.concat()
        )
    }

    fn logged(&self, key: &str, request: Digest) -> Option<ModelReply> {
        let Some(CallStatus::Replied(Ok(Reply { output, meta }))) = self.log.status(key) else { return None };
        if meta.get(REQUEST_KEY).and_then(Value::as_str) != Some(&request.to_string()) {
            return None;
        }
        Some(ModelReply {
            text: output.get("text")?.as_str()?.into(),
            finish_reason: meta.get(FINISH_KEY).and_then(Value::as_str).map(Into::into),
            usage: Usage { calls: 1, ..Usage::of_meta(&meta) },
        })
    }

    fn note(&self, entry: LogEntry, durability: Durability) -> Result<(), NoReply> {
        self.log
            .note(entry, durability)
            .map_err(|error| NoReply::Unavailable(format!("the call log could not be written: {error}")))
    }
}

impl Models for SolveHost<'_> {
    fn ask(&self, index: RecordIndex, model: &ModelPin, request: &Request) -> Result<ModelReply, NoReply> {
        let (key, digest) = (format!("solve/{index}"), request.digest());
        if let Some(reply) = self.logged(&key, digest) {
            return Ok(reply);
        }
        // The same call has the same key in every attempt, also after a crash.
        let idempotency_key =
            format!("{}/{index}/{}", Digest::of(self.run.as_str().as_bytes()).short(), digest.short());
        let call = CallName::from_key(key.into(), model.name.clone());
        let intent =
            Intent { input: None, input_sha256: digest, idempotency_key: idempotency_key.as_str().into() };
        // The key follows from the run, the record and the request, so a resumed run asks under the same key with or without this line:
        // it is for people, and need not be durable before the model is asked.
        self.note(LogEntry::Intent { call: call.clone(), intent }, Durability::Buffered)?;
        let shown = self.parts.live.call(|| self.line(index, &model.name));
        let reply = self.parts.models.ask(model, request, &idempotency_key);
        drop(shown);
        let reply = reply?;
        let mut meta = reply.meta.with(REQUEST_KEY, digest);
        if let Some(reason) = &reply.finish_reason {
            meta = meta.with(FINISH_KEY, reason.as_str());
        }
        let usage = Usage { calls: 1, ..Usage::of_meta(&meta) };
        let output: Value = Object::from_iter([("text", reply.text.as_str())]).into();
        // The reply is durable before anything depends on it: it is paid for.
        self.note(LogEntry::Reply { call, reply: Ok(Reply { output, meta }) }, Durability::Synced)?;
        let finish_reason = reply.finish_reason.map(Into::into);
        Ok(ModelReply { text: reply.text.into(), finish_reason, usage })
    }

    fn child(&self, child: &NewChild) -> Result<ChildEnd, NoReply> {
        run_child(self.parts, child)
            .map_err(|error| NoReply::Unavailable(format!("child run {}: {error}", child.run)))
    }

    fn halt(&self) -> Option<Halt> {
        if self.parts.stop.is_wanted() {
            return Some(Halt::Asked);
        }
        let limits = &self.parts.spec.limits;
        let exhausted = |limit: &str, seconds: u64| {
            Some(Halt::Exhausted(Exhausted::new(limit, format!("the limit is {seconds} seconds"))))
        };
        if let Some(seconds) = limits.calls.seconds
            && self.parts.started.elapsed() >= Duration::from_secs(seconds)
        {
            return exhausted("seconds", seconds);
        }
        let computed = Duration::from_micros(self.parts.time.load(Ordering::Relaxed));
        if computed >= Duration::from_secs(limits.interpreter_seconds) {
            return exhausted("interpreter_seconds", limits.interpreter_seconds);
        }
        None
    }

    fn concurrency(&self) -> usize {
        self.parts.concurrency
    }
}

/// A child run that stopped before its end.
#[derive(Debug, thiserror::Error)]
enum ChildStopped {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}")]
    Other(String),
}

impl From<CliError> for ChildStopped {
    fn from(error: CliError) -> Self {
        Self::Other(error.message)
    }
}

/// Starts or resumes a child run and drives it to its end.
fn run_child(parts: &HostParts<'_>, child: &NewChild) -> Result<ChildEnd, ChildStopped> {
    let store = parts.store;
    let id = RunId::new(&child.run).map_err(|error| ChildStopped::Other(error.to_string()))?;
    let stored = match store.attachment(&id, &problem_name()) {
        Ok(bytes) => Some(parse(&bytes).map_err(|error| ChildStopped::Other(error.to_string()))?),
        Err(StoreError::NoSuchRun { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let document =
        stored.clone().unwrap_or_else(|| child.spec.problem(&child.run, parts.created_at.as_str()));
    let problem = ProblemSpec::decode(&document, &Profile::STRICT)
        .map_err(|findings| ChildStopped::Other(findings.to_string()))?;
    let problem = Arc::new(problem);
    let spec = Spec::read(&document).map_err(|finding| ChildStopped::Other(finding.to_string()))?;
    let tools = SolveTools::new(&spec.contexts, Some(store.clone()), parts.time.clone());
    let program =
        SolveProgram::new(problem, Some(parts.system.clone()), Some(&tools)).map_err(RunError::from)?;
    let (run, writer) = match stored {
        None => create(parts, child, &id, program, &document)?,
        Some(_) => {
            let journal = store.journal_bytes(&id)?;
            let whole = whole_records(&journal);
            let run = Run::resume(program, whole, &StoreBlobs(store))
                .map_err(|error| ChildStopped::Other(error.to_string()))?;
            if run.has_ended() {
                return Ok(child_end(&id, &run));
            }
            (run, store.open(&id)?.writer)
        }
    };
    drive_child(parts, &id, spec.depth(), run, writer)
}

fn create<'g, 'a>(
    parts: &HostParts<'_>,
    child: &NewChild,
    id: &RunId,
    program: SolveProgram<'a>,
    document: &Value,
) -> Result<(Run<'g, SolveProgram<'a>>, Box<dyn RunWriter>), ChildStopped> {
    parts.store.put_blob(Canonical::of(&child.context).bytes(), Durability::Synced)?;
    let (run, header) = Run::start(program)?;
    let mut first = MemorySink::default();
    first.append(&header).map_err(|error| ChildStopped::Other(error.to_string()))?;
    let attachments = vec![
        (problem_name(), Canonical::of(document).bytes().to_vec()),
        (system_name(), parts.system.as_bytes().to_vec()),
    ];
    let writer = parts.store.create(NewRun { id: id.clone(), attachments, lines: first.journal })?;
    Ok((run, writer))
}

fn drive_child(
    parts: &HostParts<'_>,
    id: &RunId,
    depth: u64,
    run: Run<'_, SolveProgram<'_>>,
    mut writer: Box<dyn RunWriter>,
) -> Result<ChildEnd, ChildStopped> {
    let history = skills::history(parts.store, id)?.unwrap_or_default();
    let (file, sealed_for) = (writer.side_log(&calls_name())?, id.clone());
    let log = CallLog::new(history, move |line, durability| {
        Ok(file.append(&skills::sealed_calls(&sealed_for, line), durability)?)
    });
    let (mut sink, times) = StoreSink::measured(parts.store, writer);
    let host = SolveHost { parts, run: id, log: &log, depth, position: Mutex::default() };
    host.tell(run.program().progress());
    let driven = drive(run, &host, &mut sink, &mut |progress| host.tell(progress));
    // Times are for people; a child whose times could not all be measured is as good as any other.
    let _ = times.finish();
    match driven? {
        Driven::Finished(run) => {
            drop(log);
            sink.writer.detach(&calls_name())?;
            Ok(child_end(id, &run))
        }
        Driven::Blocked(..) | Driven::Paused(..) => Err(ChildStopped::Other("it was stopped".to_owned())),
    }
}

fn child_end(id: &RunId, run: &Run<'_, SolveProgram<'_>>) -> ChildEnd {
    let progress = run.program().progress();
    let answer = progress.variables().answer().ok_or_else(|| match progress.end() {
        Some(end) => {
            let partial = end.partial.as_ref().map(|partial| format!("; best partial answer: {partial}"));
            format!("limit {}: {}{}", end.exhausted.limit, end.exhausted.message, partial.unwrap_or_default())
        }
        None => "it has no answer".to_owned(),
    });
    let link = ChildLink { run: id.as_str().into(), head: run.head().to_string().into() };
    ChildEnd { answer, used: progress.used().clone(), link }
}
