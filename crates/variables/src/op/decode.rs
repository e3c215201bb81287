//! Operations as JSON: one object, `op` names the operation.

use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::op::{Delete, Form, Get, Init, Op, Rename, Rollback, Set, TakeCheckpoint};
use crate::words::{Scope, UnknownWord, ValueType};
use crate::{Origin, Refusal};

impl Op {
    /// Reads an operation.
    ///
    /// # Errors
    /// [`Refusal`] with the code of the rule for a member of the wrong kind, and `invalid_argument` for an operation
    /// that does not exist.
    pub fn from_object(object: &Object) -> Result<Self, Refusal> {
        let op = Members(object);
        let word = op.text("op")?.unwrap_or_default();
        Ok(match &*word {
            "set" => Self::Set(op.set(op.name("name"))?),
            "set_final" => Self::Set(op.set(crate::name::FINAL.into())?),
            "get" => {
                let raw = op.boolean("raw")?.unwrap_or(false);
                let form = if raw { Form::Raw } else { Form::Loaded };
                Self::Get(Get { name: op.name("name"), scope: op.scope()?, form })
            }
            "delete" => Self::Delete(Delete {
                name: op.name("name"),
                scope: op.scope()?,
                origin: op.origin()?,
                if_mutation_count: op.guard()?,
            }),
            "rename" => Self::Rename(Rename {
                name: op.name("name"),
                to: op.name("to"),
                scope: op.scope()?,
                origin: op.origin()?,
                if_mutation_count: op.guard()?,
            }),
            "checkpoint" => Self::Checkpoint(TakeCheckpoint {
                name: op.text("name")?.unwrap_or_default(),
                description: op.text("description")?,
                if_mutation_count: op.guard()?,
            }),
            "rollback" => Self::Rollback(Rollback {
                to: op.text("to")?.unwrap_or_default(),
                if_mutation_count: op.guard()?,
            }),
            "fail" => Self::Fail { reason: op.text("reason")? },
            "cancel" => Self::Cancel { reason: op.text("reason")? },
            "check_completion" => Self::CheckCompletion,
            "status" => Self::Status,
            "list" => Self::List,
            "child_result" => Self::ChildResult { child: op.text("child")?.unwrap_or_default().parse()? },
            "tree_status" => Self::TreeStatus,
            other => {
                let found = format!("{other:?}");
                return Err(Refusal::InvalidArgument {
                    what: "op",
                    expected: "the name of an operation",
                    found,
                });
            }
        })
    }
}

impl Init {
    /// Reads the members of an `init` operation.
    ///
    /// # Errors
    /// [`Refusal`] for a member of the wrong kind.
    pub fn from_object(object: &Object) -> Result<Self, Refusal> {
        let op = Members(object);
        Ok(Self {
            prompt: object.get("prompt").cloned(),
            state_id: op.id("state_id"),
            session_id: op.id("session_id"),
            tree_id: op.id("tree_id"),
            parent: op.id("parent").map(|text| text.parse()).transpose()?,
            execution_config: op.present("execution_config").cloned(),
            // How runs hang together is told by whoever has both.
            lives_in: None,
            spawned_by: None,
        })
    }
}

struct Members<'a>(&'a Object);

impl<'a> Members<'a> {
    /// Returns a member; one that is null counts as not mentioned.
    fn present(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn wrong(key: &'static str, expected: &'static str, found: &Value) -> Refusal {
        let found = found.to_string().chars().take(80).collect();
        Refusal::InvalidArgument { what: key, expected, found }
    }

    fn text(&self, key: &'static str) -> Result<Option<Arc<str>>, Refusal> {
        match self.present(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Self::wrong(key, "a text", other)),
        }
    }

    /// Returns a name. What is no text is no name and is refused as such in its turn.
    fn name(&self, key: &str) -> Arc<str> {
        match self.0.get(key) {
            Some(Value::String(text)) => text.clone(),
            _ => "".into(),
        }
    }

    /// Returns an id. What is no text is no id and is refused as such in its turn.
    fn id(&self, key: &str) -> Option<Arc<str>> {
        Some(match self.present(key)? {
            Value::String(text) => text.clone(),
            other => format!("<{}>", other.kind()).into(),
        })
    }

    fn boolean(&self, key: &'static str) -> Result<Option<bool>, Refusal> {
        match self.present(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(Self::wrong(key, "a boolean", other)),
        }
    }

    /// Returns a word; what is no text is none of the words.
    fn word(&self, key: &str, allowed: &'static [&'static str]) -> Result<Option<Arc<str>>, UnknownWord> {
        match self.present(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(UnknownWord { allowed, found: other.kind().to_string() }),
        }
    }

    fn scope(&self) -> Result<Option<Arc<str>>, Refusal> {
        self.word("scope", Scope::WORDS).map_err(Refusal::InvalidScope)
    }

    fn origin(&self) -> Result<Origin, Refusal> {
        Ok(Origin {
            source: self.text("source")?,
            reason: self.text("reason")?,
            task_node_id: self.text("task_node_id")?,
        })
    }

    fn guard(&self) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.present("if_mutation_count") else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| Self::wrong("if_mutation_count", "a count", value))
    }

    fn set(&self, name: Arc<str>) -> Result<Set, Refusal> {
        Ok(Set {
            name,
            value: self.0.get("value").cloned().unwrap_or_default(),
            value_type: self.word("type", ValueType::WORDS).map_err(Refusal::InvalidType)?,
            scope: self.scope()?,
            ttl_seconds: self.present("ttl_seconds").cloned(),
            read_only: self.boolean("read_only")?,
            description: self.text("description")?,
            origin: self.origin()?,
            if_mutation_count: self.guard()?,
        })
    }
}
