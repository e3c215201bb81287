//! Drives the calls of a run: models through its call log, children as runs of the store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hence_canon::{Canonical, Digest, Object, Value, parse};
use hence_cognition::budget::Usage;
use hence_cognition::run::{CallError, Reply};
use hence_engine::{Driven, Run, RunError, Sink as _, SinkError};
use hence_journal::RecordIndex;
use hence_skills::{CallHistory, CallLog, CallName, CallStatus, Entry as LogEntry, Intent, Stop};
use hence_solve::{
    ANSWERED_BY_KEY, ChildEnd, ChildLink, Exhausted, FINISH_REASON_KEY, Halt, ModelPin, ModelReply, Models,
    NewChild, Next, NoReply, Progress, Recovery, Request, SolveProgram, Spec, Used, drive,
};
use hence_state::{ProblemSpec, Profile, Timestamp};
use hence_store::{Durability, RunId, StoreError, StoreHandle};

use super::children::{AfterChildren, ChildSink, EndedChildren};
use super::live::Live;
use super::log_sync::LogSync;
use super::models::{ModelSet, NoModelReply};
use super::system_name;
use super::tools::{Interpreters, SolveTools};
use crate::kind::{UndecidedCalls, whole_records};
use crate::prelude::*;
use crate::sink::{StoreBlobs, StoreSink};
use crate::skills::{self, calls_name};
use crate::target::problem_name;

/// The calls of one run that are under way at the same time, unless the user says otherwise.
pub(crate) const CONCURRENCY_DEFAULT: usize = 8;

/// The member of a logged reply that says which request it answers.
const REQUEST_KEY: &str = "request_sha256";

/// Everything that a run shares with its children.
pub(crate) struct HostParts<'a> {
    pub(crate) live: Live,
    pub(crate) store: &'a StoreHandle,
    pub(crate) models: &'a ModelSet,
    pub(crate) system: &'a Arc<str>,
    pub(crate) stop: &'a dyn Stop,
    pub(crate) interpreters: Interpreters,
    pub(crate) started: Instant,
    /// The limits of the outermost run, whose time holds for all.
    pub(crate) spec: &'a Spec,
    pub(crate) created_at: Timestamp,
    pub(crate) concurrency: usize,
    /// The run whose call log has the calls of this run and of all its descendants.
    pub(crate) owner: &'a RunId,
    pub(crate) log: Arc<CallLog<'static>>,
    pub(crate) log_sync: LogSync,
    /// The call logs of other runs that may know a reply: those of a parent or a child that another command drove.
    pub(crate) known: Mutex<Vec<(RunId, CallHistory)>>,
    pub(crate) undecided: UndecidedCalls,
    pub(crate) children: EndedChildren,
}

impl HostParts<'_> {
    /// Adds the call log of another run, if it has one.
    pub(crate) fn learn(&self, id: &RunId) -> Result<(), CliError> {
        if let Some(history) = skills::history(self.store, id)? {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).push((id.clone(), history));
        }
        Ok(())
    }
}

/// Returns the name of a call in the call log of `owner`, which is the run itself or one above it.
fn call_key(owner: &RunId, run: &RunId, index: RecordIndex) -> Option<String> {
    let below = run.as_str().strip_prefix(owner.as_str())?;
    (below.is_empty() || below.starts_with('/')).then(|| format!("solve{below}/{index}"))
}

