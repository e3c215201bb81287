//! One state: the data that belongs to it alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hence_canon::read::Finding;
use hence_canon::{JsonPointer, Object, Value};

use crate::document::{SchemaError, check_execution_config};
use crate::layer::{Layer, Variables};
use crate::limits::HISTORY_ENTRIES_MAX;
use crate::{
    CheckpointId, MutationId, Name, Operation, Scope, SessionId, Spawner, StateId, Status, StorePath, Stored,
    Timestamp, TreeId, Variable,
};

/// A state. What it shares with others — session, tree and global variables — lives in its
/// [`Workspace`](crate::Workspace).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub(crate) id: StateId,
    pub(crate) version: Arc<str>,
    pub(crate) session: Option<SessionId>,
    pub(crate) tree: Option<TreeId>,
    pub(crate) parent: Option<StateId>,
    pub(crate) depth: u8,
    pub(crate) children: Vec<StateId>,
    pub(crate) config: Option<ExecutionConfig>,
    pub(crate) lives_in: Option<Arc<str>>,
    pub(crate) spawned_by: Option<Spawner>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) last_updated_at: Option<Timestamp>,
    /// The latest moment this state has seen; the next event is not earlier.
    pub(crate) clock: Timestamp,
    pub(crate) status: Status,
    pub(crate) prompt: Option<Arc<Variable>>,
    pub(crate) final_answer: Arc<Variable>,
    pub(crate) temporary: Layer,
    /// The session layer of a state without a session.
    pub(crate) private_session: Layer,
    pub(crate) log: Log,
    pub(crate) mutation_count: u64,
    /// The highest mutation number in use: the count, unless a document came with ids of its own.
    pub(crate) last_mutation: u64,
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// The highest checkpoint number in use.
    pub(crate) last_checkpoint: u32,
    pub(crate) extra: DocumentExtra,
}

/// Members of an imported document that this crate does not know, by the object that carried them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DocumentExtra {
    /// Members of the document itself.
    pub document: Object,
    /// Members of its `history`.
    pub history: Object,
    /// Members of its `metadata`.
    pub metadata: Object,
}

/// The version of the document form this crate writes.
pub(crate) const VERSION: &str = "1.0.0";

impl State {
    /// Returns a state at the moment of its birth: no prompt yet, `Final` null.
    pub(crate) fn new(id: StateId, at: Timestamp) -> Self {
        Self {
            id,
            version: VERSION.into(),
            session: None,
            tree: None,
            parent: None,
            depth: 0,
            children: Vec::new(),
            config: None,
            lives_in: None,
            spawned_by: None,
            created_at: Some(at),
            last_updated_at: Some(at),
            clock: at,
            status: Status::Incomplete,
            prompt: None,
            final_answer: Arc::new(Variable::new(Name::final_answer(), Stored::null(), at)),
            temporary: Layer::default(),
            private_session: Layer::default(),
            log: Log::default(),
            mutation_count: 0,
            last_mutation: 0,
            checkpoints: Vec::new(),
            last_checkpoint: 0,
            extra: DocumentExtra::default(),
        }
    }

    /// Returns the id.
    pub fn id(&self) -> StateId {
        self.id
    }

    /// Returns when the state was created; a document need not say so.
    pub fn created_at(&self) -> Option<Timestamp> {
        self.created_at
    }

    /// Returns the session this state belongs to.
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns the task tree this state belongs to.
    pub fn tree(&self) -> Option<TreeId> {
        self.tree
    }

    /// Returns the state that spawned this one.
    pub fn parent(&self) -> Option<StateId> {
        self.parent
    }

    /// Returns the distance from the root of the task tree.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Returns the states this one spawned, in order.
    pub fn children(&self) -> &[StateId] {
        &self.children
    }

    /// Returns the run this state lives in, when it is only known of here.
    pub fn lives_in(&self) -> Option<&Arc<str>> {
        self.lives_in.as_ref()
    }

    /// Returns the state of another run that spawned this one.
    pub fn spawned_by(&self) -> Option<&Spawner> {
        self.spawned_by.as_ref()
    }

    /// Returns the execution configuration.
    pub fn config(&self) -> Option<&ExecutionConfig> {
        self.config.as_ref()
    }

    /// Returns how far the state is.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the task, if the document this state came from had one; a state born here always has.
    pub fn prompt(&self) -> Option<&Variable> {
        self.prompt.as_deref()
    }

    /// Returns `Final`.
    pub fn final_answer(&self) -> &Variable {
        &self.final_answer
    }

    /// Returns when the state was last changed.
    pub fn last_updated_at(&self) -> Option<Timestamp> {
        self.last_updated_at
    }

    /// Returns how many mutations there have ever been: the token of compare-and-set.
    pub fn mutation_count(&self) -> u64 {
        self.mutation_count
    }

    /// Returns the newest log entries, oldest first, at most [`HISTORY_ENTRIES_MAX`]; see
    /// [`has_whole_log`](Self::has_whole_log).
    pub fn log(&self) -> impl ExactSizeIterator<Item = &Mutation> + DoubleEndedIterator {
        self.log.entries.iter()
    }

    /// Returns whether the log entries are all held here. Those of a workspace that was
    /// [read from a value](crate::Workspace::from_value) are in the journal.
    pub fn has_whole_log(&self) -> bool {
        self.log.omitted == 0
    }

