//! The frame: why a run exists. Given at creation, frozen for its whole life.

use std::sync::Arc;

use hence_canon::{Object, Value};

/// Immutable reasoning context of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// What the run is for.
    pub goal: Option<Arc<str>>,
    /// Background that steps may read.
    pub context: Object,
    /// Boundaries such as a budget.
    pub constraints: Object,
    /// When the goal counts as reached.
    pub success_criteria: Object,
    /// What is taken for granted.
    pub assumptions: Arc<[Arc<str>]>,
    /// How urgent it is.
    pub priority: Option<Arc<str>>,
}

impl Frame {
    /// The fields in the order of the document.
    pub const FIELDS: [&'static str; 6] =
        ["goal", "context", "constraints", "success_criteria", "assumptions", "priority"];

    /// Returns a field by name.
    pub fn field(&self, name: &str) -> Option<Value> {
        Some(match name {
            "goal" => self.goal.clone().into(),
            "context" => self.context.clone().into(),
            "constraints" => self.constraints.clone().into(),
            "success_criteria" => self.success_criteria.clone().into(),
            "assumptions" => self.assumptions.iter().cloned().collect(),
            "priority" => self.priority.clone().into(),
            _ => return None,
        })
    }

    /// Returns all fields as an object.
    pub fn to_object(&self) -> Object {
        Self::FIELDS.into_iter().filter_map(|name| Some((name, self.field(name)?))).collect()
    }
}
