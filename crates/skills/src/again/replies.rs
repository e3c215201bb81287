//! The replies that a record holds, as the capabilities of a step that is executed again.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Float, Object, Value};
use hence_cognition::capability::{CapabilitySpec, CognitiveTypes, Registry};
use hence_cognition::failure::{
    BUDGET_EXCEEDED, CONTRACT_BROKEN, ErrorClass, Failure, INPUT_REFUSED, TIMED_OUT,
};
use hence_cognition::run::{
    Call, CallError, CallPlace, CallPurpose, Capabilities, DECIDED_KEY, EXCHANGE_KEY, EXCHANGES_KEY,
    Invocation, MadeCall, NESTED_RUNS_KEY, NestedCall, NestedReply, Reply, Task, named_exchange, one_by_one,
};
use hence_cognition::skill::{Flow, ScatterMerge, Skill};
use hence_cognition::state::StepStatus;

use super::{ATTEMPTS_KEY, Again, UNKNOWN_CAUSE};
use crate::budget::USAGE_KEY;
use crate::host::Effect;

/// The members of `meta` that a loop or a branch adds, and not the provider.
const FLOW_KEYS: [&str; 3] = ["foreach_count", "foreach_errors", ATTEMPTS_KEY];

/// The end of a question about a denial.
const ALL_THE_SAME: &str = ". Go on all the same?";

/// Answers calls from a record, and computes built-in functions.
pub(crate) struct Replies<'a> {
    again: &'a Again<'a>,
    worker: Box<dyn Capabilities + Send + 'a>,
    listed: BTreeMap<&'a str, &'a MadeCall>,
    /// The beginning of the keys of all calls.
    path: String,
    /// The sentences of the record that tell what gates said, each used once.
    told: Vec<String>,
    /// The links to nested runs that are not used yet.
    links: Vec<Value>,
    /// Whether a reply was given whose report the record does not hold.
    pub(super) has_unknown_reports: bool,
    /// Whether a nested run was not run, so that what it used is not known here.
    pub(super) has_nested: bool,
}

impl<'a> Replies<'a> {
    pub(super) fn new(again: &'a Again<'a>) -> Self {
        let recorded = again.recorded;
        let questions = recorded.calls.iter().filter(|call| call.is_confirmation()).filter_map(|call| {
            let question = call.input.get("question").and_then(Value::as_str)?;
            Some(question.strip_suffix(ALL_THE_SAME)?.to_owned())
        });
        let failures =
            recorded.failure.iter().flat_map(Failure::chain).map(|cause| cause.message.to_string());
        let notes = recorded.notes.iter().map(|note| note.message.to_string());
        let links = recorded.meta.get(NESTED_RUNS_KEY).and_then(Value::as_array).unwrap_or_default();
        Self {
            again,
            worker: again.host.worker(),
            listed: recorded.calls.iter().map(|call| (&*call.key, call)).collect(),
            path: again.path(),
            told: notes.chain(questions).chain(failures).collect(),
            links: links.to_vec(),
            has_unknown_reports: false,
            has_nested: false,
        }
    }

    /// Refuses a reply that the pinned contract forbids: such a reply is never recorded. What a person said became of a call is
    /// judged when it is said, and what another run executed may have had another contract.
    fn possible(&self, call: &Call<'_>, reply: Result<Reply, CallError>) -> Result<Reply, CallError> {
        let reply = reply?;
        let is_judged = !self.again.is_carried && !reply.meta.contains_key(DECIDED_KEY);
        let refused = || {
            self.again.host.refused_reply(call.capability, call.input, &reply.output).filter(|_| is_judged)
        };
        match refused() {
            Some(reason) => Err(CallError::Failed { class: CONTRACT_BROKEN.into(), message: reason.into() }),
            None => Ok(reply),
        }
    }

