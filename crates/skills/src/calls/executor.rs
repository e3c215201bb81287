//! Executes calls: replays a logged reply, logs an intent before effects, logs the reply after.
//!
//! One file, because what is on disk at each point of a call is only right if these steps are read in their order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::{Float, Object, Value};
use hence_cognition::budget::Usage;
use hence_cognition::capability::{CapabilitySpec, CognitiveTypes, Registry};
use hence_cognition::failure::{BUDGET_CUT_OFF, BUDGET_EXCEEDED, HELD_BACK, UNDECIDED};
use hence_cognition::run::{
    Call, CallError, Capabilities, Invocation, NestedRun, PlannedCall, Reply, RunRequest, Task,
    VariableRules, Waiting, one_by_one,
};
use hence_cognition::skill::{Recovery, Skill, Step};
use hence_engine::{CallTimes, Measured, Meter, Moment, NoMeter, SinkError, Watched};
use hence_journal::Durability;

use super::entry::{CallName, Entry, Intent, Question, QuestionKind};
use super::gate::{CallGate, outermost_step};
use super::history::{CallStatus, LostCall};
use super::log::CallLog;
use super::timer::is_timer;
use crate::budget::{Admitted, Budget, Caller};
use crate::child::{ChildRun, ChildRuns, Family, NestedVariables};
use crate::host::{Effect, Host};
use crate::shared_child::{EndedChild, OnlyRun};
use crate::stop::Stop;

/// The interval at which a wait between two attempts checks whether the run should stop.
const WAIT_SLICE_SECONDS: f64 = 0.05;

/// The class of a call that acted and answered something other than an object. Another attempt would act again.
const NOT_AN_OBJECT: &str = "ContractBroken";

/// Executes the calls of a run. Steps of skills and bound steps of problems are called through it, so that a crash means
/// the same to both.
pub struct CallExecutor<'a> {
    host: &'a dyn Host,
    log: &'a CallLog<'a>,
    stop: &'a dyn Stop,
    outside: Outside,
    pub(crate) nesting: Option<Nesting<'a>>,
    budget: Option<&'a Budget<'a>>,
    meter: &'a dyn Meter,
    /// The measurements of nested runs that have not ended, by the path of their calls.
    nested: Mutex<BTreeMap<Arc<str>, Vec<Measured>>>,
    /// The nested run that is executed for others; without it everything is.
    pub(crate) only: Option<OnlyRun>,
    /// The first line or nested run that could not be stored. Nothing is called after it.
    failure: Mutex<Option<SinkError>>,
}

/// The skill whose steps call, and where its nested runs are stored.
pub(crate) struct Nesting<'a> {
    skill: &'a Skill,
    pub(crate) children: &'a dyn ChildRuns,
    pub(crate) family: Family,
}

/// Whether calls that are not pure may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outside {
    /// Such calls are made.
    Open,
    /// Such calls are not made, as in a replay.
    Closed,
}

/// The result of executing a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallResult {
    /// The reply, or the reason why there is none.
    pub reply: Result<Reply, CallError>,
    /// The source of the reply.
    pub source: ReplySource,
}

/// The source of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplySource {
    /// The call was made now, or was not made at all.
    Call,
    /// The call was made before; the log had its reply.
    Log,
}

/// Makes a call.
pub type CallFn<'m> = dyn FnMut(&Call<'_>) -> Result<Reply, CallError> + 'm;

impl<'a> CallExecutor<'a> {
    /// Makes an executor for the capabilities of a host.
    pub fn new(host: &'a dyn Host, log: &'a CallLog<'a>, stop: &'a dyn Stop) -> Self {
        Self {
            host,
            log,
            stop,
            outside: Outside::Open,
            nesting: None,
            budget: None,
            meter: &NoMeter,
            nested: Mutex::default(),
            only: None,
            failure: Mutex::new(None),
        }
    }

    /// Makes only calls that fit under the limits of a budget.
    #[must_use]
    pub fn with_budget(self, budget: &'a Budget<'a>) -> Self {
        Self { budget: Some(budget), ..self }
    }

