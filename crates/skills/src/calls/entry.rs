//! The lines of a call log: one entry each, canonical JSON and a line feed.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::read::{Finding, Reader, object, word};
use hence_canon::{Canonical, Digest, Float, Object, Value, parse};
use hence_cognition::run::{Call, CallError, OutcomeError, Reply, StepOutcome, key_text};

/// The name of a call in its run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallName {
    /// The key of the call.
    pub key: Arc<str>,
    /// The step of the outermost skill it is made for.
    pub step: Arc<str>,
    /// The capability that is called.
    pub capability: Arc<str>,
}

/// The intent of one attempt of a call that acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intent {
    /// The input of the call, with references in place of secrets. Logs of earlier versions hold only its digest.
    pub input: Option<Value>,
    /// The digest of the input.
    pub input_sha256: Digest,
    /// The key handed to the capability.
    pub idempotency_key: Arc<str>,
}

/// A question to a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The subject.
    pub kind: QuestionKind,
    /// The input of the call.
    pub input: Value,
    /// The reason why nobody knows whether the call happened, if the process that made it lived to say so; of a timer, its due time.
    pub reason: Option<Arc<str>>,
}

/// The subject of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuestionKind {
    /// The capability asks for a value.
    Value,
    /// A call was begun, and it is unknown whether it happened.
    Undecided,
}

/// An answer of a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The value that was asked for.
    Value(Value),
    /// The call happened, and this is its output.
    Done(Object),
    /// Make the call again.
    Retry,
    /// Treat the call as failed.
    Fail,
}

/// The time that the processes of a run have spent so far. It is measured, so it enters no record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// The time of the whole run.
    pub milliseconds: u64,
    /// For each step and nested run whose seconds are limited, by its place, the time at which its first call was asked for.
    pub since: BTreeMap<Arc<str>, u64>,
}

/// One line of a call log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A call is about to be made. Each attempt has its own intent, also one that a person or a recovery repeats.
    Intent {
        /// The call.
        call: CallName,
        /// The intent.
        intent: Intent,
    },
    /// The reply of a call.
    Reply {
        /// The call.
        call: CallName,
        /// The reply, or the reason why there is none.
        reply: Result<Reply, CallError>,
    },
    /// An exchange with a model in a call that gives no reply.
    Exchange {
        /// The call.
        call: CallName,
        /// The reference to it.
        exchange: Value,
    },
    /// A person is asked.
    Question {
        /// The call.
        call: CallName,
        /// The question.
        question: Question,
    },
    /// A person has answered.
    Answer {
        /// The call.
        key: Arc<str>,
        /// The answer.
        answer: Answer,
        /// The person who answered, as they said.
        by: Option<Arc<str>>,
    },
    /// A step has been executed, and an earlier one is not recorded yet.
    Outcome(Box<StepOutcome>),
    /// The run is about to roll back: calls are made again. Undecided calls stay undecided.
    RolledBack,
    /// The time that the processes of the run have spent, where seconds are limited.
    Spent(Spent),
    /// Policies blocked a step. Its record has the replies of its calls; they are made again when the step is retried.
    Blocked {
        /// The step.
        step: Arc<str>,
    },
}

/// A line that is not an entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EntryError {
    /// It is not JSON.
    #[error(transparent)]
    NotJson(#[from] hence_canon::ParseError),
    /// A member is missing or invalid.
    #[error(transparent)]
    Member(#[from] Finding),
    /// An outcome is invalid.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
}

impl CallName {
    /// Names a call.
    pub fn of(call: &Call<'_>) -> Self {
        let key: Arc<str> = call.key().into();
        Self { step: top_step(&key), key, capability: call.capability.clone() }
    }

    /// Names the call with a key.
    pub fn from_key(key: Arc<str>, capability: Arc<str>) -> Self {
        Self { step: top_step(&key), key, capability }
    }

    fn members(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("key", self.key.clone().into()),
            ("step", self.step.clone().into()),
            ("capability", self.capability.clone().into()),
        ]
    }
}

