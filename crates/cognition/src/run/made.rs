//! The calls that a step made, as the record of a step in trouble lists them.

use std::sync::Arc;

use hence_canon::read::{self, Finding, Reader};
use hence_canon::{Float, Object, Value};

use super::capabilities::{CALL, CONFIRMATION, CallPurpose, key_part, key_text};
use super::{Call, CallError, Effect, Reply};
use crate::approval::APPROVES;
use crate::failure::{BUDGET_EXCEEDED, HELD_BACK, TIMED_OUT, UNDECIDED};

/// The member of a provider's report that says how long a call took. Wall-clock time enters no record.
pub const LATENCY_KEY: &str = "latency_ms";

/// The member of a reply's `meta` that says that a person decided the outcome of an undecided call.
pub const DECIDED_KEY: &str = "decided";

/// The member of a call and of its `meta` that says how often the call was begun, where a person or a recovery had it repeated.
pub const BEGUN_KEY: &str = "begun";

/// The number of attempts of one call that are told apart. Nobody repeats a call so often; a record of a stranger may say it.
const BEGUN_SHOWN_MAX: u64 = 1000;

/// The message of an attempt whose reply never came, where nobody lived to say why.
const NO_REPLY: &str = "it was begun, and its reply is not known";

/// The status of a call of which nobody knows whether it happened, as records name it.
const UNDECIDED_STATUS: &str = "undecided";

/// A call that is not pure, with its input and what became of it.
///
/// A step that completes records its input and its output, from which its calls follow. A step in trouble writes
/// nothing, so its record lists the calls instead: what was executed outside never leaves the record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeCall {
    /// The key of the call in its run: it names the step, the iteration and item, the purpose, the capability and the
    /// attempt, below the calls of the runs around it.
    pub key: Arc<str>,
    /// The capability.
    pub capability: Arc<str>,
    /// The effect of calling it.
    pub effect: Effect,
    /// The iteration of a loop, from 0.
    pub iteration: u64,
    /// The item or branch, from 0.
    pub item: u64,
    /// The number of the attempt, from 1.
    pub attempt: u64,
    /// The key by which the capability recognises a repeated call.
    pub idempotency_key: Arc<str>,
    /// The input.
    pub input: Value,
    /// The reply, or the reason why there is none.
    pub reply: Result<Reply, CallError>,
    /// The number of times it was begun, where it was repeated under one key or was to be; otherwise 0. Records of earlier
    /// versions say it only in `meta`, and count such a call once.
    pub begun: u64,
}

/// The parts of a key that name the call within its run.
const KEY_PARTS: usize = 5;

/// The parts of a key that name one run around the run of the call.
pub const PATH_PARTS: usize = 4;

/// The place of a call in a tree of runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadePlace {
    /// The runs around the call, from the outermost: the step that nests a skill, and the skill.
    pub nested: Vec<(String, String)>,
    /// The beginning of the keys of all calls of the same nested run; empty in the outermost run.
    pub path: String,
    /// The step that makes the call, in the innermost run.
    pub step: String,
    /// Whether the step makes the call itself: it is neither of a gate nor a confirmation.
    pub is_call: bool,
}

/// The facts about a call that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallOutcome {
    /// It replied.
    Replied,
    /// It failed.
    Failed,
    /// Nobody knows whether it happened.
    Undecided,
    /// It was not made: policies hold it back.
    Held,
}

impl CallOutcome {
    /// Returns the name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Failed => "failed",
            Self::Undecided => UNDECIDED_STATUS,
            Self::Held => "held",
        }
    }
}

impl Effect {
    /// Returns the name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Reads => "reads",
            Self::Acts => "acts",
            Self::Asks => "asks",
        }
    }

    fn find(name: &str) -> Option<Self> {
        [Self::Pure, Self::Reads, Self::Acts, Self::Asks].into_iter().find(|effect| effect.as_str() == name)
    }
}

impl MadeCall {
    /// Notes a call; `None` for one that is pure, and for one that has no reply yet: its step has no outcome either.
    pub fn of(call: &Call<'_>, effect: Effect, reply: &Result<Reply, CallError>) -> Option<Self> {
        // A call that a limit refuses is not made.
        let is_refused = matches!(reply, Err(CallError::Failed { class, .. }) if **class == *BUDGET_EXCEEDED);
        if effect == Effect::Pure || is_refused || matches!(reply, Err(CallError::Waiting(_))) {
            return None;
        }
        Some(Self {
            key: call.key().into(),
            capability: call.capability.clone(),
            effect,
            iteration: call.place.iteration,
            item: call.place.item,
            attempt: call.attempt,
            idempotency_key: call.idempotency_key().into(),
            input: call.input.clone(),
            reply: reply.clone().map(|reply| Reply { meta: reply.meta.without(LATENCY_KEY), ..reply }),
            begun: begun_of(reply),
        })
    }

