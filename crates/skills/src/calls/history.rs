//! The call log, read back.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{BEGUN_KEY, CallError, Effect, MadeCall, Reply, StepOutcome};

use super::entry::{Answer, CallName, Entry, EntryError, Intent, Question, QuestionKind, Spent};

/// The reason why nobody knows whether a call happened, where the process that made it did not live to say another.
const NO_REPLY: &str = "it was begun, and its reply is not known";

/// The status of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallStatus {
    /// It was begun; only the process that began it knows whether it happened.
    Begun,
    /// A person is asked.
    Asked(Question),
    /// A person decided to retry it.
    Again,
    /// Its reply is known.
    Replied(Result<Reply, CallError>),
}

/// Everything that a call log says.
#[derive(Clone, Debug, Default)]
pub struct CallHistory {
    calls: BTreeMap<Arc<str>, LoggedCall>,
    /// The number of calls that were named so far.
    named: usize,
    outcomes: BTreeMap<Arc<str>, StepOutcome>,
    /// The exchanges with models in calls that gave no reply, by key, with the step of each.
    exchanges: BTreeMap<Arc<str>, (Arc<str>, Value)>,
    spent: Spent,
}

/// Everything that a call log says about one call.
#[derive(Clone, Debug)]
struct LoggedCall {
    name: CallName,
    /// The number of calls that the log names before it.
    place: usize,
    /// The intent of its last attempt, until the reply is known.
    intent: Option<Intent>,
    /// The input and the idempotency key of its last attempt, or the input of its question, also after the reply.
    asked: Option<(Value, Arc<str>)>,
    /// The number of times it was begun.
    begun: u64,
    /// The person who decided to repeat it, as they said.
    repeated_by: Option<Arc<str>>,
    status: CallStatus,
}

/// A call that was begun before and gave no reply: nobody knows whether it took effect. It stays undecided until a
/// repetition replies, whatever else becomes of the repetition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LostCall {
    /// The number of times it was begun so far.
    pub(crate) begun: u64,
    /// The person who decided to repeat it, as they said; `None` where its recovery decides.
    decision: Option<Value>,
}

impl LostCall {
    /// Returns what the record of the call says about its repetition, if it was begun so often.
    pub(crate) fn meta(&self, begun: u64) -> Object {
        let decision = self.decision.clone();
        let decision = decision.map(|by| [("decided", Value::from("retry")), ("decided_by", by)]);
        decision.into_iter().flatten().chain([(BEGUN_KEY, begun.into())]).collect()
    }

    /// Returns what the record of a repetition that replied says: who decided so, and how often the call was begun. A call
    /// that is repeated because its recovery is `retry` ends in the same record as one that is not.
    pub(crate) fn reply_meta(&self) -> Option<Object> {
        self.decision.as_ref().map(|_| self.meta(self.begun + 1))
    }
}

/// A call log that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the calls under way: {source}")]
pub struct BadCallLog {
    /// The line, from 1.
    pub line: usize,
    /// The defect.
    pub source: EntryError,
}

/// An answer that nothing waits for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefusedAnswer {
    /// There is no such call.
    #[error("nothing is asked under `{0}`")]
    NotAsked(Arc<str>),
    /// The question is already answered.
    #[error("`{0}` has been answered already")]
    Answered(Arc<str>),
    /// A call that waits for a value is given a decision, or the other way round.
    #[error("`{key}` waits for {expected}, found {found}")]
    OtherKind {
        /// The call.
        key: Arc<str>,
        /// The kind of answer it waits for.
        expected: &'static str,
        /// The kind of answer given.
        found: &'static str,
    },
}