    /// Returns the rest of the next sentence with a beginning.
    fn take_told(&mut self, beginning: &str) -> Option<String> {
        let at = self.told.iter().position(|told| told.starts_with(beginning))?;
        self.told.remove(at).strip_prefix(beginning).map(str::to_owned)
    }

    fn gate_answer(&mut self, gate: &str) -> Result<Reply, CallError> {
        self.has_unknown_reports = true;
        let answer = |members: Vec<(&str, Value)>| {
            Ok(Reply { output: members.into_iter().collect::<Object>().into(), meta: Object::new() })
        };
        if let Some(reason) = self.take_told(&format!("gate `{gate}` denies: ")) {
            return answer(vec![("allowed", false.into()), ("reason", reason.into())]);
        }
        match self.take_told(&format!("gate `{gate}`: ")) {
            Some(error) => {
                let (class, message) = error.split_once(": ").unwrap_or(("", &error));
                Err(CallError::Failed { class: class.into(), message: message.into() })
            }
            None => answer(vec![("allowed", true.into())]),
        }
    }

    fn step_reply(&mut self, id: &str, place: &CallPlace) -> Result<Reply, CallError> {
        let is_last = self.again.is_last(place);
        self.has_unknown_reports |= !is_last;
        match self.again.recorded.status {
            StepStatus::Completed => match self.again.output_at(id, place) {
                Some(output) => {
                    let meta = if is_last { self.again.reported() } else { Object::new() };
                    Ok(Reply { output: output.into(), meta })
                }
                None => Err(self.again.item_error(id, place)),
            },
            StepStatus::Failed => Err(self.again.call_error(id)),
            StepStatus::Skipped | StepStatus::Degraded => Err(no_reply()),
        }
    }

    /// Takes the link to a nested run. In a run of its own the id follows from the place of the call; what a fork or a
    /// retry shares names runs of its origin.
    fn take_link(&mut self, id: Option<&Arc<str>>) -> Option<Value> {
        let id = self.again.family.name(id?);
        let is_own = self.again.family.pinned.links.origin.is_none();
        let names = |link: &Value| link.get("run").and_then(Value::as_str) == Some(&*id);
        let at = self.links.iter().position(|link| !is_own || names(link));
        if let Some(at) = at {
            let link = self.links.remove(at);
            let members = ["run", "head"].map(|key| (key, link.get(key).cloned().unwrap_or_default()));
            return Some(Object::from_iter(members).into());
        }
        let is_stored = !self.again.family.pinned.links.nested.is_empty();
        let is_ended = self.again.recorded.status == StepStatus::Completed;
        // The runs of a host that stores nested runs are always named.
        (is_stored && is_ended).then(|| Object::from_iter([("run", Value::from(id))]).into())
    }
}