/// The models and children of one run.
pub(crate) struct SolveHost<'a> {
    pub(crate) parts: &'a HostParts<'a>,
    pub(crate) run: &'a RunId,
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
        let bound = if used.calls.unreported > 0 { "at most " } else { "" };
        let cost: Vec<String> =
            used.calls.cost.iter().map(|(currency, amount)| format!("  {amount} {currency}")).collect();
        format!(
            "{} #{index}  depth {}  {}  {model}  {} sub-calls  {bound}{} tokens{}",
            self.run,
            self.depth,
            position.next,
            used.sub_calls,
            used.calls.tokens(),
            cost.concat()
        )
    }

    /// Returns the reply that a call log has to a request.
    fn logged(&self, index: RecordIndex, model: &ModelPin, request: &Request) -> Option<ModelReply> {
        let (parts, digest) = (self.parts, request.digest());
        let reply_in = |status: &CallStatus| {
            let Reply { output, meta } = reply_to(status, digest)?;
            let stated = |key: &str| meta.get(key).and_then(Value::as_str).map(Into::into);
            Some(ModelReply {
                text: output.get("text")?.as_str()?.into(),
                finish_reason: stated(FINISH_REASON_KEY),
                answered_by: stated(ANSWERED_BY_KEY),
                usage: usage_of(meta, model, request),
            })
        };
        let own = call_key(parts.owner, self.run, index).and_then(|key| parts.log.status(&key));
        own.as_ref().and_then(reply_in).or_else(|| {
            let known = parts.known.lock().unwrap_or_else(PoisonError::into_inner);
            known
                .iter()
                .find_map(|(owner, history)| reply_in(history.status(&call_key(owner, self.run, index)?)?))
        })
    }

    /// Refuses to ask again what an earlier process asked and heard nothing about, where a person decides.
    fn refuse_undecided(&self, key: &str, index: RecordIndex, model: &ModelPin) -> Result<(), NoReply> {
        let is_asked = self.parts.spec.recovery == Recovery::Ask
            && self.parts.undecided == UndecidedCalls::AsPinned
            && matches!(self.parts.log.status(key), Some(CallStatus::Begun));
        if !is_asked {
            return Ok(());
        }
        Err(NoReply::Unavailable(format!(
            "the call of {} for record {index} of run {} was under way when an earlier process ended, so it may have been \
             charged; `hence resume {} --repeat-undecided` asks it again",
            model.name, self.run, self.parts.owner
        )))
    }

    /// Notes that a call gave no reply, if that is certain, and returns what the run makes of it.
    fn note_failure(&self, call: CallName, failure: NoModelReply) -> NoReply {
        if failure.is_decided {
            let (NoReply::Refused(message) | NoReply::Unavailable(message)) = &failure.reply;
            let error = CallError::Failed { class: "no_reply".into(), message: message.as_str().into() };
            // Without the line the call counts as undecided, which is the careful side.
            let _ = self.note(LogEntry::Reply { call, reply: Err(error) }, Durability::Buffered);
        }
        failure.reply
    }

    fn note(&self, entry: LogEntry, durability: Durability) -> Result<(), NoReply> {
        self.parts.log.note(entry, durability).map_err(unwritten)
    }
}

fn unwritten(error: SinkError) -> NoReply {
    NoReply::Unavailable(format!("the call log could not be written: {error}"))
}

/// Returns the logged reply of a call if it answers this very request.
fn reply_to(status: &CallStatus, request: Digest) -> Option<&Reply> {
    let CallStatus::Replied(Ok(reply)) = status else { return None };
    let answers = reply.meta.get(REQUEST_KEY).and_then(Value::as_str) == Some(&request.to_string());
    answers.then_some(reply)
}

/// Returns the usage of a call. What its endpoint did not report counts as what was reserved for the call, the most that it may be:
/// limits hold although nobody knows the number.
fn usage_of(meta: &Object, model: &ModelPin, request: &Request) -> Usage {
    match meta.contains_key("tokens_in") {
        true => Usage { calls: 1, ..Usage::of_meta(meta) },
        false => Usage { calls: 1, unreported: 1, ..model.most(request.bytes()).usage },
    }
}