impl CallHistory {
    /// Reads a call log. Bytes after the last line feed are an append that was never finished, and are ignored.
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
            history.apply(entry);
        }
        Ok(history)
    }

    /// Applies an entry. One that comes too late changes nothing: a known reply stays.
    pub(crate) fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Intent { call, intent } => self.set_status(call, Some(intent), CallStatus::Begun),
            Entry::Question { call, question } => self.set_status(call, None, CallStatus::Asked(question)),
            Entry::Reply { call, reply } => self.set_status(call, None, CallStatus::Replied(reply)),
            Entry::Answer { key, answer, by } => {
                if self.check(&key, &answer).is_ok()
                    && let Some(name) = self.calls.get(&key).map(|call| call.name.clone())
                {
                    let is_repeated = answer == Answer::Retry;
                    let begun = self.calls.get(&key).map_or(0, |call| call.begun);
                    self.set_status(name, None, settled(answer, by.clone(), begun));
                    if let Some(call) = self.calls.get_mut(&key).filter(|_| is_repeated) {
                        call.repeated_by = by;
                    }
                }
            }
            Entry::Outcome(outcome) => {
                self.outcomes.insert(outcome.step_id.clone(), *outcome);
            }
            Entry::Exchange { call, exchange } => {
                self.exchanges.insert(call.key, (call.step, exchange));
            }
            Entry::RolledBack => {
                self.exchanges.clear();
                // A call that a person decided to repeat was begun, and nobody knows whether it happened.
                self.calls.retain(|_, call| is_undecided(&call.status) || call.status == CallStatus::Again);
                self.outcomes.clear();
            }
            Entry::Spent(spent) => self.spent = spent,
            Entry::Blocked { step } => self.forget(|known| known == &*step),
        }
    }

    /// Sets the status of a call, unless its reply is known. Without a new intent the one before stays, up to the reply.
    fn set_status(&mut self, name: CallName, intent: Option<Intent>, status: CallStatus) {
        let known = self.calls.get_mut(&name.key);
        if known.as_ref().is_some_and(|known| matches!(known.status, CallStatus::Replied(_))) {
            return;
        }
        let (before, begun, repeated_by, asked, place) = match known {
            Some(known) => {
                let (intent, asked) = (known.intent.take(), known.asked.take());
                (intent, known.begun, known.repeated_by.take(), asked, Some(known.place))
            }
            None => (None, 0, None, None, None),
        };
        let begun = begun + u64::from(status == CallStatus::Begun);
        let intent = intent.or(before);
        let asked = match (&intent, &status) {
            (Some(intent), _) if intent.input.is_some() => {
                intent.input.clone().map(|input| (input, intent.idempotency_key.clone()))
            }
            (intent, CallStatus::Asked(question)) => {
                let key = intent.as_ref().map(|intent| intent.idempotency_key.clone());
                Some((question.input.clone(), key.unwrap_or_default()))
            }
            _ => asked,
        };
        let intent = intent.filter(|_| !matches!(status, CallStatus::Replied(_)));
        let place = place.unwrap_or(self.named);
        self.named = self.named.max(place + 1);
        let call = LoggedCall { place, intent, asked, begun, repeated_by, status, name };
        self.calls.insert(call.name.key.clone(), call);
    }

    /// Checks that a call waits for this kind of answer.
    ///
    /// # Errors
    /// [`RefusedAnswer`] when none does.
    pub fn check(&self, key: &str, answer: &Answer) -> Result<(), RefusedAnswer> {
        let LoggedCall { name, status, .. } =
            self.calls.get(key).ok_or_else(|| RefusedAnswer::NotAsked(key.into()))?;
        let key = name.key.clone();
        let is_value = matches!(answer, Answer::Value(_));
        match status {
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

    /// Takes the replies that another log knows. What is open there stays the business of that log.
    pub fn take_replies(&mut self, other: &Self) {
        for (key, call) in
            other.calls.iter().filter(|(_, call)| matches!(call.status, CallStatus::Replied(_)))
        {
            self.calls.entry(key.clone()).or_insert_with(|| call.clone());
        }
        for (key, exchange) in &other.exchanges {
            self.exchanges.entry(key.clone()).or_insert_with(|| exchange.clone());
        }
    }

    /// Returns the status of a call.
    pub fn status(&self, key: &str) -> Option<&CallStatus> {
        self.calls.get(key).map(|call| &call.status)
    }

    /// Returns what is known of the earlier attempts of a call that is about to be repeated; `None` when nothing was begun.
    pub(crate) fn lost(&self, key: &str) -> Option<LostCall> {
        let call = self.calls.get(key)?;
        let decision = match call.status {
            CallStatus::Begun => None,
            CallStatus::Again => Some(call.repeated_by.clone().map_or(Value::Null, Value::from)),
            CallStatus::Asked(_) | CallStatus::Replied(_) => return None,
        };
        // Logs of earlier versions may hold the question alone.
        Some(LostCall { begun: call.begun.max(1), decision })
    }

    /// Returns how often a call that acts was begun.
    pub(crate) fn times_begun(&self, key: &str) -> u64 {
        self.calls.get(key).map_or(0, |call| call.begun)
    }

    /// Returns what was exchanged with a model in a call that gave no reply.
    pub fn exchange(&self, key: &str) -> Option<&Value> {
        self.exchanges.get(key).map(|(_, exchange)| exchange)
    }

    /// Returns what the last attempt of a call was about to do, while its reply is not known.
    pub fn intent(&self, key: &str) -> Option<&Intent> {
        self.calls.get(key)?.intent.as_ref()
    }

    /// Iterates over the calls in the order of their keys.
    pub fn calls(&self) -> impl Iterator<Item = (&CallName, &CallStatus)> {
        self.calls.values().map(|call| (&call.name, &call.status))
    }

    /// Iterates over the questions to people that are open.
    pub fn questions(&self) -> impl Iterator<Item = (&CallName, &Question)> {
        self.calls().filter_map(|(call, status)| match status {
            CallStatus::Asked(question) => Some((call, question)),
            _ => None,
        })
    }

    /// Iterates over the undecided calls.
    pub fn undecided(&self) -> impl Iterator<Item = &CallName> {
        self.calls().filter_map(|(call, status)| match status {
            status if is_undecided(status) => Some(call),
            _ => None,
        })
    }

    /// Iterates over the calls that act and have ended: an intent was logged, and then a reply.
    pub fn executed(&self) -> impl Iterator<Item = &CallName> {
        let is_executed =
            |call: &&LoggedCall| call.begun > 0 && matches!(call.status, CallStatus::Replied(_));
        self.calls.values().filter(is_executed).map(|call| &call.name)
    }

    /// Iterates over the calls that act and were begun, whatever became of them.
    pub fn begun_calls(&self) -> impl Iterator<Item = &CallName> {
        self.calls.values().filter(|call| call.begun > 0).map(|call| &call.name)
    }

    /// Returns the calls that act and were begun, and the answers of people, in the order in which the log names them. A call
    /// without a reply is undecided, also one that a person decided to repeat and that was not begun again.
    pub fn made_calls(&self, is_question: impl Fn(&str) -> bool) -> Vec<MadeCall> {
        let made = |call: &LoggedCall| {
            let effect = match call.begun > 0 {
                true => Effect::Acts,
                false if is_question(&call.name.capability) => Effect::Asks,
                false => return None,
            };
            let undecided = |reason: &str| {
                let error = CallError::Failed { class: UNDECIDED.into(), message: reason.into() };
                let begun = call.begun;
                Err(if begun > 1 {
                    error.undecided_with(Object::new().with(BEGUN_KEY, begun))
                } else {
                    error
                })
            };
            let reply = match &call.status {
                CallStatus::Replied(reply) => reply.clone(),
                CallStatus::Asked(question) if effect == Effect::Acts => {
                    undecided(question.reason.as_deref().unwrap_or(NO_REPLY))
                }
                CallStatus::Begun | CallStatus::Again if effect == Effect::Acts => undecided(NO_REPLY),
                CallStatus::Begun | CallStatus::Again | CallStatus::Asked(_) => return None,
            };
            let (input, idempotency_key) = call.asked.clone().unwrap_or_default();
            Some(MadeCall::logged(
                &call.name.key,
                call.name.capability.clone(),
                effect,
                input,
                idempotency_key,
                reply,
            ))
        };
        let mut calls: Vec<&LoggedCall> = self.calls.values().collect();
        calls.sort_by_key(|call| call.place);
        calls.into_iter().filter_map(made).collect()
    }

    /// Returns the time that the processes of the run have spent, as far as it was measured.
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Returns whether nothing is known about any call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.outcomes.is_empty()
    }

    /// Removes everything about steps that are recorded: only the record counts.
    pub fn forget(&mut self, is_recorded: impl Fn(&str) -> bool) {
        self.calls.retain(|_, call| !is_recorded(&call.name.step));
        self.outcomes.retain(|step, _| !is_recorded(step));
        self.exchanges.retain(|_, (step, _)| !is_recorded(step));
    }

    /// Removes every call that is not open: only the record counts.
    pub fn keep_calls(&mut self, is_open: impl Fn(&CallName) -> bool) {
        self.calls.retain(|_, call| is_open(&call.name));
    }

    /// Returns the lines that say of an undecided call that it was begun, once for each time, and what a person was asked and
    /// decided about it.
    pub(crate) fn begun(&self, key: &str) -> Vec<Entry> {
        let Some(LoggedCall { name, intent, status, begun, repeated_by, .. }) = self.calls.get(key) else {
            return Vec::new();
        };
        let call = || name.clone();
        let intent = intent.clone().map(|intent| Entry::Intent { call: call(), intent });
        let intents = (0..(*begun).max(1)).filter_map(|_| intent.clone());
        let last = match status {
            CallStatus::Asked(question) => Some(Entry::Question { call: call(), question: question.clone() }),
            CallStatus::Again => {
                Some(Entry::Answer { key: name.key.clone(), answer: Answer::Retry, by: repeated_by.clone() })
            }
            CallStatus::Begun | CallStatus::Replied(_) => None,
        };
        intents.chain(last).collect()
    }

    pub(crate) fn outcomes(&self) -> &BTreeMap<Arc<str>, StepOutcome> {
        &self.outcomes
    }
}