    /// Returns a call that a log knows by its key. The key tells the iteration, the item and the attempt.
    pub fn logged(
        key: &Arc<str>,
        capability: Arc<str>,
        effect: Effect,
        input: Value,
        idempotency_key: Arc<str>,
        reply: Result<Reply, CallError>,
    ) -> Self {
        let mut parts = key.rsplit('/');
        let attempt = parts.next().and_then(|attempt| attempt.parse().ok()).unwrap_or(1);
        let place = parts.nth(2).and_then(|place| place.split_once('.'));
        let (iteration, item) = place
            .and_then(|(iteration, item)| Some((iteration.parse().ok()?, item.parse().ok()?)))
            .unwrap_or_default();
        let begun = begun_of(&reply);
        let key = key.clone();
        Self { key, capability, effect, iteration, item, attempt, idempotency_key, input, reply, begun }
    }

    /// Returns every attempt of the call as a call of its own, this one last. Of the earlier attempts nobody knows whether they
    /// took effect. A call that policies hold back is left out.
    pub fn each_begun(&self) -> Vec<Self> {
        let own = u64::from(!self.is_held());
        let lost = CallError::Failed { class: UNDECIDED.into(), message: NO_REPLY.into() };
        let lost = Self { reply: Err(lost), begun: 0, ..self.clone() };
        let earlier = (own..self.begun.min(BEGUN_SHOWN_MAX)).map(|_| lost.clone());
        earlier.chain((own > 0).then(|| self.clone())).collect()
    }

    /// Returns the number of calls that were made: every attempt counts.
    pub fn times(&self) -> u64 {
        if self.is_held() { self.begun } else { self.begun.max(1) }
    }

    /// Returns what is known about the call. One that acts and gave no reply in time may have happened.
    pub fn outcome(&self) -> CallOutcome {
        match &self.reply {
            Ok(_) => CallOutcome::Replied,
            Err(CallError::Failed { class, .. }) if **class == *UNDECIDED => CallOutcome::Undecided,
            Err(CallError::Failed { class, .. }) if **class == *HELD_BACK => CallOutcome::Held,
            // Policies hold the repetition of an undecided call back.
            Err(error @ CallError::Undecided(_)) if error.is_of_class(HELD_BACK) => CallOutcome::Held,
            Err(CallError::Undecided(_)) => CallOutcome::Undecided,
            Err(CallError::TimedOut(_)) if self.effect == Effect::Acts => CallOutcome::Undecided,
            Err(CallError::Failed { class, .. }) if **class == *TIMED_OUT && self.effect == Effect::Acts => {
                CallOutcome::Undecided
            }
            Err(_) => CallOutcome::Failed,
        }
    }

    /// Returns whether policies hold the call back: it was not made.
    pub fn is_held(&self) -> bool {
        self.outcome() == CallOutcome::Held
    }

    /// Returns whether a step of the outermost run makes the call itself: it is neither a call of a nested run, nor of a
    /// gate or a confirmation.
    pub fn is_own_call_of(&self, step: &str) -> bool {
        let place = self.place();
        place.nested.is_empty() && place.is_call && place.step == step
    }

    /// Returns whether a gate of a capability is called.
    pub fn is_of_gate(&self) -> bool {
        let purpose = self.key.rsplit('/').nth(2);
        [CallPurpose::GateBefore, CallPurpose::GateAfter].iter().any(|gate| purpose == Some(gate.word()))
    }

    /// Returns the place of the call in the tree of runs, as its key tells it.
    pub fn place(&self) -> MadePlace {
        let parts: Vec<&str> = self.key.split('/').collect();
        let (path, own) = parts.split_at(parts.len().saturating_sub(KEY_PARTS));
        let nested = path.chunks(PATH_PARTS).filter_map(|part| match part {
            [step, _, skill, _] => Some((key_text(step), key_text(skill))),
            _ => None,
        });
        let step = own.first().map(|step| key_text(step)).unwrap_or_default();
        MadePlace {
            nested: nested.collect(),
            path: path.iter().map(|part| format!("{part}/")).collect(),
            step,
            is_call: own.get(2) == Some(&CALL),
        }
    }

    /// Returns whether the call failed, or a person had to say what became of it.
    pub(super) fn had_trouble(&self) -> bool {
        match &self.reply {
            Ok(reply) => reply.meta.contains_key(DECIDED_KEY),
            Err(_) => true,
        }
    }

    /// Returns whether a person was asked here whether another call may be made.
    pub fn is_confirmation(&self) -> bool {
        self.effect == Effect::Asks && self.key.rsplit('/').nth(2) == Some(CONFIRMATION)
    }

