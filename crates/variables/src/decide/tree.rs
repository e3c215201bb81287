//! Task trees: spawning, results of children, completion of the whole.

use crate::decide::Accepted;
use crate::event::Birth;
use crate::limits::{CHILDREN_MAX, TREE_DEPTH_MAX, TREE_NODES_MAX};
use crate::{Files, Name, Refusal, Reply, Sight, StateId, Status, Timestamp, Workspace};

/// Returns the birth of a child, which joins its parent's tree and session.
pub(super) fn spawn(
    workspace: &Workspace,
    parent: StateId,
    birth: Birth,
    now: Timestamp,
) -> Result<Birth, Refusal> {
    let parent = workspace.state(parent).ok_or(Refusal::NoState { state: parent })?;
    if now < parent.clock {
        return Err(Refusal::ClockWentBack { last: parent.clock, now });
    }
    if parent.status.is_terminal() {
        return Err(Refusal::Sealed { state: parent.id, status: parent.status });
    }
    let elsewhere = |what, found: String| {
        Err(Refusal::InvalidArgument { what, expected: "that of the parent, which must have a tree", found })
    };
    match (parent.tree, birth.tree) {
        (None, _) => return elsewhere("tree_id", "a parent without one".to_owned()),
        (Some(tree), Some(other)) if other != tree => return elsewhere("tree_id", other.to_string()),
        _ => {}
    }
    if let Some(other) = birth.session.as_ref().filter(|other| Some(*other) != parent.session.as_ref()) {
        return elsewhere("session_id", other.to_string());
    }
    let depth = parent.depth.saturating_add(1);
    if depth > TREE_DEPTH_MAX {
        return Err(Refusal::TooDeep { depth });
    }
    if parent.children.len() >= CHILDREN_MAX {
        return Err(Refusal::TooManyChildren { parent: parent.id });
    }
    if workspace.task_tree(parent.id).map_or(0, |tree| tree.count()) >= TREE_NODES_MAX {
        return Err(Refusal::TooManyNodes);
    }
    let (session, tree) = (parent.session.clone(), parent.tree);
    Ok(Birth { session, tree, parent: Some(parent.id), depth, ..birth })
}

/// Returns the `Final` of a child. It is a result handed over, not a counted read.
pub(super) fn child_result(sight: Sight<'_>, child: StateId, files: &dyn Files) -> Result<Accepted, Refusal> {
    let parent = sight.state.id;
    let state = sight.workspace.state(child).filter(|state| state.parent == Some(parent));
    let state = state.ok_or(Refusal::NotAChild { parent, child })?;
    if state.status != Status::Complete {
        return Err(Refusal::ChildUnfinished { child, status: state.status });
    }
    let loaded = state.final_answer.stored.load(files);
    let (value, value_type) = loaded.map_err(|fault| Refusal::Load { name: Name::final_answer(), fault })?;
    Ok(Accepted::answer(Reply::Value { value, value_type, spill_reference: false }))
}

/// Returns a child that keeps its parent from completing.
pub(super) fn incomplete_child(sight: Sight<'_>) -> Option<StateId> {
    let open = |id: &&StateId| {
        let child = sight.workspace.state(**id);
        child.is_some_and(|child| child.status == Status::Incomplete)
    };
    sight.state.children.iter().find(open).copied()
}

/// Returns whether the root of the tree has its `Final`.
pub(super) fn is_complete(sight: Sight<'_>) -> bool {
    sight.workspace.root_of(sight.state).status == Status::Complete
}