fn is_undecided(status: &CallStatus) -> bool {
    let is_asked = |question: &Question| question.kind == QuestionKind::Undecided;
    match status {
        CallStatus::Begun => true,
        CallStatus::Asked(question) => is_asked(question),
        CallStatus::Again | CallStatus::Replied(_) => false,
    }
}

/// Returns the status of a call that was begun so often, once a person has answered.
fn settled(answer: Answer, by: Option<Arc<str>>, begun: u64) -> CallStatus {
    let by = by.map_or(Value::Null, Value::from);
    match answer {
        Answer::Value(value) => {
            let output = Object::from_iter([("value", value), ("by", by)]);
            CallStatus::Replied(Ok(Reply { output: output.into(), meta: Object::new() }))
        }
        Answer::Done(output) => {
            // Whoever reads the record must see that this was said by a person and not by the capability.
            let meta = Object::from_iter([("decided", Value::from("done")), ("decided_by", by)]);
            let meta = if begun > 1 { meta.with(BEGUN_KEY, begun) } else { meta };
            CallStatus::Replied(Ok(Reply { output: output.into(), meta }))
        }
        Answer::Retry => CallStatus::Again,
        Answer::Fail => {
            let who = by.as_str().map(|by| format!(" by {by}")).unwrap_or_default();
            let times = if begun > 1 { format!("; it was begun {begun} times") } else { String::new() };
            let message = format!("undecided, and given up{who}{times}").into();
            let error = CallError::Failed { class: UNDECIDED.into(), message };
            let meta = || Object::from_iter([("decided", Value::from("fail")), ("decided_by", by.clone())]);
            CallStatus::Replied(Err(match begun > 1 {
                true => error.undecided_with(meta().with(BEGUN_KEY, begun)),
                false => error,
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(key: &str) -> CallName {
        CallName { key: key.into(), step: key.into(), capability: "c".into() }
    }

    #[test]
    fn a_rollback_forgets_what_was_called_but_not_what_nobody_knows() {
        let reply = || Ok(Reply { output: Object::new().into(), meta: Object::new() });
        let question = |kind| Question { kind, input: Object::new().into(), reason: None };
        let intent =
            |key: &str| Entry::Intent { call: call(key), intent: Intent::new(&Object::new().into(), key) };
        let mut history = CallHistory::default();
        for entry in [
            intent("done"),
            Entry::Reply { call: call("done"), reply: reply() },
            intent("begun"),
            intent("again"),
            Entry::Answer { key: "again".into(), answer: Answer::Retry, by: None },
            Entry::Question { call: call("value"), question: question(QuestionKind::Value) },
            Entry::Question { call: call("undecided"), question: question(QuestionKind::Undecided) },
        ] {
            history.apply(entry);
        }
        let executed: Vec<&str> = history.executed().map(|call| &*call.key).collect();
        assert_eq!(executed, ["done"], "a rollback is refused until it is recorded");
        history.apply(Entry::RolledBack);
        let left: Vec<&str> = history.calls().map(|(call, _)| &*call.key).collect();
        assert_eq!(left, ["again", "begun", "undecided"]);
    }

    #[test]
    fn a_repeated_call_is_undecided_again_and_shows_its_input_until_its_reply() {
        let name = || call("pay");
        let intent = |input: i64| Intent::new(&Object::from_iter([("amount", input)]).into(), "key");
        let retry = || Entry::Answer { key: "pay".into(), answer: Answer::Retry, by: None };
        let mut history = CallHistory::default();
        for round in 0..3 {
            history.apply(Entry::Intent { call: name(), intent: intent(round) });
            assert_eq!(history.undecided().count(), 1, "round {round}");
            assert_eq!(history.intent("pay"), Some(&intent(round)));
            let question = Question { kind: QuestionKind::Undecided, input: Value::Null, reason: None };
            history.apply(Entry::Question { call: name(), question });
            assert_eq!(history.intent("pay"), Some(&intent(round)), "it is shown with the question");
            history.apply(retry());
            assert_eq!((history.status("pay"), history.undecided().count()), (Some(&CallStatus::Again), 0));
        }
        let reply = Ok(Reply { output: Object::new().into(), meta: Object::new() });
        history.apply(Entry::Reply { call: name(), reply: reply.clone() });
        history.apply(Entry::Intent { call: name(), intent: intent(9) });
        assert_eq!(history.status("pay"), Some(&CallStatus::Replied(reply)), "a known reply stays");
        assert_eq!(history.intent("pay"), None);
    }
}
