//! What can be asked of a state, as it is asked: nothing here is checked yet.

use std::sync::Arc;

use hence_canon::Value;

use crate::{Import, Origin, StateId};

mod decode;
mod encode;

/// A request to a workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// Bring a state into being.
    Init(Init),
    /// Take in a state from a document.
    Import(Box<Import>),
    /// Ask something of a state.
    On {
        /// Which.
        state: StateId,
        /// What.
        op: Op,
    },
}

/// The birth of a state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Init {
    /// The task.
    pub prompt: Option<Value>,
    /// The id; the next free one when absent.
    pub state_id: Option<Arc<str>>,
    /// The session to join.
    pub session_id: Option<Arc<str>>,
    /// The task tree to join.
    pub tree_id: Option<Arc<str>>,
    /// The state that spawns this one; its tree and session are joined.
    pub parent: Option<StateId>,
    /// How to execute.
    pub execution_config: Option<Value>,
}

impl Init {
    /// Returns the birth of a state with this task and nothing else.
    pub fn with_prompt(prompt: impl Into<Value>) -> Self {
        Self { prompt: Some(prompt.into()), ..Self::default() }
    }
}

/// An operation on a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Write a variable, creating it when there is none.
    Set(Set),
    /// Read a variable.
    Get(Get),
    /// Delete a variable.
    Delete(Delete),
    /// Give a variable another name.
    Rename(Rename),
    /// Name the present position.
    Checkpoint(TakeCheckpoint),
    /// Return to a checkpoint.
    Rollback(Rollback),
    /// End the task as failed.
    Fail {
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// Call the task off.
    Cancel {
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// Ask whether `Final` is set.
    CheckCompletion,
    /// Ask for the status.
    Status,
    /// Ask for the names of all variables.
    List,
    /// Fetch the `Final` of a child.
    ChildResult {
        /// The child.
        child: StateId,
    },
    /// Ask whether the whole task tree is complete.
    TreeStatus,
}

/// A write.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Set {
    /// The name.
    pub name: Arc<str>,
    /// The value.
    pub value: Value,
    /// The type; inferred from the value when absent.
    pub value_type: Option<Arc<str>>,
    /// The scope; the narrowest that has the name, else session, when absent.
    pub scope: Option<Arc<str>>,
    /// The time to live.
    pub ttl_seconds: Option<Value>,
    /// Whether to refuse further writes.
    pub read_only: Option<bool>,
    /// What the variable is for.
    pub description: Option<Arc<str>>,
    /// Who asks.
    pub origin: Origin,
    /// Refuse unless the state has had exactly this many mutations.
    pub if_mutation_count: Option<u64>,
}

impl Set {
    /// Returns a plain write.
    pub fn new(name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self { name: name.into(), value: value.into(), ..Self::default() }
    }

    /// Returns the write that completes the task.
    pub fn final_answer(value: impl Into<Value>) -> Self {
        Self::new(crate::name::FINAL, value)
    }
}

/// A read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Get {
    /// The name.
    pub name: Arc<str>,
    /// The scope; the narrowest that has the name when absent.
    pub scope: Option<Arc<str>>,
    /// What to give for a value that lives in a file.
    pub form: Form,
}

/// What a read gives for a value that lives in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// The value.
    #[default]
    Loaded,
    /// The reference.
    Raw,
}

/// A deletion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delete {
    /// The name.
    pub name: Arc<str>,
    /// The scope; the narrowest that has the name when absent.
    pub scope: Option<Arc<str>>,
    /// Who asks.
    pub origin: Origin,
    /// Refuse unless the state has had exactly this many mutations.
    pub if_mutation_count: Option<u64>,
}

/// A change of name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rename {
    /// The present name.
    pub name: Arc<str>,
    /// The new name.
    pub to: Arc<str>,
    /// The scope; the narrowest that has the name when absent.
    pub scope: Option<Arc<str>>,
    /// Who asks.
    pub origin: Origin,
    /// Refuse unless the state has had exactly this many mutations.
    pub if_mutation_count: Option<u64>,
}

/// A checkpoint to take.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakeCheckpoint {
    /// Its name.
    pub name: Arc<str>,
    /// What happened there.
    pub description: Option<Arc<str>>,
    /// Refuse unless the state has had exactly this many mutations.
    pub if_mutation_count: Option<u64>,
}

/// A return to a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rollback {
    /// The checkpoint's name.
    pub to: Arc<str>,
    /// Refuse unless the state has had exactly this many mutations.
    pub if_mutation_count: Option<u64>,
}

impl Rollback {
    /// Returns the way back to a checkpoint, whatever happened since.
    pub fn to(name: impl Into<Arc<str>>) -> Self {
        Self { to: name.into(), if_mutation_count: None }
    }
}