    /// Measures calls, waits and steps.
    #[must_use]
    pub fn with_meter(self, meter: &'a dyn Meter) -> Self {
        Self { meter, ..self }
    }

    pub(crate) fn meter(&self) -> &'a dyn Meter {
        self.meter
    }

    /// Makes a call and notes how long it took: for the run, and for the nested run that made it.
    fn make_timed(&self, call: &Call<'_>, make: &mut CallFn<'_>) -> Result<Reply, CallError> {
        let began = self.meter.now();
        let (step, item) = (outermost_step(call), call.place.item);
        self.meter.watch(Watched::CallBegan { step: &step, item, attempt: call.attempt });
        let reply = make(call);
        let used = reply.as_ref().map(|reply| Usage::of_meta(&reply.meta)).unwrap_or_default();
        self.meter.watch(Watched::CallEnded { used: &used });
        let Some(span) = self.meter.since(began) else { return reply };
        let times = CallTimes { key: call.key().into(), capability: call.capability.clone(), span };
        let path = &call.place.path;
        if !path.is_empty() {
            let measured = Measured::Call { step: call.step_id.clone(), call: times.clone() };
            self.note_nested(path, measured);
        }
        self.meter.note(Measured::Call { step, call: times });
        reply
    }

    fn note_nested(&self, path: &Arc<str>, measured: Measured) {
        let mut nested = self.nested.lock().unwrap_or_else(PoisonError::into_inner);
        nested.entry(path.clone()).or_default().push(measured);
    }

    fn note_question(&self, call: &Call<'_>) {
        if let Some(now) = self.meter.now() {
            let step = outermost_step(call);
            self.meter.note(Measured::Asked { step, key: call.key().into(), at: now.wall });
        }
    }

    /// Returns the budget, if there is one.
    pub(crate) fn budget(&self) -> Option<&'a Budget<'a>> {
        self.budget
    }

    /// Makes only pure calls, as a replay does.
    pub(crate) fn closed(self) -> Self {
        Self { outside: Outside::Closed, ..self }
    }

    /// Executes the calls of a skill's steps, and stores the runs they nest.
    pub(crate) fn for_skill(self, skill: &'a Skill, children: &'a dyn ChildRuns, family: Family) -> Self {
        Self { nesting: Some(Nesting { skill, children, family }), ..self }
    }

    /// Makes only the calls of one nested run, and keeps that run instead of storing it. What is around it is computed from the log.
    pub(crate) fn only(self, run: Arc<str>) -> Self {
        Self { only: Some(OnlyRun::new(run)), ..self }
    }

    /// Takes the nested run that [`CallExecutor::only`] names, if it has ended.
    pub(crate) fn take_ended(&self) -> Option<EndedChild> {
        self.only.as_ref()?.take_ended()
    }

    pub(crate) fn host(&self) -> &'a dyn Host {
        self.host
    }

    pub(crate) fn log(&self) -> &'a CallLog<'a> {
        self.log
    }

    /// Returns whether only pure calls are made, as in a replay.
    pub(crate) fn is_closed(&self) -> bool {
        self.outside == Outside::Closed
    }

    pub(crate) fn stop(&self) -> &'a dyn Stop {
        self.stop
    }

    /// Takes the first error of storing something.
    pub(crate) fn take_failure(&self) -> Option<SinkError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns whether something could not be stored.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn fail(&self, error: SinkError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_wanted() || self.has_failed()
    }

    /// Looks at the step that makes a call, if a skill has it.
    fn of_step<T>(&self, call: &Call<'_>, look: impl FnOnce(&Step) -> T) -> Option<T> {
        let nested = if call.place.path.is_empty() { None } else { self.host.skill(call.skill_id) };
        let skill = nested.as_deref().or(self.nesting.as_ref().map(|nesting| nesting.skill));
        skill.and_then(|skill| skill.step(call.step_id)).map(look)
    }

    /// Returns the recovery of an undecided call: the step's, or else the host's.
    fn recovery(&self, call: &Call<'_>) -> Recovery {
        let recovery = self.of_step(call, |step| step.recovery).flatten();
        recovery.unwrap_or_else(|| self.host.recovery(call.capability))
    }

    /// Adds to the message of a failed call which call of its step it was. The messages of pure calls stay as they
    /// are: a replay makes those calls again and compares.
    fn placed(&self, call: &Call<'_>, error: CallError) -> CallError {
        match error {
            CallError::Failed { class, message } => {
                let position = self.of_step(call, |step| call.position(step)).unwrap_or_default();
                CallError::Failed { class, message: format!("{message}{position}").into() }
            }
            CallError::Undecided(undecided) => {
                self.placed(call, undecided.cause.clone()).undecided_with(undecided.meta.clone())
            }
            other => other,
        }
    }

    /// Makes a call through `make`, unless its reply is known or a person has to answer first.
    ///
    /// # Errors
    /// [`SinkError`] when the log could not be written. Nothing may be called after it; the run stops and can be resumed.
    pub fn call(&self, call: &Call<'_>, make: &mut CallFn<'_>) -> Result<CallResult, SinkError> {
        self.call_gated(call, None, make)
    }

    /// Makes a call as [`CallExecutor::call`] does; one that acts only if the gate lets it through.
    pub(super) fn call_gated(
        &self,
        call: &Call<'_>,
        gate: Option<&CallGate>,
        make: &mut CallFn<'_>,
    ) -> Result<CallResult, SinkError> {
        let result = self.call_logged(call, gate, make)?;
        if let Some(gate) = gate {
            gate.note(call, self.host.effect(call.capability), &result.reply);
        }
        Ok(result)
    }

    fn call_logged(
        &self,
        call: &Call<'_>,
        gate: Option<&CallGate>,
        make: &mut CallFn<'_>,
    ) -> Result<CallResult, SinkError> {
        let make: &mut CallFn<'_> = &mut |call| self.make_timed(call, make);
        let now = |reply| CallResult { reply, source: ReplySource::Call };
        let stopping = || now(Err(CallError::Waiting("the run is to stop".into())));
        let effect = self.host.effect(call.capability);
        if effect == Effect::Pure
            && (self.outside == Outside::Open || self.host.is_recomputed(call.capability))
        {
            return Ok(if self.is_stopping() { stopping() } else { now(make(call)) });
        }
        if self.outside == Outside::Closed {
            return Ok(now(Err(CallError::Waiting("a replay asks nobody".into()))));
        }
        let name = CallName::of(call);
        if self.only.as_ref().is_some_and(|only| !only.contains(&call.place.path)) {
            return Ok(match self.log.status(&name.key) {
                Some(CallStatus::Replied(reply)) => CallResult { reply, source: ReplySource::Log },
                _ => now(Err(CallError::Waiting("the run around this one makes the call".into()))),
            });
        }
        // Whoever reads the record must see that the call was repeated, who decided so, and how often it was begun.
        let lost = self.log.lost(&name.key).filter(|_| effect == Effect::Acts);
        let repetition = lost.as_ref().and_then(LostCall::reply_meta).unwrap_or_default();
        let make: &mut CallFn<'_> = &mut |call| {
            let reply = make(call)?;
            if effect == Effect::Acts && reply.output.as_object().is_none() {
                return Err(not_an_object(&reply.output));
            }
            let members = repetition.iter();
            let meta = members.fold(reply.meta, |meta, (key, value)| meta.with(key.clone(), value.clone()));
            Ok(Reply { meta, ..reply })
        };
        let lost = lost.as_ref();
        Ok(match self.log.status(&name.key) {
            Some(CallStatus::Replied(reply)) => CallResult { reply, source: ReplySource::Log },
            Some(CallStatus::Asked(question)) => now(Err(match question.kind {
                QuestionKind::Undecided => undecided(call, question.reason.as_deref()),
                QuestionKind::Value => CallError::Waiting("no answer yet".into()),
            })),
            _ if self.is_stopping() => stopping(),
            Some(CallStatus::Begun) if effect != Effect::Acts || self.recovery(call) != Recovery::Retry => {
                now(self.recover_as(call, name, lost, make)?)
            }
            // A call that is repeated is an attempt like the first: it is judged again, and a crash during it asks again.
            Some(CallStatus::Again | CallStatus::Begun) | None if effect == Effect::Acts => {
                match gate.map_or(Ok(()), |gate| gate.ask(call, lost)) {
                    Ok(()) => now(self.intend(call, name, lost, make)?),
                    // Nothing was called, so nothing is logged.
                    Err(held) => now(Err(held)),
                }
            }
            Some(CallStatus::Begun) => now(self.recover_as(call, name, lost, make)?),
            Some(CallStatus::Again) | None => now(self.make(call, name, make)?),
        })
    }

    /// Handles a call that may have happened, as its recovery says.
    ///
    /// # Errors
    /// [`SinkError`] when the log could not be written.
    pub fn recover(
        &self,
        call: &Call<'_>,
        make: &mut CallFn<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let make: &mut CallFn<'_> = &mut |call| self.make_timed(call, make);
        let name = CallName::of(call);
        let lost = self.log.lost(&name.key);
        self.recover_as(call, name, lost.as_ref(), make)
    }

    /// Admits a call under the limits of the run. A call that asks a person is not counted.
    fn admit(&self, call: &Call<'_>) -> Result<Option<Admitted>, CallError> {
        let budget = self.budget.filter(|_| self.host.effect(call.capability) != Effect::Asks);
        let Some(budget) = budget else { return Ok(None) };
        let caller = Caller { place: call.place, step: call.step_id };
        budget.admit(caller, call.capability, &|| self.host.most(call.capability, call.input))
    }

    /// Makes a call that was admitted, in the time that is left.
    fn make_admitted(
        &self,
        call: &Call<'_>,
        admitted: Option<&Admitted>,
        make: &mut CallFn<'_>,
    ) -> Result<Reply, CallError> {
        let (Some(budget), Some(admitted)) = (self.budget, admitted) else { return make(call) };
        let own = call.timeout_seconds.get();
        // An effect is not cut off by a limit: it would leave a call that nobody can decide.
        let acts = self.host.effect(call.capability) == Effect::Acts;
        let less = admitted.seconds_left.as_ref().filter(|(left, _)| *left < own && !acts);
        let reply = match less.and_then(|(left, message)| Some((Float::new(*left).ok()?, message))) {
            None => make(call),
            Some((left, message)) => match make(&Call { timeout_seconds: left, ..*call }) {
                // The time that was left depends on timing, so only the limit is told.
                Err(CallError::TimedOut(_)) => {
                    Err(CallError::Failed { class: BUDGET_CUT_OFF.into(), message: message.as_str().into() })
                }
                other => other,
            },
        };
        budget.settle(admitted, &reply);
        reply
    }

    /// Makes a call whose intent is logged, or that needs none.
    fn make(
        &self,
        call: &Call<'_>,
        name: CallName,
        make: &mut CallFn<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let admitted = match self.admit(call) {
            Ok(admitted) => admitted,
            // Nothing was called, so nothing is logged.
            Err(refused) => return Ok(Err(self.placed(call, refused))),
        };
        self.make_logged(call, name, None, admitted.as_ref(), make)
    }

    /// Makes a call that was admitted and logs its reply.
    fn make_logged(
        &self,
        call: &Call<'_>,
        name: CallName,
        lost: Option<&LostCall>,
        admitted: Option<&Admitted>,
        make: &mut CallFn<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let made = self
            .make_admitted(call, admitted, make)
            .map_err(not_held)
            .map_err(|error| self.placed(call, error));
        if let Some(exchange) = self.host.take_failed_exchange(&name.key) {
            self.log.note(Entry::Exchange { call: name.clone(), exchange }, Durability::Buffered)?;
        }
        let reply = match made {
            Err(CallError::Undecided(undecided)) => {
                let reply = self.decide(call, name, lost, &undecided.cause)?;
                self.note_spent(admitted)?;
                return Ok(reply);
            }
            Err(error) => Err(still_lost(lost, error, Repetition::Made)),
            reply => reply,
        };
        let (entry, durability) = match &reply {
            Err(CallError::Waiting(due)) => {
                // A timer waits for the time that it says; a question says what it asks in its input.
                let reason = is_timer(call.capability).then(|| due.clone());
                let question = Question { kind: QuestionKind::Value, input: call.input.clone(), reason };
                (Entry::Question { call: name, question }, Durability::Synced)
            }
            // A reply that power loss destroys leaves the call undecided, which is safe; the next intent syncs it too.
            _ => (Entry::Reply { call: name, reply: reply.clone() }, Durability::Buffered),
        };
        self.log.note(entry, durability)?;
        self.note_spent(admitted)?;
        if matches!(reply, Err(CallError::Waiting(_))) {
            self.note_question(call);
        }
        Ok(reply)
    }

    /// Logs the time that the run has spent, where seconds are limited: also calls that end undecided take time.
    fn note_spent(&self, admitted: Option<&Admitted>) -> Result<(), SinkError> {
        let spent = self.budget.zip(admitted).and_then(|(budget, admitted)| budget.spent(admitted));
        match spent {
            Some(spent) => self.log.note(Entry::Spent(spent), Durability::Buffered),
            None => Ok(()),
        }
    }

    /// Logs an intent and makes the call. A request to stop in between is not honoured.
    fn intend(
        &self,
        call: &Call<'_>,
        name: CallName,
        lost: Option<&LostCall>,
        make: &mut CallFn<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let admitted = match self.admit(call) {
            Ok(admitted) => admitted,
            Err(refused) => {
                let refused = self.placed(call, refused);
                return Ok(Err(still_lost(lost, refused, Repetition::Refused)));
            }
        };
        let intent = Intent::new(call.input, &call.idempotency_key());
        self.log.note(Entry::Intent { call: name.clone(), intent }, Durability::Synced)?;
        self.make_logged(call, name, lost, admitted.as_ref(), make)
    }

    /// Handles a call that an earlier process began and may not have finished.
    fn recover_as(
        &self,
        call: &Call<'_>,
        name: CallName,
        lost: Option<&LostCall>,
        make: &mut CallFn<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        match self.recovery(call) {
            Recovery::Retry => self.intend(call, name, lost, make),
            Recovery::Ask => self.ask(call, name, None),
            Recovery::Fail => {
                let meta = lost.filter(|lost| lost.begun > 1).map(|lost| lost.meta(lost.begun));
                self.give_up(name, "undecided after a crash, and its recovery is fail".to_owned(), meta)
            }
        }
    }

    /// Handles a call that was made and may have taken effect, as its recovery says.
    ///
    /// With recovery `retry`, or a key by which repeated calls are recognised, the step's retry rule repeats the call if its
    /// cause may pass. Whether it is repeated or not, the
    /// record says that nobody knows whether this attempt took effect.
    fn decide(
        &self,
        call: &Call<'_>,
        name: CallName,
        lost: Option<&LostCall>,
        cause: &CallError,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let recovery = match self.host.knows_repeated_calls(call.capability) {
            true => Recovery::Retry,
            false => self.recovery(call),
        };
        let meta = lost.map(|lost| lost.meta(lost.begun + 1));
        let cause = &begun_again(cause.clone(), lost);
        match recovery {
            Recovery::Retry => {
                let reply = Err(cause.clone().undecided_with(meta.unwrap_or_default()));
                self.log.note(Entry::Reply { call: name, reply: reply.clone() }, Durability::Buffered)?;
                Ok(reply)
            }
            Recovery::Ask => self.ask(call, name, Some(cause.to_string().into())),
            Recovery::Fail => {
                let message = format!("{cause}; it may have taken effect, and its recovery is fail");
                self.give_up(name, message, meta)
            }
        }
    }

    /// Asks a person whether a call happened.
    fn ask(
        &self,
        call: &Call<'_>,
        name: CallName,
        reason: Option<Arc<str>>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let waiting = undecided(call, reason.as_deref());
        let question = Question { kind: QuestionKind::Undecided, input: call.input.clone(), reason };
        self.log.note(Entry::Question { call: name, question }, Durability::Synced)?;
        self.note_question(call);
        Ok(Err(waiting))
    }

    /// Fails an undecided call. `meta` says how often it was begun, where that is more than once.
    fn give_up(
        &self,
        name: CallName,
        message: String,
        meta: Option<Object>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let error = CallError::Failed { class: UNDECIDED.into(), message: message.into() };
        let reply = Err(match meta {
            Some(meta) => error.undecided_with(meta),
            None => error,
        });
        self.log.note(Entry::Reply { call: name, reply: reply.clone() }, Durability::Buffered)?;
        Ok(reply)
    }
}

