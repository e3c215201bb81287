//! Operations on tasks: start, spawn, fail, cancel, and what comes from other runs.

use std::sync::Arc;

use hence_canon::Value;

use crate::decide::event_builder::EventBuilder;
use crate::decide::write::end_scope;
use crate::decide::{Accepted, check_depth, check_open};
use crate::event::Birth;
use crate::limits::{CHILDREN_MAX, TREE_DEPTH_MAX, TREE_NODES_MAX};
use crate::state::INITIAL_STATE;
use crate::{
    Action, Change, CheckpointId, ExecutionConfig, Files, Home, Init, Name, Origin, Refusal, Reply, Shared,
    Sight, State, StateId, Status, Stored, Timestamp, ValueType, Variable, Workspace,
};

/// The source of a prompt.
const USER_INPUT: &str = "user_input";

pub(super) fn init(workspace: &Workspace, init: &Init, now: Timestamp) -> Result<Accepted, Refusal> {
    let id = match &init.state_id {
        Some(text) => text.parse()?,
        None => workspace.next_state_id(),
    };
    if workspace.state(id).is_some() {
        return Err(Refusal::StateExists { state: id });
    }
    let prompt = match &init.prompt {
        None | Some(Value::Null) => return Err(Refusal::MissingPrompt),
        Some(text @ Value::String(_)) => text,
        Some(other) => return Err(Refusal::PromptNotText { found: other.kind() }),
    };
    let birth = birth(workspace, init, now)?;
    let (stored, spill) = Stored::keep(id, ValueType::Text, prompt);
    let variable = Variable {
        source: Some(USER_INPUT.into()),
        read_only: true,
        ..Variable::new(Name::prompt(), stored, now)
    };
    let mut event =
        EventBuilder::birth(id, now, workspace.revisions_at_birth(birth.session.as_ref(), birth.tree));
    event.push(Change::Born(birth));
    event.write(Home::Special, variable, None, &Origin::source(USER_INPUT))?;
    event.checkpoint(CheckpointId::from_number(1), INITIAL_STATE.into(), None);
    Ok(Accepted {
        event: Some(event.finish()),
        spills: spill.into_iter().collect(),
        reply: Reply::Born { state: id, status: Status::Incomplete },
    })
}

fn birth(workspace: &Workspace, init: &Init, now: Timestamp) -> Result<Birth, Refusal> {
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
    let alone = Birth { session, tree, parent: None, depth, config, lives_in, spawned_by };
    match init.parent {
        None => Ok(alone),
        Some(parent) => spawn(workspace, parent, alone, now),
    }
}

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

pub(super) fn fail(sight: Sight<'_>, reason: Option<&Arc<str>>, now: Timestamp) -> Result<Accepted, Refusal> {
    end(sight, EventBuilder::on(sight, Action::Fail, now), Status::Error, reason)
}

pub(super) fn cancel(
    sight: Sight<'_>,
    reason: Option<&Arc<str>>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    end(sight, EventBuilder::on(sight, Action::Cancel, now), Status::Cancelled, reason)
}

fn end(
    sight: Sight<'_>,
    mut event: EventBuilder,
    status: Status,
    reason: Option<&Arc<str>>,
) -> Result<Accepted, Refusal> {
    check_open(sight.state, None)?;
    event.status(status, reason);
    end_scope(sight, &mut event)?;
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Status(status) })
}

/// Returns what `Final` alone says.
pub(super) fn completion(state: &State) -> Status {
    if state.final_answer.stored.is_null() { Status::Incomplete } else { Status::Complete }
}

/// The source of an answer that was brought from another run.
const CHILD_RUN: &str = "child_run";

/// Takes in what another run left in a shared layer. It is no mutation of this state.
pub(super) fn share(sight: Sight<'_>, shared: &Shared, now: Timestamp) -> Result<Accepted, Refusal> {
    let found = sight.revision(shared.scope);
    if !sight.is_shared(shared.scope) || !sight.has(shared.scope) {
        return Err(Refusal::ScopeUnavailable { scope: shared.scope });
    }
    if shared.seen != found || shared.revision <= found {
        let found = format!("{} after {}, the layer is at {found}", shared.revision, shared.seen);
        return Err(Refusal::InvalidArgument { what: "revision", expected: "a later one", found });
    }
    let mut event = EventBuilder::on(sight, Action::Share, now);
    event.push(Change::Shared(Box::new(shared.clone())));
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Done })
}

/// Takes in how a child that lives in another run ended.
pub(super) fn settle(
    sight: Sight<'_>,
    status: Status,
    answer: &Stored,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let state = sight.state;
    if state.lives_in.is_none() || !status.is_terminal() || state.status.is_terminal() {
        return Err(Refusal::Sealed { state: state.id, status: state.status });
    }
    let mut event = EventBuilder::on(sight, Action::Return, now);
    if status == Status::Complete {
        let before = &state.final_answer;
        let answered = Variable { updated_at: Some(now), stored: answer.clone(), ..Variable::clone(before) };
        let home = crate::Home::Special;
        event.write(home, answered, Some(before.stored.shown()), &Origin::source(CHILD_RUN))?;
    }
    event.status(status, None);
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Status(status) })
}