impl Intent {
    /// Returns the intent to call with an input, under a key.
    pub fn new(input: &Value, idempotency_key: &str) -> Self {
        let input_sha256 = Canonical::of(input).digest();
        Self { input: Some(input.clone()), input_sha256, idempotency_key: idempotency_key.into() }
    }
}

/// Returns the step of the outermost skill that a key begins with.
fn top_step(key: &str) -> Arc<str> {
    let first = key.split('/').next().unwrap_or_default();
    key_text(first).into()
}

impl Entry {
    /// Returns the line, with its line feed.
    pub fn line(&self) -> Vec<u8> {
        let mut line = Canonical::of(&self.value()).bytes().to_vec();
        line.push(b'\n');
        line
    }

    fn value(&self) -> Value {
        let (kind, mut members) = match self {
            Self::Intent { call, intent } => {
                let mut members = call.members();
                members.extend(intent.input.clone().map(|input| ("input", input)));
                members.push(("input_sha256", intent.input_sha256.into()));
                members.push(("idempotency_key", intent.idempotency_key.clone().into()));
                ("intent", members)
            }
            Self::Reply { call, reply } => {
                let mut members = call.members();
                members.extend(reply_members(reply));
                ("reply", members)
            }
            Self::Exchange { call, exchange } => {
                let mut members = call.members();
                members.push(("exchange", exchange.clone()));
                ("exchange", members)
            }
            Self::Question { call, question } => {
                let mut members = call.members();
                let about = match question.kind {
                    QuestionKind::Value => "value",
                    QuestionKind::Undecided => "undecided",
                };
                members.push(("about", about.into()));
                members.push(("input", question.input.clone()));
                members.extend(question.reason.clone().map(|reason| ("reason", reason.into())));
                ("question", members)
            }
            Self::Answer { key, answer, by } => {
                let mut members = vec![("key", key.clone().into()), ("answer", answer.name().into())];
                match answer {
                    Answer::Value(value) => members.push(("value", value.clone())),
                    Answer::Done(output) => members.push(("value", output.clone().into())),
                    Answer::Retry | Answer::Fail => {}
                }
                members.extend(by.clone().map(|by| ("by", by.into())));
                ("answer", members)
            }
            Self::Outcome(outcome) => ("outcome", vec![("outcome", outcome.to_value())]),
            Self::RolledBack => ("rolled_back", Vec::new()),
            Self::Spent(spent) => {
                let since: Object = spent.since.iter().map(|(place, at)| (place.clone(), *at)).collect();
                let mut members = vec![("milliseconds", spent.milliseconds.into())];
                members.extend((!since.is_empty()).then(|| ("since", since.into())));
                ("spent", members)
            }
            Self::Blocked { step } => ("blocked", vec![("step", step.clone().into())]),
        };
        members.push(("kind", kind.into()));
        members.into_iter().collect::<Object>().into()
    }

    /// Reads a line without its line feed.
    ///
    /// # Errors
    /// [`EntryError`] when it is not an entry.
    pub fn read(line: &[u8]) -> Result<Self, EntryError> {
        let value = parse(line)?;
        let mut reader = Reader::new(&value)?;
        Ok(match reader.required("kind", word(&KINDS))? {
            Kind::Intent => Self::Intent { call: read_call(&mut reader)?, intent: read_intent(&mut reader)? },
            Kind::Reply => Self::Reply { call: read_call(&mut reader)?, reply: read_reply(&mut reader)? },
            Kind::Exchange => Self::Exchange {
                call: read_call(&mut reader)?,
                exchange: reader.required("exchange", |value| Ok(value.clone()))?,
            },
            Kind::Question => {
                Self::Question { call: read_call(&mut reader)?, question: read_question(&mut reader)? }
            }
            Kind::Answer => Self::Answer {
                key: reader.text("key")?,
                answer: read_answer(&mut reader)?,
                by: reader.optional_text("by")?,
            },
            Kind::Outcome => {
                let outcome = reader.required("outcome", |value| Ok(value.clone()))?;
                Self::Outcome(Box::new(StepOutcome::from_value(&outcome)?))
            }
            Kind::RolledBack => Self::RolledBack,
            Kind::Spent => Self::Spent(Spent {
                milliseconds: reader.count("milliseconds")?,
                since: reader.optional("since", read_since)?.unwrap_or_default(),
            }),
            Kind::Blocked => Self::Blocked { step: reader.text("step")? },
        })
    }
}

