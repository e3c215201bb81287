//! Operations on tasks: start, spawn, fail, cancel, and and records of what other runs did.

use std::sync::Arc;

use hence_canon::Value;

use crate::decide::event_builder::EventBuilder;
use crate::decide::write::end_scope;
use crate::decide::{Accepted, check_depth, check_open};
use crate::event::Creation;
use crate::limits::{CHILDREN_MAX, TREE_DEPTH_MAX, TREE_NODES_MAX};
use crate::state::INITIAL_STATE;
use crate::{
    Action, Change, CheckpointId, ExecutionConfig, Files, Home, Init, Name, Origin, Refusal, Reply, Shared,
    Spill, State, StateId, StateView, Status, Stored, Timestamp, ValueType, Variable, Workspace,
};

/// The source of a prompt.
const USER_INPUT: &str = "user_input";

/// Decides the birth of a state. Its prompt is `recorded` when only its reference is known.
pub(super) fn init(
    workspace: &Workspace,
    init: &Init,
    recorded: Option<&Spill>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let id = match &init.state_id {
        Some(text) => text.parse()?,
        None => workspace.next_state_id(),
    };
    if workspace.state(id).is_some() {
        return Err(Refusal::StateExists { state: id });
    }
    let (stored, spill) = match (recorded, &init.prompt) {
        (Some(spill), _) => (Stored::Spilled(spill.clone()), None),
        (None, None | Some(Value::Null)) => return Err(Refusal::MissingPrompt),
        (None, Some(text @ Value::String(_))) => Stored::store(id, ValueType::Text, text),
        (None, Some(other)) => return Err(Refusal::PromptNotText { found: other.kind() }),
    };
    let creation = creation(workspace, init, now)?;
    let variable = Variable {
        source: Some(USER_INPUT.into()),
        read_only: true,
        ..Variable::new(Name::prompt(), stored, now)
    };
    let mut event = EventBuilder::creation(
        id,
        now,
        workspace.revisions_for_new_state(creation.session.as_ref(), creation.tree),
    );
    event.push(Change::Created(creation));
    event.write(Home::Special, variable, None, &Origin::source(USER_INPUT))?;
    event.checkpoint(CheckpointId::from_number(1), INITIAL_STATE.into(), None);
    Ok(Accepted {
        event: Some(event.finish()),
        spills: spill.into_iter().collect(),
        reply: Reply::Created { state: id, status: Status::Incomplete },
    })
}

fn creation(workspace: &Workspace, init: &Init, now: Timestamp) -> Result<Creation, Refusal> {
    let session = init.session_id.as_ref().map(|text| text.parse()).transpose()?;
    let tree = init.tree_id.as_ref().map(|text| text.parse()).transpose()?;
    let config = init.execution_config.as_ref().filter(|config| !config.is_null());
    config.map_or(Ok(()), |config| check_depth("execution_config", config))?;
    let config = config.map(ExecutionConfig::from_value).transpose().map_err(Refusal::InvalidConfig)?;
    let (lives_in, spawned_by) = (init.lives_in.clone(), init.spawned_by.clone());
    let depth = spawned_by.as_ref().map_or(0, |(_, depth)| depth.saturating_add(1));
    if depth > TREE_DEPTH_MAX {
        return Err(Refusal::TooDeep { depth });
    }
    let spawned_by = spawned_by.map(|(spawner, _)| spawner);
    let alone = Creation { session, tree, parent: None, depth, config, lives_in, spawned_by };
    match init.parent {
        None => Ok(alone),
        Some(parent) => spawn(workspace, parent, alone, now),
    }
}

