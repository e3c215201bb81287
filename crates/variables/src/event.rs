//! Events: the changes of accepted operations. A state is the fold of its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::import::ImportedDocument;
use crate::state::Origin;
use crate::words::Operation;
use crate::{
    CheckpointId, ExecutionConfig, Home, Mutation, MutationId, Name, Scope, SessionId, Shared, StateId,
    Status, Timestamp, TreeId, Variable,
};

mod decode;
mod encode;

pub(crate) use decode::decode_spawner;
pub(crate) use encode::encode_spawner;

/// All changes of one operation, at one time, in one state and the layers it shares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The state that acted.
    pub state: StateId,
    /// The time, by the run's clock.
    pub at: Timestamp,
    /// The operation, for readers; [`apply`](crate::apply) looks at the changes only.
    pub action: Action,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

hence_canon::words! {
    /// The operation that made an event.
    #[expect(missing_docs, reason = "the names of the operations")]
    pub enum Action {
        Init = "init",
        Import = "import",
        Set = "set",
        Get = "get",
        Delete = "delete",
        Rename = "rename",
        Checkpoint = "checkpoint",
        Rollback = "rollback",
        Fail = "fail",
        Cancel = "cancel",
        /// The end of temporary variables whose time is over.
        Expire = "expire",
        /// A change that another run made to a shared layer.
        Share = "share",
        /// The end of a child that lives in another run.
        Return = "return",
    }
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The state was created.
    Created(Creation),
    /// The state came out of a document.
    Imported(Box<ImportedDocument>),
    /// A variable got a value.
    Write {
        /// The log entry it makes.
        entry: Entry,
        /// The place of the variable.
        place: Place,
        /// The variable afterwards, whole.
        variable: Variable,
        /// The value before, as the log shows it; absent when the variable is new.
        old_value: Option<Value>,
    },
    /// A variable was deleted.
    Delete {
        /// The log entry it makes.
        entry: Entry,
        /// The place of the variable.
        place: Place,
        /// The name.
        name: Name,
        /// The last value, as the log shows it.
        old_value: Value,
    },
    /// A variable got another name.
    Rename {
        /// The log entry it makes.
        entry: Entry,
        /// The place of the variable.
        place: Place,
        /// The old name.
        name: Name,
        /// The new name.
        to: Name,
    },
    /// A variable was read.
    Read {
        /// The place of the variable, with the revision of its layer at the time of the read.
        place: Place,
        /// The name.
        name: Name,
    },
    /// The present position got a name.
    Checkpoint {
        /// The id of the checkpoint.
        id: CheckpointId,
        /// The name of the checkpoint.
        name: Arc<str>,
        /// A description of the position.
        description: Option<Arc<str>>,
        /// The revision of every layer it saw.
        seen: BTreeMap<Scope, u64>,
    },
    /// The state returned to a checkpoint; the changes that follow did it.
    RolledBack {
        /// The checkpoint.
        to: CheckpointId,
    },
    /// Another run changed a shared layer.
    Shared(Box<Shared>),
    /// The status changed.
    Status {
        /// The status afterwards.
        status: Status,
        /// The reason, in words.
        reason: Option<Arc<str>>,
    },
}

/// The properties of a state that are fixed when it is created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Creation {
    /// The session.
    pub session: Option<SessionId>,
    /// The task tree.
    pub tree: Option<TreeId>,
    /// The state that spawned this one.
    pub parent: Option<StateId>,
    /// The distance from the root of the task tree.
    pub depth: u8,
    /// The execution configuration.
    pub config: Option<ExecutionConfig>,
    /// The run the state lives in, when that is another: here it is only known of.
    pub lives_in: Option<Arc<str>>,
    /// The state of another run that spawned this one.
    pub spawned_by: Option<Spawner>,
}

/// A state of another run that spawned one of this.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spawner {
    /// The run.
    pub run: Arc<str>,
    /// The state.
    pub state: StateId,
}

/// The place of a change, and its number among the changes of that layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// `Final` or `prompt`.
    Special,
    /// A layer.
    Layer {
        /// The scope of the layer.
        scope: Scope,
        /// The layer's revision after this change, or while it was read. What several states did is ordered by it.
        revision: u64,
    },
}

impl Place {
    /// Returns where this is, without the count.
    pub fn home(self) -> Home {
        match self {
            Self::Special => Home::Special,
            Self::Layer { scope, .. } => Home::Scope(scope),
        }
    }
}

/// The part of a log entry that every kind of mutation has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The mutation's id.
    pub id: MutationId,
    /// The time; for an expiry the deadline, which can be earlier than the event.
    pub timestamp: Timestamp,
    /// The cause.
    pub source: Option<Arc<str>>,
    /// The reason and the node of the task tree.
    pub metadata: Object,
}

impl Entry {
    pub(crate) fn new(id: MutationId, timestamp: Timestamp, origin: &Origin) -> Self {
        Self { id, timestamp, source: origin.source.clone(), metadata: origin.metadata() }
    }

    fn mutation(
        &self,
        operation: Operation,
        name: &Name,
        old: Option<Value>,
        new: Option<Value>,
    ) -> Mutation {
        Mutation {
            id: self.id,
            operation,
            variable_name: name.shared(),
            old_value: old,
            new_value: new,
            source: self.source.clone(),
            timestamp: self.timestamp,
            metadata: self.metadata.clone(),
            extra: Object::new(),
        }
    }
}

impl Change {
    /// Returns where a change of a variable happens.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Write { place, .. }
            | Self::Delete { place, .. }
            | Self::Rename { place, .. }
            | Self::Read { place, .. } => Some(*place),
            _ => None,
        }
    }

    /// Returns the log entry this change makes, if it makes one.
    pub fn mutation(&self) -> Option<Mutation> {
        match self {
            Self::Write { entry, variable, old_value, .. } => {
                let operation = if old_value.is_some() { Operation::Update } else { Operation::Create };
                let new = Some(variable.stored.shown());
                Some(entry.mutation(operation, &variable.name, old_value.clone(), new))
            }
            Self::Delete { entry, name, old_value, .. } => {
                Some(entry.mutation(Operation::Delete, name, Some(old_value.clone()), None))
            }
            // The log alone must replay, so it names both names.
            Self::Rename { entry, name, to, .. } => {
                let (old, new) = (name.shared().into(), to.shared().into());
                Some(entry.mutation(Operation::Rename, name, Some(old), Some(new)))
            }
            Self::Created(_)
            | Self::Imported(_)
            | Self::Read { .. }
            | Self::Checkpoint { .. }
            | Self::Shared(_) => None,
            Self::RolledBack { .. } | Self::Status { .. } => None,
        }
    }
}

impl Event {
    /// Returns the log entries this event makes, in order: the lines of `history.jsonl`.
    pub fn mutations(&self) -> impl Iterator<Item = Mutation> {
        self.changes.iter().filter_map(Change::mutation)
    }

    /// Returns whether this event completes the task: whoever runs completion handlers does so once, after it is
    /// durable. A rollback to a completed position completes nothing anew.
    pub fn completes(&self) -> bool {
        let completes = |change: &Change| matches!(change, Change::Status { status: Status::Complete, .. });
        self.action == Action::Set && self.changes.iter().any(completes)
    }

    /// Returns whether this event changes anything but the number of times a variable was read.
    pub fn is_read(&self) -> bool {
        self.changes.iter().all(|change| matches!(change, Change::Read { .. }))
    }
}
