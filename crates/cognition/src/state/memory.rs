//! The memory of a run: the seven namespaces that steps can read.

use std::fmt;
use std::sync::{Arc, LazyLock};

use hence_canon::{Object, Value};
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

use crate::state::{OutputBlock, Working};

/// The readable part of an execution state. Cloning is a snapshot and costs the same at any size.
///
/// Only [`OutputMapping::apply`](crate::mapping::OutputMapping::apply) makes a changed memory out of one, and it
/// makes a whole one or none: a step's writes are all there or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    pub(crate) inputs: Object,
    pub(crate) vars: Table,
    pub(crate) outputs: Table,
    pub(crate) frame: Arc<Frame>,
    pub(crate) working: Working,
    pub(crate) output: OutputBlock,
    pub(crate) extensions: Table,
    pub(crate) written_targets: RedBlackTreeSetSync<Arc<str>>,
}

impl Memory {
    /// Returns the memory of a run that has executed nothing.
    pub fn new(inputs: Object, frame: Frame) -> Self {
        Self {
            inputs,
            vars: Table::new(),
            outputs: Table::new(),
            frame: Arc::new(frame),
            working: Working::default(),
            output: OutputBlock::default(),
            extensions: Table::new(),
            written_targets: RedBlackTreeSetSync::new_sync(),
        }
    }

    /// Returns what the caller provided.
    pub fn inputs(&self) -> &Object {
        &self.inputs
    }

    /// Returns the intermediate values.
    pub fn vars(&self) -> &Table {
        &self.vars
    }

    /// Returns the final outputs so far.
    pub fn outputs(&self) -> &Table {
        &self.outputs
    }

    /// Returns the frozen reasoning context.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Returns the working memory.
    pub fn working(&self) -> &Working {
        &self.working
    }

    /// Returns the structured result metadata.
    pub fn output(&self) -> &OutputBlock {
        &self.output
    }

    /// Returns the open namespace for plugins.
    pub fn extensions(&self) -> &Table {
        &self.extensions
    }

    /// Iterates over every target written in this run, in byte order.
    pub fn written_targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.written_targets.iter()
    }
}

impl Default for Memory {
    fn default() -> Self {
        static EMPTY: LazyLock<Memory> = LazyLock::new(|| Memory::new(Object::new(), Frame::default()));
        EMPTY.clone()
    }
}

/// Immutable reasoning context of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The goal of the run.
    pub goal: Option<Arc<str>>,
    /// Background that steps may read.
    pub context: Object,
    /// Boundaries such as a budget.
    pub constraints: Object,
    /// The criteria by which the goal is reached.
    pub success_criteria: Object,
    /// The assumptions.
    pub assumptions: Arc<[Arc<str>]>,
    /// The priority.
    pub priority: Option<Arc<str>>,
}

impl Frame {
    /// The fields in the order of the document.
    pub const FIELDS: [&'static str; 6] =
        ["goal", "context", "constraints", "success_criteria", "assumptions", "priority"];

    /// Returns a field by name.
    pub fn field(&self, name: &str) -> Option<Value> {
        Some(match name {
            "goal" => self.goal.clone().into(),
            "context" => self.context.clone().into(),
            "constraints" => self.constraints.clone().into(),
            "success_criteria" => self.success_criteria.clone().into(),
            "assumptions" => self.assumptions.iter().cloned().collect(),
            "priority" => self.priority.clone().into(),
            _ => return None,
        })
    }

    /// Returns all fields as an object.
    pub fn to_object(&self) -> Object {
        Self::FIELDS.into_iter().filter_map(|name| Some((name, self.field(name)?))).collect()
    }
}

/// The members of `vars`, `outputs`, `extensions` or `working.artifacts`.
///
/// A run of n steps writes n members and takes n snapshots; a persistent tree makes both logarithmic, where a
/// plain object would make the whole run quadratic.
#[derive(Clone, PartialEq, Eq)]
pub struct Table(RedBlackTreeMapSync<Arc<str>, Value>);

impl Table {
    /// Returns the table without members.
    pub fn new() -> Self {
        Self(RedBlackTreeMapSync::new_sync())
    }

    /// Returns the member `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.size()
    }

    /// Iterates over the members in byte order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        self.0.iter()
    }

    /// Sets the member `key`.
    pub(crate) fn insert(&mut self, key: Arc<str>, value: Value) {
        self.0.insert_mut(key, value);
    }

    /// Takes the member `key` away.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.remove_mut(key);
    }

    /// Returns the members as an object.
    pub fn to_object(&self) -> Object {
        self.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&Object> for Table {
    fn from(object: &Object) -> Self {
        object.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl FromIterator<(Arc<str>, Value)> for Table {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Value)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}

/// References a step reads or targets it writes. They are found once, when a skill is read; every record of the step
/// shares them.
pub type Names = Arc<[Arc<str>]>;