impl Again<'_> {
    /// Returns the output of a call that the record does not list, where it had one.
    fn output_at(&self, id: &str, place: &CallPlace) -> Option<Object> {
        let produced = self.recorded.produced.as_ref()?.as_object()?;
        let at = usize::try_from(place.item).ok()?;
        match &self.step.control.flow {
            Flow::Once => Some(produced.clone()),
            Flow::While(_) => {
                let commit = self.recorded.commits.get(usize::try_from(place.iteration).ok()?)?;
                commit.as_object().cloned()
            }
            Flow::Foreach(_) => {
                let item = |value: &Value| value.as_array()?.get(at).cloned();
                let members = produced.iter().map(|(key, list)| Some((key.clone(), item(list)?)));
                let members: Option<Object> = members.collect();
                members.filter(|_| self.item_failure(place.item).is_none())
            }
            Flow::Scatter(scatter) => {
                let is_failed = |name: &str| {
                    let errors = self.recorded.meta.get("scatter_errors").and_then(Value::as_object);
                    errors.is_some_and(|errors| errors.contains_key(name))
                };
                let names: Vec<String> = scatter.branches.iter().map(ToString::to_string).collect();
                match scatter.merge {
                    ScatterMerge::Collect => produced.get(id)?.as_object().cloned(),
                    ScatterMerge::ConcatLists => {
                        let first = names.iter().position(|name| !is_failed(name));
                        let whole = if first == Some(at) { produced.clone() } else { Object::new() };
                        (!is_failed(id)).then_some(whole)
                    }
                    ScatterMerge::FirstSuccess => {
                        let winner = self.recorded.meta.get("scatter_winner").and_then(Value::as_str)?;
                        let won = names.iter().position(|name| name == winner)?;
                        match at.cmp(&won) {
                            std::cmp::Ordering::Less => None,
                            std::cmp::Ordering::Equal => Some(produced.clone()),
                            std::cmp::Ordering::Greater => Some(Object::new()),
                        }
                    }
                }
            }
        }
    }

    /// Returns whether a call is the one whose report the record holds.
    fn is_last(&self, place: &CallPlace) -> bool {
        match &self.step.control.flow {
            Flow::Once => true,
            Flow::While(_) => place.iteration.saturating_add(1) == self.recorded.commits.len() as u64,
            Flow::Foreach(_) => {
                let items = self.recorded.meta.get("foreach_count").and_then(Value::as_u64).unwrap_or(0);
                (0..items).rev().find(|item| self.item_failure(*item).is_none()) == Some(place.item)
            }
            Flow::Scatter(_) => false,
        }
    }

    /// Returns what was exchanged with a model in a call.
    fn exchange(&self, call: &Call<'_>) -> Option<Value> {
        let all = self.recorded.meta.get(EXCHANGES_KEY).and_then(Value::as_array)?;
        let listed = all.iter().find(|listed| {
            let exchange = listed.get(EXCHANGE_KEY).cloned().unwrap_or_default();
            **listed == named_exchange(call, exchange)
        });
        listed?.get(EXCHANGE_KEY).cloned()
    }

    /// Returns what the provider reported about the last call.
    fn reported(&self) -> Object {
        let meta = self.recorded.meta.without(USAGE_KEY).without(EXCHANGES_KEY);
        match &self.step.control.flow {
            Flow::Foreach(_) => FLOW_KEYS.iter().fold(meta, |meta, key| meta.without(key)),
            _ => meta,
        }
    }

    fn item_failure(&self, item: u64) -> Option<&Object> {
        let errors = self.recorded.meta.get("foreach_errors").and_then(Value::as_array)?;
        let is_item = |error: &&Object| error.get("index").and_then(Value::as_u64) == Some(item);
        errors.iter().filter_map(Value::as_object).find(is_item)
    }

    /// Returns class and message of the failure of an item or branch of a step that completed all the same.
    fn part_failure(&self, id: &str, place: &CallPlace) -> (String, String) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let branches = self.recorded.meta.get("scatter_errors").and_then(Value::as_object);
        let branch = branches.and_then(|branches| branches.get(id));
        match self.item_failure(place.item).or_else(|| branch.and_then(Value::as_object)) {
            Some(error) => (text(error.get("class")), text(error.get("message"))),
            // Records of earlier versions have the message alone.
            None => (String::new(), text(branch)),
        }
    }

    /// Returns the failure of the call of an item or branch of a step that completed all the same.
    fn item_error(&self, id: &str, place: &CallPlace) -> CallError {
        let (class, message) = self.part_failure(id, place);
        let class = if class == ErrorClass::StepTimeout.name() { TIMED_OUT } else { "" };
        self.failed(id, class, &message)
    }

    /// Returns the failure of the call that made the step fail.
    fn call_error(&self, id: &str) -> CallError {
        let Some(failure) = &self.recorded.failure else { return no_reply() };
        let of_branch =
            failure.cause.as_deref().filter(|_| matches!(self.step.control.flow, Flow::Scatter(_)));
        let failure = of_branch.unwrap_or(failure);
        match (&failure.class, failure.cause.as_deref()) {
            (ErrorClass::BudgetExceeded, _) => self.failed(id, BUDGET_EXCEEDED, &failure.message),
            (ErrorClass::StepTimeout, _) => self.failed(id, TIMED_OUT, &failure.message),
            (_, Some(cause)) => self.failed(id, cause.class.name(), &cause.message),
            (_, None) => no_reply(),
        }
    }

    /// Returns the failure of a call that the record does not list. A call that is not pure and was made is listed, so this
    /// one was refused.
    fn failed(&self, id: &str, class: &str, message: &str) -> CallError {
        let was_refused = [INPUT_REFUSED, BUDGET_EXCEEDED].contains(&class);
        let class = match self.host.effect(id) {
            Effect::Pure => class,
            _ if was_refused => class,
            _ => INPUT_REFUSED,
        };
        let message = message.strip_prefix(&format!("`{id}`: ")).unwrap_or(message);
        CallError::Failed { class: class.into(), message: message.into() }
    }
}