/// The kinds of lines.
#[derive(Clone, Copy)]
enum Kind {
    Intent,
    Reply,
    Exchange,
    Question,
    Answer,
    Outcome,
    RolledBack,
    Spent,
    Blocked,
}

const KINDS: [(&str, Kind); 9] = [
    ("intent", Kind::Intent),
    ("reply", Kind::Reply),
    ("exchange", Kind::Exchange),
    ("question", Kind::Question),
    ("answer", Kind::Answer),
    ("outcome", Kind::Outcome),
    ("rolled_back", Kind::RolledBack),
    ("spent", Kind::Spent),
    ("blocked", Kind::Blocked),
];

impl Answer {
    /// Returns the name of this kind of answer.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Value(_) => "value",
            Self::Done(_) => "done",
            Self::Retry => "retry",
            Self::Fail => "fail",
        }
    }
}

fn reply_members(reply: &Result<Reply, CallError>) -> Vec<(&'static str, Value)> {
    match reply {
        Ok(reply) => vec![("output", reply.output.clone()), ("meta", reply.meta.clone().into())],
        Err(CallError::TimedOut(seconds)) => vec![("timed_out_seconds", (*seconds).into())],
        Err(CallError::Failed { class, message }) => {
            vec![("class", class.clone().into()), ("message", message.clone().into())]
        }
        // Not written in practice: a call that waits is logged as the question that follows from it.
        Err(CallError::Waiting(message)) => {
            vec![("class", "Waiting".into()), ("message", message.clone().into())]
        }
        Err(CallError::Undecided(call)) => {
            let mut members = reply_members(&Err(call.cause.clone()));
            members.push(("undecided", true.into()));
            members.extend((!call.meta.is_empty()).then(|| ("meta", call.meta.clone().into())));
            members
        }
    }
}

fn read_since(value: &Value) -> Result<BTreeMap<Arc<str>, u64>, Finding> {
    let at = |(place, at): (&Arc<str>, &Value)| match at.as_u64() {
        Some(at) => Ok((place.clone(), at)),
        None => Err(Finding::expected("a number of milliseconds", at)),
    };
    object(value)?.iter().map(at).collect()
}

fn read_call(reader: &mut Reader<'_>) -> Result<CallName, Finding> {
    Ok(CallName {
        key: reader.text("key")?,
        step: reader.text("step")?,
        capability: reader.text("capability")?,
    })
}

fn read_intent(reader: &mut Reader<'_>) -> Result<Intent, Finding> {
    let input = reader.value("input").cloned();
    let input_sha256: Digest = reader.parsed("input_sha256")?;
    // Whoever decides about the call relies on the input that is shown.
    if input.as_ref().is_some_and(|input| Canonical::of(input).digest() != input_sha256) {
        return Err(reader.finding("input", "it is not the input that `input_sha256` names"));
    }
    Ok(Intent { input, input_sha256, idempotency_key: reader.text("idempotency_key")? })
}

fn read_reply(reader: &mut Reader<'_>) -> Result<Result<Reply, CallError>, Finding> {
    if let Some(output) = reader.value("output").cloned() {
        return Ok(Ok(Reply { output, meta: reader.required("meta", object)?.clone() }));
    }
    let seconds = |value: &Value| match value {
        Value::Float(seconds) => Ok(*seconds),
        Value::Int(seconds) => {
            Float::new(seconds.to_f64_lossy()).map_err(|_| Finding::expected("a number of seconds", value))
        }
        other => Err(Finding::expected("a number of seconds", other)),
    };
    let is_undecided = reader.value("undecided") == Some(&Value::Bool(true));
    let cause = match reader.optional("timed_out_seconds", seconds)? {
        Some(seconds) => CallError::TimedOut(seconds),
        None => CallError::Failed { class: reader.text("class")?, message: reader.text("message")? },
    };
    let meta = reader.optional("meta", |value| object(value).cloned())?.unwrap_or_default();
    Ok(Err(if is_undecided { cause.undecided_with(meta) } else { cause }))
}