/// The fate of the repetition of an undecided call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repetition {
    /// It was made.
    Made,
    /// A limit refused it.
    Refused,
}

/// Returns the error of a call that is undecided since an earlier attempt, where its repetition was refused or failed for
/// certain: only a reply would decide it, so it stays undecided. Other errors stay as they are.
fn still_lost(lost: Option<&LostCall>, error: CallError, repetition: Repetition) -> CallError {
    let Some(lost) = lost.filter(|_| !matches!(error, CallError::Waiting(_))) else { return error };
    let (begun, note) = match repetition {
        Repetition::Made => {
            let begun = lost.begun + 1;
            (begun, format!("it was begun {begun} times, and an earlier attempt may have taken effect"))
        }
        Repetition::Refused => {
            let times = if lost.begun == 1 { "once".to_owned() } else { format!("{} times", lost.begun) };
            (lost.begun, format!("it was begun {times} before, and may have taken effect"))
        }
    };
    // The class stays: whoever had the call repeated leaves it to the step's retry rule how often.
    let cause = match error {
        CallError::Failed { class, message } => {
            CallError::Failed { class, message: format!("{message}; {note}").into() }
        }
        error => error,
    };
    cause.undecided_with(lost.meta(begun))
}

/// Adds to the message of a failed call how often it was begun, where that is more than once.
fn begun_again(error: CallError, lost: Option<&LostCall>) -> CallError {
    match (error, lost) {
        (CallError::Failed { class, message }, Some(lost)) => {
            let times = lost.begun + 1;
            CallError::Failed { class, message: format!("{message}; it was begun {times} times").into() }
        }
        (other, _) => other,
    }
}

