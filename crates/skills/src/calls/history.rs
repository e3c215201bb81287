//! The lines beside a journal, read back.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{CallError, Reply, StepOutcome};

use super::entry::{Answer, CallName, Entry, EntryError, Question, QuestionKind};

/// How a call stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallStatus {
    /// It was begun; whether it happened is known only to who began it.
    Begun,
    /// A person is asked.
    Asked(Question),
    /// A person decided that it be made again.
    Again,
    /// It is known what it gave.
    Replied(Result<Reply, CallError>),
}

/// Everything the lines beside a journal say.
#[derive(Clone, Debug, Default)]
pub struct CallHistory {
    calls: BTreeMap<Arc<str>, (CallName, CallStatus)>,
    outcomes: BTreeMap<Arc<str>, StepOutcome>,
}

/// Lines beside a journal that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the calls under way: {source}")]
pub struct BadCallLog {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub source: EntryError,
}

/// An answer nobody waits for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefusedAnswer {
    /// The call is not there.
    #[error("nothing is asked under `{0}`")]
    NotAsked(Arc<str>),
    /// Somebody answered before.
    #[error("`{0}` has been answered already")]
    Answered(Arc<str>),
    /// A call that waits for a value is given a decision, or the other way round.
    #[error("`{key}` waits for {expected}, found {found}")]
    OtherKind {
        /// The call.
        key: Arc<str>,
        /// What it waits for.
        expected: &'static str,
        /// What was given.
        found: &'static str,
    },
}

impl CallHistory {
    /// Reads lines. Bytes behind the last line feed are an append that was never finished, and say nothing.
    ///
    /// # Errors
    /// [`BadCallLog`] at the first line that is no entry.
    pub fn read(bytes: &[u8]) -> Result<Self, BadCallLog> {
        let mut history = Self::default();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = bytes.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n');
        for (number, line) in (1..).zip(lines) {
            let entry = Entry::read(line.strip_suffix(b"\n").unwrap_or(line))
                .map_err(|source| BadCallLog { line: number, source })?;
            history.take(entry);
        }
        Ok(history)
    }

    /// Takes in an entry. One that comes too late changes nothing: what is known stays known.
    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Intent { call, .. } => self.stand(call, CallStatus::Begun),
            Entry::Question { call, question } => self.stand(call, CallStatus::Asked(question)),
            Entry::Reply { call, reply } => self.stand(call, CallStatus::Replied(reply)),
            Entry::Answer { key, answer, by } => {
                if self.check(&key, &answer).is_ok()
                    && let Some((_, standing)) = self.calls.get_mut(&key)
                {
                    *standing = settled(answer, by);
                }
            }
            Entry::Outcome(outcome) => {
                self.outcomes.insert(outcome.step_id.clone(), *outcome);
            }
            Entry::RolledBack => {
                self.calls.retain(|_, (_, standing)| is_undecided(standing));
                self.outcomes.clear();
            }
            Entry::Blocked { step } => self.forget(|known| known == &*step),
        }
    }

    fn stand(&mut self, call: CallName, standing: CallStatus) {
        match self.calls.get(&call.key) {
            Some((_, CallStatus::Replied(_))) => {}
            _ => {
                self.calls.insert(call.key.clone(), (call, standing));
            }
        }
    }

    /// Checks that somebody waits for this kind of answer.
    ///
    /// # Errors
    /// [`RefusedAnswer`] when nobody does.
    pub fn check(&self, key: &str, answer: &Answer) -> Result<(), RefusedAnswer> {
        let (call, standing) = self.calls.get(key).ok_or_else(|| RefusedAnswer::NotAsked(key.into()))?;
        let key = call.key.clone();
        let is_value = matches!(answer, Answer::Value(_));
        match standing {
            CallStatus::Replied(_) | CallStatus::Again => Err(RefusedAnswer::Answered(key)),
            CallStatus::Asked(Question { kind: QuestionKind::Value, .. }) if is_value => Ok(()),
            CallStatus::Asked(Question { kind: QuestionKind::Value, .. }) => {
                Err(RefusedAnswer::OtherKind { key, expected: "a value", found: answer.name() })
            }
            CallStatus::Begun | CallStatus::Asked(_) if !is_value => Ok(()),
            CallStatus::Begun | CallStatus::Asked(_) => {
                let expected = "done, retry or fail";
                Err(RefusedAnswer::OtherKind { key, expected, found: answer.name() })
            }
        }
    }

    /// Returns how a call stands.
    pub fn standing(&self, key: &str) -> Option<&CallStatus> {
        self.calls.get(key).map(|(_, standing)| standing)
    }

    /// Iterates over the calls in the order of their keys.
    pub fn calls(&self) -> impl Iterator<Item = (&CallName, &CallStatus)> {
        self.calls.values().map(|(call, standing)| (call, standing))
    }

    /// Iterates over what people are asked.
    pub fn questions(&self) -> impl Iterator<Item = (&CallName, &Question)> {
        self.calls().filter_map(|(call, standing)| match standing {
            CallStatus::Asked(question) => Some((call, question)),
            _ => None,
        })
    }

    /// Iterates over the calls that were begun and of which nobody knows whether they happened.
    pub fn undecided(&self) -> impl Iterator<Item = &CallName> {
        self.calls().filter_map(|(call, standing)| match standing {
            standing if is_undecided(standing) => Some(call),
            _ => None,
        })
    }

    /// Leaves out everything about steps that are recorded: the record is what counts.
    pub fn forget(&mut self, is_recorded: impl Fn(&str) -> bool) {
        self.calls.retain(|_, (call, _)| !is_recorded(&call.step));
        self.outcomes.retain(|step, _| !is_recorded(step));
    }

    /// Leaves out everything about calls that are not these: what is recorded is what counts.
    pub fn keep_calls(&mut self, is_open: impl Fn(&CallName) -> bool) {
        self.calls.retain(|_, (call, _)| is_open(call));
    }

    pub(crate) fn outcomes(&self) -> &BTreeMap<Arc<str>, StepOutcome> {
        &self.outcomes
    }
}

