//! Verdicts: the status of a policy on a trace, with witnesses and an explanation.

mod absence;
mod explain;
mod judge;
mod witness;

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

pub use explain::{ActionRef, Explanation, Step};
pub(crate) use judge::judge;

use crate::eval::{Datum, Subject};
use crate::policy::PolicyId;

/// The number of violating actions that a line of text names. JSON names all of them.
const ACTIONS_NAMED_MAX: usize = 20;

/// The verdict of a policy on a trace.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The policy.
    pub policy_id: PolicyId,
    /// The name of the policy; its id if it has no other.
    pub policy_name: String,
    /// The statement of the policy in plain words, if it has one.
    pub statement: Option<String>,
    /// The severity of a failure.
    pub severity: PolicySeverity,
    /// The status.
    pub status: EvaluationStatus,
    /// Whether the policy passed only because nothing it speaks of occurs in the trace.
    pub absent: bool,
    /// The highest action id of the trace.
    pub checked_at_action_id: Option<i64>,
    /// The parts of the trace that satisfied the policy where it applied.
    pub evidence: Witnesses,
    /// The parts of the trace that violated it.
    pub violating: Witnesses,
    /// Every action that violates it, also of a formula whose recorded verdict names none, such as a count. For people.
    pub offending: Vec<i64>,
    /// Words that were searched for in texts: the verdict rests on a guess about them.
    pub heuristic_words: Vec<String>,
    /// The explanation of a failure.
    pub explanation: Option<Explanation>,
    /// The reason for `unknown` or `not_applicable`.
    pub reason: Option<String>,
}

impl Verdict {
    /// Returns the actions that violate the policy, where there are several: the first ones, and how many more.
    pub(crate) fn violating_actions(&self) -> Option<String> {
        let ids = &self.offending;
        if self.status != EvaluationStatus::Failed || ids.len() < 2 {
            return None;
        }
        let named: Vec<String> = ids.iter().take(ACTIONS_NAMED_MAX).map(ToString::to_string).collect();
        let more = match ids.len().saturating_sub(ACTIONS_NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("violated by actions {}{more}", named.join(", ")))
    }

    /// Returns the explanation or the reason in one sentence, if there is one.
    pub fn note(&self) -> Option<String> {
        self.explanation.as_ref().map(ToString::to_string).or_else(|| self.reason.clone())
    }
}

impl Verdict {
    /// Returns the evaluation as a trace records it, without empty lists.
    pub fn record(&self) -> Object {
        let mut record: Object =
            [("policy_id", Value::from(self.policy_id.as_str())), ("status", self.status.into())]
                .into_iter()
                .collect();
        if let Some(id) = self.checked_at_action_id {
            record = record.with("checked_at_action_id", id);
        }
        for (prefix, witnesses) in [("evidence", &self.evidence), ("violating", &self.violating)] {
            record = with_list(record, &format!("{prefix}_action_ids"), &witnesses.action_ids);
            record = with_list(record, &format!("{prefix}_artifact_ids"), &witnesses.artifact_ids);
        }
        match self.note() {
            Some(note) => record.with("note", note),
            None => record,
        }
    }

    /// Returns the whole verdict as JSON.
    pub fn to_value(&self) -> Value {
        let mut full = self.record().with("severity", self.severity);
        for (prefix, witnesses) in [("evidence", &self.evidence), ("violating", &self.violating)] {
            let Witnesses { residual_ids, elements, .. } = witnesses;
            full = with_list(full, &format!("{prefix}_residual_ids"), residual_ids);
            full = with_list(full, &format!("{prefix}_elements"), elements);
        }
        full = with_list(full, "heuristic_words", &self.heuristic_words);
        if let Some(explanation) = &self.explanation {
            full = full.with("explanation", explanation.to_value());
        }
        full.into()
    }
}

impl Explanation {
    /// Returns the steps as a list of objects.
    pub fn to_value(&self) -> Value {
        let steps = self.steps.iter().map(|step| {
            let mut object: Object = Object::new();
            if let Some(action) = &step.action {
                object = object.with("position", action.position);
                if let Some(id) = action.id {
                    object = object.with("action_id", id);
                }
                object = object.with("action_type", action.action_type.clone());
            }
            Value::from(object.with("found", step.found.clone()))
        });
        steps.collect()
    }
}

fn with_list<T: Clone + Into<Value>>(object: Object, key: &str, items: &[T]) -> Object {
    if items.is_empty() { object } else { object.with(key, items.iter().cloned().collect::<Value>()) }
}

/// Parts of a trace a verdict points at, each list in the order of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// Ids of actions.
    pub action_ids: Vec<i64>,
    /// Ids of artifacts: what those actions produced, and artifacts the policy itself speaks of.
    pub artifact_ids: Vec<Arc<str>>,
    /// Ids of residuals.
    pub residual_ids: Vec<Arc<str>>,
    /// Other elements, by id or place.
    pub elements: Vec<Arc<str>>,
}

impl Witnesses {
    /// Makes the witnesses of some positions: the actions and their outputs.
    pub(crate) fn at(subject: &Subject, positions: impl IntoIterator<Item = usize>) -> Self {
        let mut witnesses = Self::default();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for position in positions {
            let Some(action) = subject.trace().actions().get(position) else { continue };
            witnesses.action_ids.extend(subject.action_id(position));
            // The ids share their text with the trace: a rule that fails everywhere names very many.
            for output in action.items("outputs") {
                if let Value::String(id) = output
                    && seen.insert(id)
                {
                    witnesses.artifact_ids.push(id.clone());
                }
            }
        }
        witnesses
    }

    /// Adds an element a quantifier ranged over.
    pub(crate) fn add(&mut self, subject: &Subject, datum: &Datum<'_>) {
        match datum {
            Datum::Artifact(id) => push_new(&mut self.artifact_ids, id),
            Datum::Action(at) => {
                self.action_ids.extend(subject.action_id(*at));
            }
            Datum::Element(element) if &*element.list == "residuals" => {
                push_new(&mut self.residual_ids, &element.name());
            }
            Datum::Element(element) => push_new(&mut self.elements, &element.name()),
            other => {
                if let Some(text) = other.as_text() {
                    push_new(&mut self.elements, text);
                }
            }
        }
    }
}

/// Adds an id once. The lists are short: offending elements, not all elements.
fn push_new(list: &mut Vec<Arc<str>>, id: &str) {
    if !list.iter().any(|known| &**known == id) {
        list.push(id.into());
    }
}