fn read_question(reader: &mut Reader<'_>) -> Result<Question, Finding> {
    let kinds = [("value", QuestionKind::Value), ("undecided", QuestionKind::Undecided)];
    Ok(Question {
        kind: reader.required("about", word(&kinds))?,
        input: reader.required("input", |value| Ok(value.clone()))?,
        reason: reader.optional_text("reason")?,
    })
}

fn read_answer(reader: &mut Reader<'_>) -> Result<Answer, Finding> {
    Ok(match &*reader.text("answer")? {
        "value" => Answer::Value(reader.required("value", |value| Ok(value.clone()))?),
        "done" => Answer::Done(reader.required("value", object)?.clone()),
        "retry" => Answer::Retry,
        "fail" => Answer::Fail,
        _ => return Err(reader.finding("answer", "expected value, done, retry or fail")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> CallName {
        let key: Arc<str> = "a~1b/0.3/call/charge/2".into();
        CallName { step: top_step(&key), key, capability: "charge".into() }
    }

    #[test]
    fn every_entry_reads_back_as_it_was_written() {
        let object = Object::from_iter([("x", 1)]);
        let entries = [
            Entry::Intent { call: name(), intent: Intent::new(&object.clone().into(), "k") },
            // As earlier versions wrote it.
            Entry::Intent {
                call: name(),
                intent: Intent { input: None, input_sha256: Digest::of(b"x"), idempotency_key: "k".into() },
            },
            Entry::Reply {
                call: name(),
                reply: Ok(Reply { output: object.clone().into(), meta: Object::new() }),
            },
            Entry::Reply { call: name(), reply: Err(CallError::TimedOut(Float::new(0.5).unwrap())) },
            Entry::Reply {
                call: name(),
                reply: Err(CallError::Failed { class: "C".into(), message: "m".into() }),
            },
            Entry::Reply {
                call: name(),
                reply: Err(CallError::Failed { class: "C".into(), message: "m".into() }
                    .undecided_with(object.clone())),
            },
            Entry::Exchange { call: name(), exchange: object.clone().into() },
            Entry::Question {
                call: name(),
                question: Question {
                    kind: QuestionKind::Undecided,
                    input: object.clone().into(),
                    reason: Some("no reply".into()),
                },
            },
            Entry::Answer { key: "k".into(), answer: Answer::Value(Value::Null), by: Some("ada".into()) },
            Entry::Answer { key: "k".into(), answer: Answer::Done(object), by: None },
            Entry::Answer { key: "k".into(), answer: Answer::Retry, by: None },
            Entry::Answer { key: "k".into(), answer: Answer::Fail, by: None },
            Entry::Blocked { step: "a/b".into() },
            Entry::RolledBack,
        ];
        for entry in entries {
            let line = entry.line();
            assert_eq!(Entry::read(line.strip_suffix(b"\n").unwrap()).unwrap(), entry);
        }
        assert_eq!(&*name().step, "a/b");
    }

    #[test]
    fn lines_that_are_no_entries_are_refused() {
        let mut line = Entry::Intent { call: name(), intent: Intent::new(&Value::Null, "k") }.line();
        line.pop();
        let changed = String::from_utf8(line).unwrap().replace(r#""input":null"#, r#""input":1"#);
        let no_value = r#"{"kind":"answer","key":"k","answer":"value"}"#;
        for line in ["", "1", "{}", r#"{"kind":"other"}"#, no_value, &changed] {
            assert!(Entry::read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