impl Models for SolveHost<'_> {
    fn ask(&self, index: RecordIndex, model: &ModelPin, request: &Request) -> Result<ModelReply, NoReply> {
        let digest = request.digest();
        if let Some(reply) = self.logged(index, model, request) {
            return Ok(reply);
        }
        let key = call_key(self.parts.owner, self.run, index).ok_or_else(|| {
            NoReply::Unavailable(format!("{} is no run below {}", self.run, self.parts.owner))
        })?;
        self.refuse_undecided(&key, index, model)?;
        // The same call has the same key in every attempt, also after a crash.
        let idempotency_key =
            format!("{}/{index}/{}", Digest::of(self.run.as_str().as_bytes()).short(), digest.short());
        let call = CallName::from_key(key.into(), model.name.clone());
        let intent =
            Intent { input: None, input_sha256: digest, idempotency_key: idempotency_key.as_str().into() };
        // The key follows from the run, the record and the request, so a resumed run asks under the same key with or without this line.
        // Where a person decides about a repetition, the line must survive a power loss.
        let durability = match self.parts.spec.recovery {
            Recovery::Retry => Durability::Buffered,
            Recovery::Ask => Durability::Synced,
        };
        self.note(LogEntry::Intent { call: call.clone(), intent }, durability)?;
        let shown = self.parts.live.call(|| self.line(index, &model.name));
        let is_over = || self.parts.stop.gives_up_calls() || self.exhausted().is_some();
        let reply = self.parts.models.ask(model, request, &idempotency_key, &is_over);
        drop(shown);
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) => return Err(self.note_failure(call, failure)),
        };
        let mut meta = reply.meta.with(REQUEST_KEY, digest);
        for (key, stated) in [(FINISH_REASON_KEY, &reply.finish_reason), (ANSWERED_BY_KEY, &reply.model)] {
            if let Some(stated) = stated {
                meta = meta.with(key, stated.as_str());
            }
        }
        let usage = usage_of(&meta, model, request);
        let output: Value = Object::from_iter([("text", reply.text.as_str())]).into();
        // The reply is paid for: it is in the log before anything depends on it, and on the disk soon after.
        self.note(LogEntry::Reply { call, reply: Ok(Reply { output, meta }) }, Durability::Buffered)?;
        self.parts.log_sync.wrote().map_err(unwritten)?;
        let (finish_reason, answered_by) = (reply.finish_reason.map(Into::into), reply.model.map(Into::into));
        Ok(ModelReply { text: reply.text.into(), finish_reason, answered_by, usage })
    }

    fn knows_reply(&self, index: RecordIndex, request: &Request) -> bool {
        let (parts, digest) = (self.parts, request.digest());
        let own = call_key(parts.owner, self.run, index).and_then(|key| parts.log.status(&key));
        let is_reply = |status: &CallStatus| reply_to(status, digest).is_some();
        own.as_ref().is_some_and(is_reply) || {
            let known = parts.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().any(|(owner, history)| {
                call_key(owner, self.run, index).and_then(|key| history.status(&key)).is_some_and(is_reply)
            })
        }
    }

    fn knows_child(&self, child: &NewChild) -> bool {
        RunId::new(&child.run).is_ok_and(|id| self.parts.store.has_run(&id).unwrap_or(true))
    }

    fn child(&self, child: &NewChild) -> Result<ChildEnd, NoReply> {
        run_child(self.parts, child)
            .map_err(|error| NoReply::Unavailable(format!("child run {}: {error}", child.run)))
    }

    fn halt(&self) -> Option<Halt> {
        if self.parts.stop.is_wanted() {
            return Some(Halt::Asked);
        }
        self.exhausted().map(Halt::Exhausted)
    }

    fn concurrency(&self) -> usize {
        self.parts.concurrency
    }
}

impl SolveHost<'_> {
    /// Returns the limit of time that has passed.
    fn exhausted(&self) -> Option<Exhausted> {
        let limits = &self.parts.spec.limits;
        let exhausted = |limit: &str, seconds: u64| {
            Some(Exhausted::new(limit, format!("the limit is {seconds} seconds")))
        };
        if let Some(seconds) = limits.calls.seconds
            && self.parts.started.elapsed() >= Duration::from_secs(seconds)
        {
            return exhausted("seconds", seconds);
        }
        if self.parts.interpreters.computed() >= Duration::from_secs(limits.interpreter_seconds) {
            return exhausted("interpreter_seconds", limits.interpreter_seconds);
        }
        None
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
    let id = RunId::new(&child.run).map_err(|error| ChildStopped::Other(error.to_string()))?;
    match parts.store.has_run(&id)? {
        true => resume_child(parts, &id),
        false => start_child(parts, child, &id),
    }
}

