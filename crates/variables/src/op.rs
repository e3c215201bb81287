//! What can be asked of a state, as it is asked: nothing here is checked yet.

use std::sync::Arc;

use hence_canon::Value;

use crate::{
    Import, Name, NameWarning, Operation, Origin, Shared, Spawner, StateId, Status, Stored, ValueType,
};

/// A request to a workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// Bring a state into being.
    Init(Init),
    /// Take in a state from a document.
    Import(Box<Import>),
    /// Take in what another run left in a layer that is shared with it.
    Share {
        /// The state that sees the layer.
        state: StateId,
        /// What it left.
        shared: Box<Shared>,
    },
    /// Take in how a child that lives in another run ended.
    Return {
        /// The child, as it is known of here.
        state: StateId,
        /// How it ended.
        status: Status,
        /// Its `Final`.
        answer: Stored,
    },
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
    /// The run the state lives in, when that is another.
    pub lives_in: Option<Arc<str>>,
    /// The state of another run that spawns this one, and how deep it is in its task tree.
    pub spawned_by: Option<(Spawner, u8)>,
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

impl Op {
    /// Returns the scope the operation names.
    pub fn scope(&self) -> Option<&Arc<str>> {
        match self {
            Self::Set(set) => set.scope.as_ref(),
            Self::Get(get) => get.scope.as_ref(),
            Self::Delete(delete) => delete.scope.as_ref(),
            Self::Rename(rename) => rename.scope.as_ref(),
            _ => None,
        }
    }

    /// Returns whether the operation changes more than the number of reads.
    pub fn changes_something(&self) -> bool {
        matches!(
            self,
            Self::Set(_)
                | Self::Delete(_)
                | Self::Rename(_)
                | Self::Checkpoint(_)
                | Self::Rollback(_)
                | Self::Fail { .. }
                | Self::Cancel { .. }
        )
    }
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

/// The answer to an accepted operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A state came to be.
    Born {
        /// Its id.
        state: StateId,
        /// Its status.
        status: Status,
    },
    /// A variable was written.
    Written(Written),
    /// A value was read.
    Value {
        /// The value, or a reference to it.
        value: Value,
        /// Its type.
        value_type: ValueType,
        /// Whether the value is a reference to a file this store wrote.
        spill_reference: bool,
    },
    /// It is done, and there is nothing to tell.
    Done,
    /// The state returned to a checkpoint.
    RolledBack {
        /// The variables that changed, by name.
        changed: Vec<Name>,
        /// The status now.
        status: Status,
    },
    /// A status.
    Status(Status),
    /// The names of all variables, sorted.
    Names(Vec<Name>),
    /// Whether the task tree is complete.
    Tree {
        /// Whether the root has its `Final`.
        complete: bool,
    },
}

/// What a write did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Create or update.
    pub operation: Operation,
    /// Whether the value went to a file.
    pub spilled: bool,
    /// Advice about a new name.
    pub warnings: Vec<NameWarning>,
    /// The status after writing `Final`.
    pub status: Option<Status>,
}
