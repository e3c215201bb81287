//! What steps can see: the seven readable namespaces of one run at one moment.

use std::sync::{Arc, LazyLock};

use hence_canon::Object;
use rpds::RedBlackTreeSetSync;

use super::{Frame, OutputBlock, Table, Working};

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
