//! What an accepted operation answers.

use hence_canon::Value;

use crate::{Name, NameWarning, Operation, StateId, Status, ValueType};

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