    /// Returns the checkpoints in the order they were taken.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Returns the checkpoint called `name`.
    pub fn checkpoint(&self, name: &str) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|checkpoint| &*checkpoint.name == name)
    }

    /// Adds a log entry.
    pub(crate) fn record(&mut self, mutation: Mutation) {
        self.mutation_count = self.mutation_count.saturating_add(1);
        self.last_mutation = u64::from(mutation.id.number());
        self.touch(mutation.timestamp);
        self.log.push(mutation);
    }

    /// Notes that the state changed at `at`.
    pub(crate) fn touch(&mut self, at: Timestamp) {
        self.last_updated_at = self.last_updated_at.max(Some(at));
    }
}

/// The newest changes of a state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Mutation>,
    /// The number of entries before those, which are not held here.
    omitted: usize,
    last_at: Option<Timestamp>,
}

impl Log {
    /// Returns a log of which no entry is held.
    pub(crate) fn omitted(omitted: usize, last_at: Option<Timestamp>) -> Self {
        Self { entries: VecDeque::new(), omitted, last_at }
    }

    /// Returns the number of entries, held here or not.
    pub(crate) fn len(&self) -> usize {
        self.omitted + self.entries.len()
    }

    /// Returns the time of the newest entry.
    pub(crate) fn last_at(&self) -> Option<Timestamp> {
        self.last_at
    }

    /// Adds an entry; the oldest leaves when the window is full.
    fn push(&mut self, mutation: Mutation) {
        if self.len() == HISTORY_ENTRIES_MAX {
            match self.omitted.checked_sub(1) {
                Some(omitted) => self.omitted = omitted,
                None => drop(self.entries.pop_front()),
            }
        }
        self.last_at = Some(mutation.timestamp);
        self.entries.push_back(mutation);
    }
}

impl FromIterator<Mutation> for Log {
    fn from_iter<I: IntoIterator<Item = Mutation>>(entries: I) -> Self {
        let entries: VecDeque<Mutation> = entries.into_iter().collect();
        Self { last_at: entries.back().map(|last| last.timestamp), entries, omitted: 0 }
    }
}

/// The name of the checkpoint every state is born with.
pub const INITIAL_STATE: &str = "initial_state";

/// A named position of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The id.
    pub id: CheckpointId,
    /// The name, unique in the state.
    pub name: Arc<str>,
    /// The time it was taken.
    pub timestamp: Timestamp,
    /// A description of the position.
    pub description: Option<Arc<str>>,
    /// The path of its snapshot file, for readers of the document form.
    pub snapshot_path: Option<StorePath>,
    /// Members a document carried that this crate does not know.
    pub extra: Object,
    /// The position to return to; absent when a document listed the checkpoint without its snapshot.
    pub snapshot: Option<Snapshot>,
}

/// The variables a state saw at a checkpoint, shared with the state until they change.
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
    /// The layer's variables at that time.
    pub variables: Variables,
}

/// One change of one variable, as the log lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// The id.
    pub id: MutationId,
    /// The kind of change.
    pub operation: Operation,
    /// The name of the variable. For a rename, the old name.
    pub variable_name: Arc<str>,
    /// The value before, for updates and deletions; the old name for a rename.
    pub old_value: Option<Value>,
    /// The value after, for creations and updates; the new name for a rename.
    pub new_value: Option<Value>,
    /// The cause.
    pub source: Option<Arc<str>>,
    /// The time. Times in a log never decrease.
    pub timestamp: Timestamp,
    /// `reason`, `task_node_id` and whatever else is known about the cause.
    pub metadata: Object,
    /// Members a document carried that this crate does not know.
    pub extra: Object,
}

/// The cause of a change; every part is optional.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// The cause: a task, a person, a computation.
    pub source: Option<Arc<str>>,
    /// The reason, in words.
    pub reason: Option<Arc<str>>,
    /// The node of the task tree that asked.
    pub task_node_id: Option<Arc<str>>,
}

impl Origin {
    /// Returns the origin with a source and nothing else.
    pub fn source(source: &str) -> Self {
        Self { source: Some(source.into()), ..Self::default() }
    }

    /// Returns what goes to the `metadata` of a log entry.
    pub(crate) fn metadata(&self) -> Object {
        let members = [("reason", &self.reason), ("task_node_id", &self.task_node_id)];
        members.into_iter().filter_map(|(key, value)| Some((key, Value::from(value.clone()?)))).collect()
    }
}

/// The settings under which a state's tasks are executed. Members this crate does not know are preserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionConfig(Object);

impl ExecutionConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Every [`SchemaError`] in it, with pointers read from the configuration itself.
    pub fn from_value(value: &Value) -> Result<Self, Vec<SchemaError>> {
        let errors = check_execution_config(value, &JsonPointer::root());
        match value {
            Value::Object(object) if errors.is_empty() => Ok(Self(object.clone())),
            _ => Err(errors),
        }
    }

    /// Decodes a configuration, with everything that is wrong in one finding.
    pub(crate) fn decode(value: &Value) -> Result<Self, Finding> {
        Self::from_value(value).map_err(|errors| {
            let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Finding::other(reasons.join("; "))
        })
    }

    /// Returns all members.
    pub fn members(&self) -> &Object {
        &self.0
    }
}