fn is_undecided(standing: &CallStatus) -> bool {
    let is_asked = |question: &Question| question.kind == QuestionKind::Undecided;
    match standing {
        CallStatus::Begun => true,
        CallStatus::Asked(question) => is_asked(question),
        CallStatus::Again | CallStatus::Replied(_) => false,
    }
}

/// Returns how a call stands once a person has answered.
fn settled(answer: Answer, by: Option<Arc<str>>) -> CallStatus {
    let by = by.map_or(Value::Null, Value::from);
    match answer {
        Answer::Value(value) => {
            let output = Object::from_iter([("value", value), ("by", by)]);
            CallStatus::Replied(Ok(Reply { output: output.into(), meta: Object::new() }))
        }
        Answer::Done(output) => {
            // Whoever reads the record must see that this was said by a person and not by the capability.
            let meta = Object::from_iter([("decided", Value::from("done")), ("decided_by", by)]);
            CallStatus::Replied(Ok(Reply { output: output.into(), meta }))
        }
        Answer::Retry => CallStatus::Again,
        Answer::Fail => {
            let who = by.as_str().map(|by| format!(" by {by}")).unwrap_or_default();
            let message = format!("undecided after a crash, and given up{who}").into();
            CallStatus::Replied(Err(CallError::Failed { class: UNDECIDED.into(), message }))
        }
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::Digest;

    use super::*;

    fn call(key: &str) -> CallName {
        CallName { key: key.into(), step: key.into(), capability: "c".into() }
    }

    #[test]
    fn a_rollback_forgets_what_was_called_but_not_what_nobody_knows() {
        let reply = || Ok(Reply { output: Object::new().into(), meta: Object::new() });
        let question = |kind| Question { kind, input: Object::new().into() };
        let intent = |key: &str| Entry::Intent {
            call: call(key),
            input: Digest::of(b""),
            idempotency_key: key.into(),
        };
        let mut history = CallHistory::default();
        for entry in [
            intent("done"),
            Entry::Reply { call: call("done"), reply: reply() },
            intent("begun"),
            Entry::Question { call: call("value"), question: question(QuestionKind::Value) },
            Entry::Question { call: call("undecided"), question: question(QuestionKind::Undecided) },
            Entry::RolledBack,
        ] {
            history.take(entry);
        }
        let left: Vec<&str> = history.calls().map(|(call, _)| &*call.key).collect();
        assert_eq!(left, ["begun", "undecided"]);
    }
}
