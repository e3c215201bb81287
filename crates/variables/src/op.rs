//! Calls to a workspace, as the caller gives them: nothing here is checked yet. Also the replies.

use std::sync::Arc;

use hence_canon::Value;

use crate::{
    Import, Name, NameWarning, Operation, Origin, Shared, Spawner, StateId, Status, Stored, ValueType,
};

/// A request to a workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// Create a state.
    Init(Init),
    /// Import a state from a document.
    Import(Box<Import>),
    /// Record the changes that another run made to a shared layer.
    Share {
        /// The state that sees the layer.
        state: StateId,
        /// The changes of the other run.
        shared: Box<Shared>,
    },
    /// Record the end of a child that lives in another run.
    Return {
        /// The child, as it is known of here.
        state: StateId,
        /// The final status of the child.
        status: Status,
        /// The `Final` of the child.
        answer: Stored,
    },
    /// Perform an operation on a state.
    On {
        /// The state.
        state: StateId,
        /// The operation.
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
    /// The execution configuration.
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
        /// The reason, in words.
        reason: Option<Arc<str>>,
    },
    /// Cancel the task.
    Cancel {
        /// The reason, in words.
        reason: Option<Arc<str>>,
    },
    /// Return whether `Final` is set.
    CheckCompletion,
    /// Return the status.
    Status,
    /// Return the names of all variables.
    List,
    /// Fetch the `Final` of a child.
    ChildResult {
        /// The child.
        child: StateId,
    },
    /// Return whether the whole task tree is complete.
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
    /// True to refuse further writes.
    pub read_only: Option<bool>,
    /// The purpose of the variable, in words.
    pub description: Option<Arc<str>>,
    /// The cause of the change.
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
    /// The form in which to return a value that is stored in a file.
    pub form: ReadForm,
}

/// The form in which a read returns a value that is stored in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadForm {
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
    /// The cause of the change.
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
    /// The cause of the change.
    pub origin: Origin,
    /// Refuse unless the state has had exactly this many mutations.
    pub if_mutation_count: Option<u64>,
}

/// A checkpoint to take.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakeCheckpoint {
    /// The name.
    pub name: Arc<str>,
    /// A description of the position.
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
    /// A state was created.
    Created {
        /// The id of the state.
        state: StateId,
        /// The status of the state.
        status: Status,
    },
    /// A variable was written.
    Written(Written),
    /// A value was read.
    Value {
        /// The value, or a reference to it.
        value: Value,
        /// The type of the value.
        value_type: ValueType,
        /// True if the value is a reference to a file this store wrote.
        spill_reference: bool,
    },
    /// The operation is done, and there is nothing to return.
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
    /// The completion of the task tree.
    Tree {
        /// True if the root has its `Final`.
        complete: bool,
    },
}

/// The outcome of a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Create or update.
    pub operation: Operation,
    /// True if the value was stored in a file.
    pub spilled: bool,
    /// Advice about a new name.
    pub warnings: Vec<NameWarning>,
    /// The status after writing `Final`.
    pub status: Option<Status>,
}
