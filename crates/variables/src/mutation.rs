//! Entries of a state's log.

use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::{MutationId, Operation, Timestamp};

/// One change of one variable, as the log tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// Its id.
    pub id: MutationId,
    /// What it did.
    pub operation: Operation,
    /// To which variable. For a rename, the old name.
    pub variable_name: Arc<str>,
    /// The value before, for updates and deletions; the old name for a rename.
    pub old_value: Option<Value>,
    /// The value after, for creations and updates; the new name for a rename.
    pub new_value: Option<Value>,
    /// What caused it.
    pub source: Option<Arc<str>>,
    /// When. Timestamps in a log never go down.
    pub timestamp: Timestamp,
    /// `reason`, `task_node_id` and whatever else is known about the cause.
    pub metadata: Object,
    /// Members a document carried that this crate does not know.
    pub extra: Object,
}

/// Who asked for a change and why; all of it optional.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// What caused the change: a task, a person, a computation.
    pub source: Option<Arc<str>>,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// The node of the task tree that asked.
    pub task_node_id: Option<Arc<str>>,
}

impl Origin {
    /// Returns the origin with a source and nothing else.
    pub fn source(source: &str) -> Self {
        Self { source: Some(source.into()), ..Self::default() }
    }

    /// Returns what goes to the `metadata` of a log entry.
    pub(crate) fn metadata(&self) -> Object {
        let members = [("reason", &self.reason), ("task_node_id", &self.task_node_id)];
        members.into_iter().filter_map(|(key, value)| Some((key, Value::from(value.clone()?)))).collect()
    }
}
