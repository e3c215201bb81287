//! The only way a workspace changes.

use std::sync::Arc;

use hence_canon::Object;

use crate::decide::{Unlike, check_again};
use crate::event::{Creation, Place};
use crate::import::import_document;
use crate::state::{Checkpoint, SeenLayer, Snapshot};
use crate::{Change, Event, Home, Name, Scope, State, StateId, StorePath, Timestamp, Workspace};

mod check;

use check::Expected;

/// An event that does not follow from the workspace it is applied to. The workspace is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event of {state} at {at} does not fit, change {change}: {reason}")]
pub struct ApplyError {
    /// The state that acted.
    pub state: StateId,
    /// The time of the event.
    pub at: Timestamp,
    /// The position of the change in the event, from 0.
    pub change: usize,
    /// The expected and the found value, in words.
    pub reason: String,
}

/// Applies `event` to `workspace`: all of it, or nothing.
///
/// # Errors
/// [`ApplyError`] when the event was not decided against this workspace: a journal that is damaged, out of order or not
/// this one's.
pub fn apply(workspace: &mut Workspace, event: &Event) -> Result<(), ApplyError> {
    let mut expected = Expected::of(workspace, event);
    for change in 0..event.changes.len() {
        let checked = expected.check(workspace, event, change);
        checked.map_err(|reason| ApplyError { state: event.state, at: event.at, change, reason })?;
    }
    // What was asked for is read from the event; the rest must be what the rules make of it.
    check_again(workspace, event).map_err(|Unlike { change, reason }| ApplyError {
        state: event.state,
        at: event.at,
        change,
        reason,
    })?;
    for change in &event.changes {
        perform(workspace, event, change);
    }
    if let Some(state) = workspace.states.get_mut(&event.state) {
        state.clock = state.clock.max(event.at);
    }
    Ok(())
}

/// Performs a change that has been checked.
fn perform(workspace: &mut Workspace, event: &Event, change: &Change) {
    match change {
        Change::Created(creation) => create_state(workspace, event, creation),
        Change::Imported(imported) => import_document(workspace, event, imported),
        Change::Write { place: Place::Special, variable, .. } => {
            if let Some(state) = workspace.states.get_mut(&event.state) {
                let variable = Arc::new(variable.clone());
                if variable.name.is_final() {
                    state.final_answer = variable
                } else {
                    state.prompt = Some(variable)
                }
            }
        }
        Change::Write { place: Place::Layer { scope, .. }, variable, .. } => {
            if let Some((layer, writer)) = workspace.layer_mut(event.state, *scope) {
                layer.put(variable.clone(), writer);
            }
        }
        Change::Delete { place, name, .. } => {
            let layer = place.home().scope().and_then(|scope| workspace.layer_mut(event.state, scope));
            if let Some((layer, writer)) = layer {
                layer.remove(name, writer);
            }
        }
        Change::Rename { place, name, to, .. } => {
            let layer = place.home().scope().and_then(|scope| workspace.layer_mut(event.state, scope));
            if let Some((layer, writer)) = layer {
                layer.rename(name, to, writer);
            }
        }
        Change::Read { place, name } => count_read(workspace, event.state, place.home(), name),
        Change::Checkpoint { id, name, description, .. } => {
            let checkpoint = Checkpoint {
                id: *id,
                name: name.clone(),
                timestamp: event.at,
                description: description.clone(),
                snapshot_path: Some(StorePath::of_snapshot(event.state, *id)),
                extra: Object::new(),
                snapshot: snapshot(workspace, event.state),
            };
            if let Some(state) = workspace.states.get_mut(&event.state) {
                state.last_checkpoint = id.number();
                state.checkpoints.push(checkpoint);
            }
        }
        Change::Status { status, .. } => {
            if let Some(state) = workspace.states.get_mut(&event.state) {
                state.status = *status;
                state.touch(event.at);
            }
        }
        Change::Shared(shared) => {
            if let Some((layer, _)) = workspace.layer_mut(event.state, shared.scope) {
                layer.apply_shared(shared);
            }
        }
        Change::RolledBack { .. } => {}
    }
    if let (Some(mutation), Some(state)) = (change.mutation(), workspace.states.get_mut(&event.state)) {
        state.record(mutation);
    }
}

fn create_state(workspace: &mut Workspace, event: &Event, creation: &Creation) {
    let state = State {
        session: creation.session.clone(),
        tree: creation.tree,
        parent: creation.parent,
        depth: creation.depth,
        config: creation.config.clone(),
        lives_in: creation.lives_in.clone(),
        spawned_by: creation.spawned_by.clone(),
        ..State::new(event.state, event.at)
    };
    if let Some(parent) = creation.parent.and_then(|parent| workspace.states.get_mut(&parent)) {
        parent.children.push(event.state);
    }
    workspace.states.insert(event.state, state);
}

fn count_read(workspace: &mut Workspace, id: StateId, home: Home, name: &Name) {
    let Home::Scope(scope) = home else {
        let Some(state) = workspace.states.get_mut(&id) else { return };
        let special = if name.is_final() { Some(&mut state.final_answer) } else { state.prompt.as_mut() };
        if let Some(variable) = special.map(Arc::make_mut) {
            variable.access_count = variable.access_count.saturating_add(1);
        }
        return;
    };
    if let Some((layer, _)) = workspace.layer_mut(id, scope) {
        layer.count_read(name);
    }
}

/// Returns what the state sees now, shared rather than copied.
fn snapshot(workspace: &Workspace, id: StateId) -> Option<Snapshot> {
    let view = workspace.state_view(id)?;
    let seen = |scope: Scope| {
        let variables = view.layer(scope).map(|layer| layer.variables().clone()).unwrap_or_default();
        SeenLayer { revision: view.revision(scope), variables }
    };
    let scopes = Scope::LOOKUP_ORDER.into_iter().filter(|scope| view.has(*scope));
    Some(Snapshot {
        status: view.state.status,
        final_answer: view.state.final_answer.clone(),
        layers: scopes.map(|scope| (scope, seen(scope))).collect(),
    })
}