/// Returns the error of a call that acts and answered something other than an object. It ended well, so it may have acted,
/// whatever its answer is worth.
fn not_an_object(output: &Value) -> CallError {
    let message = format!("it gives an object, found {}", output.kind());
    CallError::Failed { class: NOT_AN_OBJECT.into(), message: message.into() }.undecided()
}

/// Returns an error of a provider. Only the gate holds a call back, and only a limit refuses one: a provider that uses their
/// classes has failed.
fn not_held(error: CallError) -> CallError {
    match error {
        CallError::Failed { class, message } if [HELD_BACK, BUDGET_EXCEEDED].contains(&&*class) => {
            CallError::Failed { class: "ProviderError".into(), message }
        }
        CallError::Undecided(call) => not_held(call.cause.clone()).undecided_with(call.meta.clone()),
        other => other,
    }
}

fn undecided(call: &Call<'_>, reason: Option<&str>) -> CallError {
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    CallError::Waiting(format!("nobody knows whether `{}` happened{reason}", call.capability).into())
}

/// A worker whose calls go through an executor.
pub(crate) struct LoggedWorker<'a> {
    worker: &'a mut (dyn Capabilities + 'a),
    executor: &'a CallExecutor<'a>,
    /// The gate before calls that act, of a step that may act in a run under policies.
    gate: Option<&'a CallGate>,
    /// The source of the last reply.
    last: ReplySource,
    /// The calls that are made side by side next.
    planned: Vec<PlannedCall>,
    /// The steps of nested runs that are being executed, by path.
    began: BTreeMap<Arc<str>, Moment>,
}

