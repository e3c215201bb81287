//! Named positions to return to.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Object;

use crate::layer::Variables;
use crate::{CheckpointId, Scope, Status, StorePath, Timestamp, Variable};

/// The name of the checkpoint every state is born with.
pub const INITIAL_STATE: &str = "initial_state";

/// A named position of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// Its id.
    pub id: CheckpointId,
    /// Its name, unique in the state.
    pub name: Arc<str>,
    /// When it was taken.
    pub timestamp: Timestamp,
    /// What happened there.
    pub description: Option<Arc<str>>,
    /// Where its snapshot is written, for readers of the document form.
    pub snapshot_path: Option<StorePath>,
    /// Members a document carried that this crate does not know.
    pub extra: Object,
    /// What it returns to; absent when a document listed the checkpoint without its snapshot.
    pub snapshot: Option<Snapshot>,
}

/// What a state saw at a checkpoint. It shares its variables with the state until they change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// The status.
    pub status: Status,
    /// `Final`.
    pub final_answer: Arc<Variable>,
    /// The layers the state could see.
    pub layers: BTreeMap<Scope, SeenLayer>,
}

/// A layer as a checkpoint saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenLayer {
    /// The layer's revision then.
    pub revision: u64,
    /// Its variables then.
    pub variables: Variables,
}