/// Returns the birth of a child, which joins its parent's tree and session.
pub(super) fn spawn(
    workspace: &Workspace,
    parent: StateId,
    creation: Creation,
    now: Timestamp,
) -> Result<Creation, Refusal> {
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
    match (parent.tree, creation.tree) {
        (None, _) => return elsewhere("tree_id", "a parent without one".to_owned()),
        (Some(tree), Some(other)) if other != tree => return elsewhere("tree_id", other.to_string()),
        _ => {}
    }
    if let Some(other) = creation.session.as_ref().filter(|other| Some(*other) != parent.session.as_ref()) {
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
    Ok(Creation { session, tree, parent: Some(parent.id), depth, ..creation })
}

/// Returns the `Final` of a child. It is a result handed over, not a counted read.
pub(super) fn child_result(
    view: StateView<'_>,
    child: StateId,
    files: &dyn Files,
) -> Result<Accepted, Refusal> {
    let parent = view.state.id;
    let state = view.workspace.state(child).filter(|state| state.parent == Some(parent));
    let state = state.ok_or(Refusal::NotAChild { parent, child })?;
    if state.status != Status::Complete {
        return Err(Refusal::ChildUnfinished { child, status: state.status });
    }
    let loaded = state.final_answer.stored.load(files);
    let (value, value_type) = loaded.map_err(|fault| Refusal::Load { name: Name::final_answer(), fault })?;
    Ok(Accepted::answer(Reply::Value { value, value_type, spill_reference: false }))
}

/// Returns an incomplete child, which prevents its parent from completing.
pub(super) fn incomplete_child(view: StateView<'_>) -> Option<StateId> {
    let open = |id: &&StateId| {
        let child = view.workspace.state(**id);
        child.is_some_and(|child| child.status == Status::Incomplete)
    };
    view.state.children.iter().find(open).copied()
}

/// Returns whether the root of the tree has its `Final`.
pub(super) fn is_complete(view: StateView<'_>) -> bool {
    view.workspace.root_of(view.state).status == Status::Complete
}

pub(super) fn fail(
    view: StateView<'_>,
    reason: Option<&Arc<str>>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    end(view, EventBuilder::on(view, Action::Fail, now), Status::Error, reason)
}

pub(super) fn cancel(
    view: StateView<'_>,
    reason: Option<&Arc<str>>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    end(view, EventBuilder::on(view, Action::Cancel, now), Status::Cancelled, reason)
}

fn end(
    view: StateView<'_>,
    mut event: EventBuilder,
    status: Status,
    reason: Option<&Arc<str>>,
) -> Result<Accepted, Refusal> {
    check_open(view.state, None)?;
    event.status(status, reason);
    end_scope(view, &mut event)?;
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Status(status) })
}

/// Returns the status that follows from `Final` alone.
pub(super) fn completion(state: &State) -> Status {
    if state.final_answer.stored.is_null() { Status::Incomplete } else { Status::Complete }
}

/// The source of an answer that was brought from another run.
const CHILD_RUN: &str = "child_run";

/// Records the changes that another run made to a shared layer. They are no mutations of this state.
pub(super) fn share(view: StateView<'_>, shared: &Shared, now: Timestamp) -> Result<Accepted, Refusal> {
    let found = view.revision(shared.scope);
    if !view.is_shared(shared.scope) || !view.has(shared.scope) {
        return Err(Refusal::ScopeUnavailable { scope: shared.scope });
    }
    if shared.seen != found || shared.revision <= found {
        let found = format!("{} after {}, the layer is at {found}", shared.revision, shared.seen);
        return Err(Refusal::InvalidArgument { what: "revision", expected: "a later one", found });
    }
    let mut event = EventBuilder::on(view, Action::Share, now);
    event.push(Change::Shared(Box::new(shared.clone())));
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Done })
}

/// Records the end of a child that lives in another run.
pub(super) fn settle(
    view: StateView<'_>,
    status: Status,
    answer: &Stored,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let state = view.state;
    if state.lives_in.is_none() || !status.is_terminal() || state.status.is_terminal() {
        return Err(Refusal::Sealed { state: state.id, status: state.status });
    }
    let mut event = EventBuilder::on(view, Action::Return, now);
    if status == Status::Complete {
        let before = &state.final_answer;
        let answered = Variable { updated_at: Some(now), stored: answer.clone(), ..Variable::clone(before) };
        let home = crate::Home::Special;
        event.write(home, answered, Some(before.stored.shown()), &Origin::source(CHILD_RUN))?;
    }
    event.status(status, None);
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Status(status) })
}
