//! The task tree, for drawing.

use hence_canon::Value;

use crate::{State, StateId, Status, Workspace};

/// A task with the tasks it spawned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskNode {
    /// Its state.
    pub state: StateId,
    /// How far it is.
    pub status: Status,
    /// The distance from the root.
    pub depth: u8,
    /// What it was asked, or a reference to it; absent when its document did not say.
    pub prompt: Option<Value>,
    /// Its children, in the order they were spawned.
    pub children: Vec<TaskNode>,
}

impl Workspace {
    /// Returns the whole tree that `state` belongs to, from its root.
    pub fn task_tree(&self, state: StateId) -> Option<TaskNode> {
        Some(self.task_node(self.root_of(self.state(state)?)))
    }

    /// Climbs to the root. A parent is older than its child, so this ends.
    pub(crate) fn root_of<'a>(&'a self, mut state: &'a State) -> &'a State {
        while let Some(parent) = state.parent.and_then(|parent| self.state(parent)) {
            state = parent;
        }
        state
    }

    fn task_node(&self, state: &State) -> TaskNode {
        let children = state.children.iter().filter_map(|child| self.state(*child));
        TaskNode {
            state: state.id,
            status: state.status,
            depth: state.depth,
            prompt: state.prompt().map(|prompt| prompt.stored.shown()),
            children: children.map(|child| self.task_node(child)).collect(),
        }
    }
}

impl TaskNode {
    /// Returns how many tasks there are from here down.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }
}