fn no_reply() -> CallError {
    CallError::Failed { class: "NotRecorded".into(), message: UNKNOWN_CAUSE.into() }
}

impl Registry for Replies<'_> {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.worker.capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.again.host.skill(id)
    }

    fn cognitive_types(&self) -> CognitiveTypes {
        self.worker.cognitive_types()
    }
}

impl Capabilities for Replies<'_> {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        if let Some(listed) = self.listed.get(&*format!("{}{}", self.path, call.key())) {
            return self.possible(call, listed.reply.clone());
        }
        if self.again.host.is_recomputed(call.capability) {
            return self.worker.call(call);
        }
        let reply = match call.purpose {
            CallPurpose::Step => {
                let reply = self.step_reply(call.capability, call.place);
                // Of a loop or of branches the record has the replies put together.
                match self.again.step.control.flow {
                    Flow::Once | Flow::While(_) => self.possible(call, reply),
                    Flow::Foreach(_) | Flow::Scatter(_) => reply,
                }
            }
            CallPurpose::GateBefore | CallPurpose::GateAfter => self.gate_answer(call.capability),
            // A question to a person is always listed.
            CallPurpose::Confirmation => Err(no_reply()),
        };
        match self.again.exchange(call) {
            Some(exchange) => {
                reply.map(|reply| Reply { meta: reply.meta.with(EXCHANGE_KEY, exchange), ..reply })
            }
            None => reply,
        }
    }

    fn failed_exchange(&mut self, call: &Call<'_>) -> Option<Value> {
        self.again.exchange(call)
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        one_by_one(self, tasks)
    }

    fn wait(&mut self, _: Float) {}

    fn elapsed_seconds(&mut self) -> Float {
        Float::new(0.0).expect("zero is finite")
    }

    fn effect(&self, capability: &str) -> Effect {
        self.again.host.effect(capability)
    }

    fn known_nested_run(&mut self, run: &NestedCall<'_>) -> Option<NestedReply> {
        self.has_nested = true;
        let recorded = self.again.recorded;
        let name = format!("skill:{}", run.skill_id);
        let failed = |class: &str, message: &str| Failure::new(ErrorClass::named(class), message);
        let result = match recorded.status {
            StepStatus::Completed => self.again.output_at(&name, run.place).ok_or_else(|| {
                let (class, message) = self.again.part_failure(&name, run.place);
                failed(&class, &message)
            }),
            StepStatus::Failed | StepStatus::Skipped | StepStatus::Degraded => {
                Err(recorded.failure.clone().unwrap_or_else(|| failed("", UNKNOWN_CAUSE)))
            }
        };
        let made = recorded.calls.iter().filter_map(|call| {
            let key = call.key.strip_prefix(&*self.path).filter(|key| key.starts_with(run.path))?;
            Some(MadeCall { key: key.into(), ..call.clone() })
        });
        let made = made.collect();
        Some(NestedReply { result, made, link: self.take_link(run.run_id) })
    }
}
