//! The parts of a step that failed while the step continued without them: items of a loop, branches, steps of nested skills.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::StepOutcome;
use crate::failure::Failure;
use crate::state::StepStatus;

/// The member of an outcome's `meta` that lists the failed items of a `foreach`.
pub(super) const FOREACH_ERRORS_KEY: &str = "foreach_errors";

/// The member of an outcome's `meta` that lists the failed branches of a `scatter`, by name.
pub(super) const SCATTER_ERRORS_KEY: &str = "scatter_errors";

/// The member of an outcome's `meta` that lists what failed inside nested skills that completed all the same.
pub const NESTED_ERRORS_KEY: &str = "nested_errors";

/// A part of a step that failed while the step continued without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedPart {
    /// The part.
    pub part: Part,
    /// The class of the failure.
    pub class: Arc<str>,
    /// The message of the failure; empty where the record has none.
    pub message: Arc<str>,
}

/// A part of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// An item of a `foreach`, by its place in the list.
    Item(u64),
    /// A branch of a `scatter`.
    Branch(Arc<str>),
    /// A step of a nested skill, or a part of it.
    Nested {
        /// The nested skill.
        skill: Arc<str>,
        /// The step, and its part.
        step: Arc<str>,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(index) => write!(out, "item {index}"),
            Self::Branch(name) => write!(out, "branch {name}"),
            Self::Nested { skill, step } => write!(out, "skill {skill}: {step}"),
        }
    }
}

impl FailedPart {
    /// Describes the failure in a line.
    pub fn text(&self) -> String {
        let Self { part, class, message } = self;
        let why: &str = if message.is_empty() { class } else { message };
        format!("{part} failed: {why}")
    }

    /// Describes the failure of an item of a `foreach` for the record.
    pub(super) fn item(index: usize, failure: &Failure) -> Object {
        described(failure).with("index", index)
    }

    /// Describes the failures of branches for the record.
    pub(super) fn branches(failed: &[(Arc<str>, Failure)]) -> Object {
        failed.iter().map(|(name, failure)| (name.clone(), described(failure))).collect()
    }

    /// Describes what failed in the steps of a nested skill for the record.
    pub fn nested(skill: &Arc<str>, outcomes: &[StepOutcome]) -> Vec<Value> {
        let mut found = Vec::new();
        let mut note = |step: String, class: &str, message: &Arc<str>| {
            let members = [("skill", Value::from(skill.clone())), ("step", step.into())];
            let failure = [("class", Value::from(class)), ("message", message.clone().into())];
            found.push(members.into_iter().chain(failure).collect::<Object>().into());
        };
        for outcome in outcomes {
            if let Some(failure) = &outcome.failure {
                note(outcome.step_id.to_string(), failure.class.name(), &failure.message);
            }
            for part in outcome.failed_parts() {
                note(format!("{}: {}", outcome.step_id, part.part), &part.class, &part.message);
            }
        }
        found
    }
}

fn described(failure: &Failure) -> Object {
    Object::from_iter([
        ("class", failure.class.name().into()),
        ("message", Value::from(failure.message.clone())),
    ])
}

impl StepOutcome {
    /// Returns the parts that failed while the step continued without them.
    pub fn failed_parts(&self) -> Vec<FailedPart> {
        if self.status == StepStatus::Failed {
            return Vec::new();
        }
        let items = self.meta.get(FOREACH_ERRORS_KEY).and_then(Value::as_array).unwrap_or_default();
        let items = items
            .iter()
            .filter_map(|error| Some(part(Part::Item(error.get("index").and_then(Value::as_u64)?), error)));
        let branches = self.meta.get(SCATTER_ERRORS_KEY).and_then(Value::as_object);
        let branches = branches.into_iter().flat_map(|branches| branches.iter());
        let branches = branches.map(|(name, error)| part(Part::Branch(name.clone()), error));
        let nested = self.meta.get(NESTED_ERRORS_KEY).and_then(Value::as_array).unwrap_or_default();
        let nested = nested.iter().map(|error| {
            part(Part::Nested { skill: text(error, "skill"), step: text(error, "step") }, error)
        });
        items.chain(branches).chain(nested).collect()
    }

    /// Returns whether the step, or a part of it, failed.
    pub fn has_failures(&self) -> bool {
        self.status == StepStatus::Failed || !self.failed_parts().is_empty()
    }
}

/// Describes the steps and the parts of steps that failed, one text each, in the order of the outcomes.
pub fn describe_failures<'o>(outcomes: impl IntoIterator<Item = &'o StepOutcome>) -> Vec<String> {
    let mut found = Vec::new();
    for outcome in outcomes {
        let step = &outcome.step_id;
        if outcome.status == StepStatus::Failed {
            let why = outcome.failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
            found.push(format!("step {step} failed{why}"));
        }
        let parts = outcome.failed_parts();
        found.extend(parts.iter().map(|failed| format!("step {step}, {}", failed.text())));
    }
    found
}

/// Reads a failure that a record describes: an object with class and message, or only a message.
fn part(part: Part, error: &Value) -> FailedPart {
    let message = match error.as_str() {
        Some(message) => message.into(),
        None => text(error, "message"),
    };
    FailedPart { part, class: text(error, "class"), message }
}

fn text(value: &Value, key: &str) -> Arc<str> {
    value.get(key).and_then(Value::as_str).unwrap_or_default().into()
}