impl<'a> LoggedWorker<'a> {
    pub(crate) fn new(
        worker: &'a mut (dyn Capabilities + 'a),
        executor: &'a CallExecutor<'a>,
        gate: Option<&'a CallGate>,
    ) -> Self {
        Self { worker, executor, gate, last: ReplySource::Call, planned: Vec::new(), began: BTreeMap::new() }
    }
}

impl Registry for LoggedWorker<'_> {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.worker.capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.executor.host.skill(id)
    }

    fn cognitive_types(&self) -> CognitiveTypes {
        self.worker.cognitive_types()
    }
}

impl Capabilities for LoggedWorker<'_> {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        self.last = ReplySource::Call;
        let result = self.executor.call_gated(call, self.gate, &mut |call| self.worker.call(call));
        // Without its log line the step has no outcome, and the run stops.
        let result = result.map_err(|error| {
            self.executor.fail(error);
            CallError::Waiting("the call log could not be written".into())
        })?;
        self.last = result.source;
        result.reply
    }

    fn expect_calls(&mut self, planned: Vec<PlannedCall>) {
        self.planned = planned;
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        let executor = self.executor;
        let planned = std::mem::take(&mut self.planned);
        // Which call is refused must not depend on which was faster.
        let is_judged = self.gate.is_some();
        if is_judged || executor.budget.is_some_and(|budget| budget.is_counted() && !budget.fits(&planned)) {
            return one_by_one(self, tasks);
        }
        let logged = tasks.into_iter().map(|task| -> Task<'_> {
            Box::new(move |worker| task(&mut LoggedWorker::new(worker, executor, None)))
        });
        self.worker.side_by_side(logged.collect())
    }

    fn wait(&mut self, seconds: Float) {
        // The earlier attempt that the log replays has waited already.
        let mut left = if self.last == ReplySource::Log { 0.0 } else { seconds.get() };
        while left > 0.0 && !self.executor.is_stopping() {
            let slice = left.min(WAIT_SLICE_SECONDS);
            left -= slice;
            if let Ok(slice) = Float::new(slice) {
                self.worker.wait(slice);
            }
        }
    }

    fn elapsed_seconds(&mut self) -> Float {
        self.worker.elapsed_seconds()
    }

    fn effect(&self, capability: &str) -> Effect {
        self.executor.host.effect(capability)
    }

    fn failed_exchange(&mut self, call: &Call<'_>) -> Option<Value> {
        self.executor.log.exchange(&call.key())
    }

    fn nested_run_begins(&mut self, run: &NestedRun) -> Option<Waiting> {
        self.executor.begin_nested(run, self.gate.is_some())
    }

    fn nested_step_begins(&mut self, path: &Arc<str>, _: &Arc<str>) {
        if let Some(now) = self.executor.meter.now() {
            self.began.insert(path.clone(), now);
        }
    }

    fn nested_step_ended(&mut self, path: &Arc<str>, step: &Arc<str>) {
        if let Some(span) = self.executor.meter.since(self.began.remove(path)) {
            self.executor.note_nested(path, Measured::Step { step: step.clone(), span });
        }
    }

    fn nested_variables(&mut self, skill: &Skill, request: &RunRequest) -> Option<Box<dyn VariableRules>> {
        let Nesting { family, .. } = self.executor.nesting.as_ref()?;
        Some(Box::new(NestedVariables::of(skill, request, family, self.executor.host)?))
    }

    fn nested_run_ended(&mut self, run: &NestedRun) -> Option<Value> {
        let executor = self.executor;
        let measured = executor.nested.lock().unwrap_or_else(PoisonError::into_inner).remove(&run.path);
        let Nesting { children, family, .. } = executor.nesting.as_ref()?;
        let source = children.source(&run.skill_id)?;
        let child = ChildRun::of(run, source, family, executor.host)?;
        let child = ChildRun { measured: measured.unwrap_or_default(), ..child };
        if let Some(only) =
            executor.only.as_ref().filter(|only| only.is(&child.id) || !only.contains(&run.path))
        {
            let link = child.link();
            // Runs around it end elsewhere.
            if only.is(&child.id) {
                only.end(EndedChild { child, status: run.status });
            }
            return Some(link);
        }
        // The replies from which the nested run follows must not be lost before it.
        let stored = executor.log.sync().and_then(|()| children.store(&child));
        if let Err(error) = stored {
            executor.fail(error);
        }
        Some(child.link())
    }
}