    /// Returns the decision of a person about what became of the call, such as `done`.
    pub fn decided(&self) -> Option<&str> {
        reported(&self.reply)?.get(DECIDED_KEY)?.as_str()
    }

    /// Returns the call by which a person confirms a call of a step that has not been made yet.
    pub fn assumed_confirmation(step: &str, input: &Value) -> Self {
        let question = Object::from_iter([(APPROVES, Value::from(vec!["yes"])), ("context", input.clone())]);
        let answer = Object::from_iter([("value", Value::from("yes")), ("by", Value::Null)]);
        Self {
            key: format!("{}/0.0/{CONFIRMATION}/human.ask/1", key_part(step)).into(),
            capability: "human.ask".into(),
            effect: Effect::Asks,
            iteration: 0,
            item: 0,
            attempt: 1,
            idempotency_key: "".into(),
            input: question.into(),
            reply: Ok(Reply { output: answer.into(), meta: Object::new() }),
            begun: 0,
        }
    }

    /// Returns the person who decided what became of the call, where one did.
    pub fn decided_by(&self) -> Option<&str> {
        reported(&self.reply)?.get("decided_by")?.as_str()
    }

    /// Returns the call as a record lists it.
    pub fn to_value(&self) -> Value {
        let mut members: Vec<(&str, Value)> = vec![
            ("attempt", self.attempt.into()),
            ("capability", self.capability.clone().into()),
            ("effect", self.effect.as_str().into()),
            ("idempotency_key", self.idempotency_key.clone().into()),
            ("input", self.input.clone()),
            ("item", self.item.into()),
            ("iteration", self.iteration.into()),
            ("key", self.key.clone().into()),
            ("status", self.outcome().as_str().into()),
        ];
        match &self.reply {
            Ok(reply) => {
                members.push(("output", reply.output.clone()));
                if !reply.meta.is_empty() {
                    members.push(("meta", reply.meta.clone().into()));
                }
            }
            Err(error) => {
                members.extend(error_member(error));
                let meta = reported(&self.reply).filter(|meta| !meta.is_empty());
                members.extend(meta.map(|meta| ("meta", meta.clone().into())));
            }
        }
        if self.begun > 0 {
            members.push((BEGUN_KEY, self.begun.into()));
        }
        members.into_iter().collect::<Object>().into()
    }

    /// Reads a call back.
    ///
    /// # Errors
    /// [`Finding`] at the first member that is not what it should be.
    pub(super) fn from_value(value: &Value) -> Result<Self, Finding> {
        let mut reader = Reader::new(value)?;
        let effect = reader.required("effect", |value| {
            Effect::find(&read::text(value)?).ok_or_else(|| Finding::expected("reads, acts or asks", value))
        })?;
        let input = reader.required("input", |value| Ok(value.clone()))?;
        let meta = reader.optional("meta", |value| read::object(value).cloned())?.unwrap_or_default();
        let reply = match reader.value("output").cloned() {
            Some(output) => Ok(Reply { output, meta }),
            None => {
                let cause = error(&mut reader)?;
                // Only a call that was undecided before it was repeated says how often it was begun.
                Err(if meta.is_empty() { cause } else { cause.undecided_with(meta) })
            }
        };
        let is_undecided = reader.value("status").and_then(Value::as_str) == Some(UNDECIDED_STATUS);
        let made = Self {
            key: reader.text("key")?,
            capability: reader.text("capability")?,
            effect,
            iteration: reader.count("iteration")?,
            item: reader.count("item")?,
            attempt: reader.count("attempt")?,
            idempotency_key: reader.text("idempotency_key")?,
            input,
            reply,
            begun: reader.optional_count(BEGUN_KEY)?.unwrap_or(0),
        };
        // The reply was lost, and the failure that is listed is why.
        Ok(match made.outcome() {
            CallOutcome::Failed if is_undecided => {
                Self { reply: made.reply.map_err(CallError::undecided), ..made }
            }
            _ => made,
        })
    }
}

/// Returns what is reported about a call: by its provider, or about the repetition of an undecided call.
fn reported(reply: &Result<Reply, CallError>) -> Option<&Object> {
    match reply {
        Ok(reply) => Some(&reply.meta),
        Err(CallError::Undecided(call)) => Some(&call.meta),
        Err(_) => None,
    }
}

/// Returns how often a call was begun, as far as its reply says so. A provider cannot say it: only calls that a person had
/// repeated or that are undecided are counted.
fn begun_of(reply: &Result<Reply, CallError>) -> u64 {
    let is_decided = |meta: &&Object| reply.is_err() || meta.contains_key(DECIDED_KEY);
    let begun = reported(reply).filter(is_decided).and_then(|meta| meta.get(BEGUN_KEY)?.as_u64());
    begun.unwrap_or(0)
}