fn problem_of(document: &Value) -> Result<Arc<ProblemSpec>, ChildStopped> {
    let problem = ProblemSpec::decode(document, &Profile::STRICT)
        .map_err(|findings| ChildStopped::Other(findings.to_string()))?;
    Ok(Arc::new(problem))
}

/// Computes a new child in memory. It is stored as a whole when it has ended, or where it stopped.
fn start_child(parts: &HostParts<'_>, child: &NewChild, id: &RunId) -> Result<ChildEnd, ChildStopped> {
    let started = Instant::now();
    let document = child.spec.problem(&child.run, parts.created_at.as_str());
    let tools = SolveTools::of_child(&child.spec.contexts, &child.context, parts.interpreters.clone());
    let program = SolveProgram::new(problem_of(&document)?, Some(parts.system.clone()), Some(&tools))
        .map_err(RunError::from)?;
    let (run, header) = Run::start(program)?;
    let mut sink = ChildSink::new();
    sink.append(&header).map_err(|error| ChildStopped::Other(error.to_string()))?;
    let host = SolveHost { parts, run: id, depth: child.spec.depth(), position: Mutex::default() };
    host.tell(run.program().progress());
    let driven = drive(run, &host, &mut sink, &mut |progress| host.tell(progress));
    let end = ended(id, driven);
    let attachments = vec![
        (problem_name(), Canonical::of(&document).bytes().to_vec()),
        (system_name(), parts.system.as_bytes().to_vec()),
    ];
    let made = sink.into_child(id.clone(), attachments, &Canonical::of(&child.context));
    let kept = parts.children.add(parts.store, made, started.elapsed());
    let end = end?;
    kept.map_err(|error| ChildStopped::Other(error.to_string()))?;
    Ok(end)
}

/// Continues a child that an earlier command stored before its end, or returns the end of one that has ended.
fn resume_child(parts: &HostParts<'_>, id: &RunId) -> Result<ChildEnd, ChildStopped> {
    let store = parts.store;
    let document = parse(&store.attachment(id, &problem_name())?)
        .map_err(|error| ChildStopped::Other(error.to_string()))?;
    let spec = Spec::read(&document).map_err(|finding| ChildStopped::Other(finding.to_string()))?;
    let tools = SolveTools::new(&spec.contexts, Some(store.clone()), parts.interpreters.clone());
    let program = SolveProgram::new(problem_of(&document)?, Some(parts.system.clone()), Some(&tools))
        .map_err(RunError::from)?;
    let journal = store.journal_bytes(id)?;
    let run = Run::resume(program, whole_records(&journal), &StoreBlobs(store))
        .map_err(|error| ChildStopped::Other(error.to_string()))?;
    if run.has_ended() {
        return Ok(child_end(id, &run));
    }
    parts.learn(id)?;
    let (mut sink, times) = StoreSink::measured(store, store.open(id)?.writer);
    let host = SolveHost { parts, run: id, depth: spec.depth(), position: Mutex::default() };
    host.tell(run.program().progress());
    let mut after = AfterChildren::new(&mut sink, &parts.children, store);
    let driven = drive(run, &host, &mut after, &mut |progress| host.tell(progress));
    let released = after.release();
    // Times are for people; a child whose times could not all be measured is as good as any other.
    let _ = times.finish();
    let end = ended(id, driven)?;
    released.map_err(|error| ChildStopped::Other(error.to_string()))?;
    sink.writer.detach(&calls_name())?;
    Ok(end)
}

fn ended(
    id: &RunId,
    driven: Result<Driven<'_, SolveProgram<'_>>, RunError>,
) -> Result<ChildEnd, ChildStopped> {
    match driven? {
        Driven::Finished(run) => Ok(child_end(id, &run)),
        Driven::Blocked(..) | Driven::Paused(..) => Err(ChildStopped::Other("it was stopped".to_owned())),
    }
}

pub(super) fn child_end(id: &RunId, run: &Run<'_, SolveProgram<'_>>) -> ChildEnd {
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
