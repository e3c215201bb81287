//! What an accepted operation answers.

use hence_canon::{Object, Value};

use crate::fields::Members;
use crate::{Name, NameWarning, Operation, Refusal, StateId, Status, ValueType};

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

impl Reply {
    /// Returns the answer as an object, for programs: `ok` and what there is to tell.
    pub fn to_object(&self) -> Object {
        let ok = Members::default().set("ok", true);
        let members = match self {
            Self::Born { state, status } => ok.set("state_id", *state).set("status", *status),
            Self::Written(written) => ok
                .set("operation", written.operation)
                .some("spilled", written.spilled.then_some(true))
                .some("warnings", written.warning_codes())
                .some("status", written.status),
            Self::Value { value, value_type, spill_reference } => ok
                .set("value", value.clone())
                .set("type", *value_type)
                .some("reference", spill_reference.then_some(true)),
            Self::Done => ok,
            Self::RolledBack { changed, status } => ok.set("changed", names(changed)).set("status", *status),
            Self::Status(status) => ok.set("status", *status),
            Self::Names(all) => ok.set("names", names(all)),
            Self::Tree { complete } => ok.set("complete", *complete),
        };
        members.object()
    }
}

impl Written {
    fn warning_codes(&self) -> Option<Value> {
        let codes = self.warnings.iter().map(|warning| warning.code());
        (!self.warnings.is_empty()).then(|| codes.collect())
    }
}

impl Refusal {
    /// Returns the refusal as an object, for programs: not `ok`, the code, the rule and the reason in words.
    pub fn to_object(&self) -> Object {
        Members::default()
            .set("ok", false)
            .set("error", self.code())
            .set("rule", self.rule())
            .set("reason", self.to_string())
            .object()
    }
}

fn names(names: &[Name]) -> Value {
    names.iter().map(Name::shared).collect()
}