/// Returns the member that says why a call has no reply. Of an undecided call it is the cause.
fn error_member(error: &CallError) -> Option<(&'static str, Value)> {
    match error {
        CallError::TimedOut(seconds) => Some(("timed_out_seconds", (*seconds).into())),
        CallError::Failed { class, message } => {
            let failure = [("class", class.clone()), ("message", message.clone())];
            Some(("failure", Object::from_iter(failure).into()))
        }
        CallError::Undecided(call) => error_member(&call.cause),
        // Not noted: a call that waits leaves its step without an outcome.
        CallError::Waiting(_) => None,
    }
}

fn error(reader: &mut Reader<'_>) -> Result<CallError, Finding> {
    let seconds = |value: &Value| match value {
        Value::Float(seconds) => Ok(*seconds),
        Value::Int(seconds) => {
            Float::new(seconds.to_f64_lossy()).map_err(|_| Finding::expected("a number of seconds", value))
        }
        other => Err(Finding::expected("a number of seconds", other)),
    };
    if let Some(seconds) = reader.optional("timed_out_seconds", seconds)? {
        return Ok(CallError::TimedOut(seconds));
    }
    let mut failure = reader.object("failure")?;
    Ok(CallError::Failed { class: failure.text("class")?, message: failure.text("message")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(reply: Result<Reply, CallError>) -> MadeCall {
        MadeCall {
            key: "mail/0.1/call/send/1".into(),
            capability: "send".into(),
            effect: Effect::Acts,
            iteration: 0,
            item: 1,
            attempt: 1,
            idempotency_key: "k".into(),
            input: Object::from_iter([("to", "ada")]).into(),
            begun: begun_of(&reply),
            reply,
        }
    }

    #[test]
    fn every_call_reads_back_as_it_was_listed() {
        let meta = Object::from_iter([("decided", "done"), ("decided_by", "ada")]);
        let failed = |class: &str| CallError::Failed { class: class.into(), message: "m".into() };
        let calls = [
            (made(Ok(Reply { output: Object::new().into(), meta })), CallOutcome::Replied),
            (made(Err(failed("Refused"))), CallOutcome::Failed),
            (made(Err(failed(UNDECIDED))), CallOutcome::Undecided),
            (made(Err(failed(TIMED_OUT))), CallOutcome::Undecided),
            (made(Err(failed(HELD_BACK))), CallOutcome::Held),
            (made(Err(CallError::TimedOut(Float::new(2.0).unwrap()))), CallOutcome::Undecided),
            (made(Err(CallError::TimedOut(Float::new(0.5).unwrap()))), CallOutcome::Undecided),
            (made(Err(failed("HttpUnreachable").undecided())), CallOutcome::Undecided),
        ];
        let repeated = Object::new().with("begun", 2).with("decided", "retry").with("decided_by", "ada");
        let calls = calls.into_iter().chain([
            (made(Ok(Reply { output: Object::new().into(), meta: repeated.clone() })), CallOutcome::Replied),
            (made(Err(failed("Refused").undecided_with(repeated.clone()))), CallOutcome::Undecided),
            (made(Err(failed(UNDECIDED).undecided_with(repeated.clone()))), CallOutcome::Undecided),
            (made(Err(failed(BUDGET_EXCEEDED).undecided_with(repeated.clone()))), CallOutcome::Undecided),
            (made(Err(failed(HELD_BACK).undecided_with(repeated))), CallOutcome::Held),
        ]);
        for (call, outcome) in calls {
            let text = call.to_value().to_string();
            let read = MadeCall::from_value(&hence_canon::parse(text.as_bytes()).unwrap()).unwrap();
            assert_eq!((&read, read.outcome()), (&call, outcome), "{text}");
        }
    }

    #[test]
    fn each_time_a_call_was_begun_is_a_deed_and_one_that_is_held_back_is_none() {
        let meta = Object::new().with("begun", 3).with("decided", "retry");
        let replied = made(Ok(Reply { output: Object::new().into(), meta: meta.clone() }));
        let failed = |class: &str| CallError::Failed { class: class.into(), message: "m".into() };
        let held = made(Err(failed(HELD_BACK).undecided_with(meta)));
        let outcomes = |call: &MadeCall| call.each_begun().iter().map(MadeCall::outcome).collect::<Vec<_>>();
        use CallOutcome::{Replied, Undecided};
        assert_eq!((outcomes(&replied), replied.times()), (vec![Undecided, Undecided, Replied], 3));
        assert_eq!((outcomes(&held), held.times()), (vec![Undecided; 3], 3));
        let once = made(Err(failed("Refused")));
        assert_eq!((once.each_begun(), once.times()), (vec![once.clone()], 1));
        let earlier = MadeCall { begun: 0, ..replied };
        assert_eq!(earlier.each_begun().len(), 1, "a record of an earlier version counts it once");
    }
}
