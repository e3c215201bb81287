//! Operations as the data writes them, and answers in the form it compares.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_variables::{
    Delete, Get, Init, Name, Op, Origin, ReadForm, Rename, Reply, Rollback, Set, TakeCheckpoint,
};

/// The code of a refusal. A member of the wrong kind never reaches the store, so its code is given here.
type Read<T> = Result<T, &'static str>;

pub(super) fn read_op(object: &Object) -> Read<Op> {
    let op = Members(object);
    Ok(match op.name("op").as_ref() {
        "set" => Op::Set(op.set(op.name("name"))?),
        "set_final" => Op::Set(op.set(Name::final_answer().shared())?),
        "get" => {
            let raw = op.boolean("raw")?.unwrap_or(false);
            let form = if raw { ReadForm::Raw } else { ReadForm::Loaded };
            Op::Get(Get { name: op.name("name"), scope: op.scope()?, form })
        }
        "delete" => Op::Delete(Delete {
            name: op.name("name"),
            scope: op.scope()?,
            origin: op.origin()?,
            if_mutation_count: op.count("if_mutation_count")?,
        }),
        "rename" => Op::Rename(Rename {
            name: op.name("name"),
            to: op.name("to"),
            scope: op.scope()?,
            origin: op.origin()?,
            if_mutation_count: op.count("if_mutation_count")?,
        }),
        "checkpoint" => Op::Checkpoint(TakeCheckpoint {
            name: op.text("name")?.unwrap_or_default(),
            description: op.text("description")?,
            if_mutation_count: op.count("if_mutation_count")?,
        }),
        "rollback" => Op::Rollback(Rollback {
            to: op.text("to")?.unwrap_or_default(),
            if_mutation_count: op.count("if_mutation_count")?,
        }),
        "fail" => Op::Fail { reason: op.text("reason")? },
        "cancel" => Op::Cancel { reason: op.text("reason")? },
        "check_completion" => Op::CheckCompletion,
        "status" => Op::Status,
        "list" => Op::List,
        "child_result" => Op::ChildResult { child: op.name("child").parse().map_err(|_| "invalid_id")? },
        "tree_status" => Op::TreeStatus,
        _ => return Err("invalid_argument"),
    })
}

pub(super) fn read_init(object: &Object) -> Read<Init> {
    let op = Members(object);
    let parent = op.id("parent").map(|text| text.parse()).transpose();
    Ok(Init {
        prompt: object.get("prompt").cloned(),
        state_id: op.id("state_id"),
        session_id: op.id("session_id"),
        tree_id: op.id("tree_id"),
        parent: parent.map_err(|_| "invalid_id")?,
        execution_config: op.present("execution_config").cloned(),
        lives_in: None,
        spawned_by: None,
    })
}

/// Returns the members of a result that the data may compare.
pub(super) fn answer(reply: &Reply) -> Object {
    let names = |names: &[Name]| names.iter().map(Name::shared).collect::<Value>();
    let members: Vec<(&str, Value)> = match reply {
        Reply::Created { status, .. } | Reply::Status(status) => vec![("status", (*status).into())],
        Reply::Written(written) => {
            let warnings = written.warnings.iter().map(|warning| warning.code());
            let mut members = vec![("operation", written.operation.into())];
            members.extend(written.spilled.then(|| ("spilled", true.into())));
            members.extend((!written.warnings.is_empty()).then(|| ("warnings", warnings.collect())));
            members.extend(written.status.map(|status| ("status", status.into())));
            members
        }
        Reply::Value { value, value_type, spill_reference } => {
            let mut members = vec![("value", value.clone()), ("type", (*value_type).into())];
            members.extend(spill_reference.then(|| ("reference", true.into())));
            members
        }
        Reply::Done => Vec::new(),
        Reply::RolledBack { changed, status } => {
            vec![("changed", names(changed)), ("status", (*status).into())]
        }
        Reply::Names(all) => vec![("names", names(all))],
        Reply::Tree { complete } => vec![("complete", (*complete).into())],
    };
    members.into_iter().collect()
}

struct Members<'a>(&'a Object);

impl<'a> Members<'a> {
    /// Returns a member; one that is null counts as not mentioned.
    fn present(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Read<Option<Arc<str>>> {
        self.word(key, "invalid_argument")
    }

    /// Returns a text; `code` names the rule that a member of another kind breaks.
    fn word(&self, key: &str, code: &'static str) -> Read<Option<Arc<str>>> {
        match self.present(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(code),
        }
    }

    /// Returns a name; a member of another kind is a name the store refuses.
    fn name(&self, key: &str) -> Arc<str> {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default().into()
    }

    /// Returns an id; a member of another kind is an id the store refuses.
    fn id(&self, key: &str) -> Option<Arc<str>> {
        self.present(key).map(|value| value.as_str().map_or_else(|| value.to_string().into(), Into::into))
    }

    fn boolean(&self, key: &str) -> Read<Option<bool>> {
        self.present(key).map(|value| value.as_bool().ok_or("invalid_argument")).transpose()
    }

    fn count(&self, key: &str) -> Read<Option<u64>> {
        self.present(key).map(|value| value.as_u64().ok_or("invalid_argument")).transpose()
    }

    fn scope(&self) -> Read<Option<Arc<str>>> {
        self.word("scope", "invalid_scope")
    }

    fn origin(&self) -> Read<Origin> {
        Ok(Origin {
            source: self.text("source")?,
            reason: self.text("reason")?,
            task_node_id: self.text("task_node_id")?,
        })
    }

    fn set(&self, name: Arc<str>) -> Read<Set> {
        Ok(Set {
            name,
            value: self.0.get("value").cloned().unwrap_or_default(),
            value_type: self.word("type", "invalid_type")?,
            scope: self.scope()?,
            ttl_seconds: self.present("ttl_seconds").cloned(),
            read_only: self.boolean("read_only")?,
            description: self.text("description")?,
            origin: self.origin()?,
            if_mutation_count: self.count("if_mutation_count")?,
        })
    }
}
