//! Operations as JSON, to be sent, or hashed as the input of a step.

use hence_canon::Object;

use crate::Origin;
use crate::fields::Members;
use crate::op::{Form, Init, Op, Set};

impl Op {
    /// Returns the operation as an object. [`Op::from_object`] reads it back.
    pub fn to_object(&self) -> Object {
        let op = |word: &str| Members::default().set("op", word);
        match self {
            Self::Set(set) => encode_set(set),
            Self::Get(get) => op("get")
                .set("name", get.name.clone())
                .some("scope", get.scope.clone())
                .some("raw", (get.form == Form::Raw).then_some(true))
                .object(),
            Self::Delete(delete) => origin(op("delete"), &delete.origin)
                .set("name", delete.name.clone())
                .some("scope", delete.scope.clone())
                .some("if_mutation_count", delete.if_mutation_count)
                .object(),
            Self::Rename(rename) => origin(op("rename"), &rename.origin)
                .set("name", rename.name.clone())
                .set("to", rename.to.clone())
                .some("scope", rename.scope.clone())
                .some("if_mutation_count", rename.if_mutation_count)
                .object(),
            Self::Checkpoint(take) => op("checkpoint")
                .set("name", take.name.clone())
                .some("description", take.description.clone())
                .some("if_mutation_count", take.if_mutation_count)
                .object(),
            Self::Rollback(rollback) => op("rollback")
                .set("to", rollback.to.clone())
                .some("if_mutation_count", rollback.if_mutation_count)
                .object(),
            Self::Fail { reason } => op("fail").some("reason", reason.clone()).object(),
            Self::Cancel { reason } => op("cancel").some("reason", reason.clone()).object(),
            Self::CheckCompletion => op("check_completion").object(),
            Self::Status => op("status").object(),
            Self::List => op("list").object(),
            Self::ChildResult { child } => op("child_result").set("child", *child).object(),
            Self::TreeStatus => op("tree_status").object(),
        }
    }
}

impl Init {
    /// Returns the operation as an object. [`Init::from_object`] reads it back.
    pub fn to_object(&self) -> Object {
        Members::default()
            .set("op", "init")
            .some("prompt", self.prompt.clone())
            .some("state_id", self.state_id.clone())
            .some("session_id", self.session_id.clone())
            .some("tree_id", self.tree_id.clone())
            .some("parent", self.parent)
            .some("execution_config", self.execution_config.clone())
            .object()
    }
}

fn encode_set(set: &Set) -> Object {
    origin(Members::default().set("op", "set"), &set.origin)
        .set("name", set.name.clone())
        .set("value", set.value.clone())
        .some("type", set.value_type.clone())
        .some("scope", set.scope.clone())
        .some("ttl_seconds", set.ttl_seconds.clone())
        .some("read_only", set.read_only)
        .some("description", set.description.clone())
        .some("if_mutation_count", set.if_mutation_count)
        .object()
}

fn origin(members: Members, origin: &Origin) -> Members {
    members
        .some("source", origin.source.clone())
        .some("reason", origin.reason.clone())
        .some("task_node_id", origin.task_node_id.clone())
}
