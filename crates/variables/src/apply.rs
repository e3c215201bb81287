//! The only way a workspace changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::Object;

use crate::adopt::{Adoption, adopt};
use crate::checkpoint::{Checkpoint, SeenLayer, Snapshot};
use crate::event::{Birth, Entry, Place};
use crate::limits::TREE_DEPTH_MAX;
use crate::{
    Change, CheckpointId, Event, Home, Name, Scope, Sight, State, StateId, StorePath, Timestamp, Workspace,
};

/// An event that does not follow from the workspace it is applied to. The workspace is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event of {state} at {at} does not fit, change {change}: {reason}")]
pub struct Misfit {
    /// The state that acted.
    pub state: StateId,
    /// When.
    pub at: Timestamp,
    /// Which of its changes, from 0.
    pub change: usize,
    /// What was expected and found.
    pub reason: String,
}

/// Applies `event` to `workspace`: all of it, or nothing.
///
/// # Errors
/// [`Misfit`] when the event was not decided against this workspace: a journal that is damaged, out of order or not
/// this one's.
pub fn apply(workspace: &mut Workspace, event: &Event) -> Result<(), Misfit> {
    let mut expected = Expected::of(workspace, event);
    for change in 0..event.changes.len() {
        let checked = expected.check(workspace, event, change);
        checked.map_err(|reason| Misfit { state: event.state, at: event.at, change, reason })?;
    }
    for change in &event.changes {
        perform(workspace, event, change);
    }
    if let Some(state) = workspace.states.get_mut(&event.state) {
        state.clock = state.clock.max(event.at);
    }
    Ok(())
}

/// What the next change has to look like. Changes of one event touch different names, so each can be checked
/// against the workspace as it was; only the counters move in between.
struct Expected<'a> {
    sight: Option<Sight<'a>>,
    mutation: u64,
    not_before: Option<Timestamp>,
    checkpoint: u64,
    revisions: BTreeMap<Scope, u64>,
    touched: BTreeSet<(Home, &'a Name)>,
}

impl<'a> Expected<'a> {
    fn of(workspace: &'a Workspace, event: &Event) -> Self {
        let sight = workspace.sight(event.state);
        let state = sight.map(|sight| sight.state);
        let revisions = match (sight, event.changes.first()) {
            (Some(sight), _) => {
                Scope::LOOKUP_ORDER.into_iter().map(|scope| (scope, sight.revision(scope))).collect()
            }
            (None, Some(Change::Born(birth))) => {
                workspace.revisions_at_birth(birth.session.as_ref(), birth.tree)
            }
            (None, _) => BTreeMap::new(),
        };
        Self {
            sight,
            mutation: state.map_or(0, |state| state.last_mutation).saturating_add(1),
            not_before: state.and_then(|state| state.log.back()).map(|last| last.timestamp),
            checkpoint: u64::from(state.map_or(0, |state| state.last_checkpoint)) + 1,
            revisions,
            touched: BTreeSet::new(),
        }
    }

    fn check(&mut self, workspace: &Workspace, event: &'a Event, index: usize) -> Result<(), String> {
        let Some(change) = event.changes.get(index) else { return Ok(()) };
        self.check_alive(event)?;
        match change {
            Change::Born(birth) => self.check_birth(workspace, event.state, index, birth),
            Change::Adopted(adoption) => self.check_adoption(workspace, event, index, adoption),
            Change::Write { entry, place, variable, old_value } => {
                self.check_mutation(entry)?;
                self.check_place(*place, &variable.name)?;
                self.check_presence(place.home(), &variable.name, old_value.is_some())?;
                let rewritten = variable.name.is_prompt() && old_value.is_some();
                if rewritten { Err("the prompt is written once".to_owned()) } else { Ok(()) }
            }
            Change::Delete { entry, place, name, .. } => {
                self.check_mutation(entry)?;
                self.check_layer(*place, name)?;
                self.check_presence(place.home(), name, true)
            }
            Change::Rename { entry, place, name, to } => {
                self.check_mutation(entry)?;
                self.check_layer(*place, name)?;
                self.check_presence(place.home(), name, true)?;
                self.check_presence(place.home(), to, false)
            }
            Change::Read { home, name } => self.check_presence(*home, name, true),
            Change::Checkpoint { id, seen, .. } => self.check_checkpoint(*id, seen),
            Change::RolledBack { .. } | Change::Status { .. } => Ok(()),
        }
    }

    fn check_alive(&self, event: &Event) -> Result<(), String> {
        let born_here = matches!(event.changes.first(), Some(Change::Born(_) | Change::Adopted(_)));
        match self.sight.map(|sight| sight.state.clock) {
            None if !born_here => Err(format!("there is no state {}", event.state)),
            Some(last) if last > event.at => Err(format!("clock went back from {last}")),
            _ => Ok(()),
        }
    }

    fn check_birth(
        &self,
        workspace: &Workspace,
        id: StateId,
        at: usize,
        birth: &Birth,
    ) -> Result<(), String> {
        if at != 0 || self.sight.is_some() {
            return Err(format!("state {id} already exists"));
        }
        let depth = match birth.parent {
            None => 0,
            Some(parent) => {
                let parent = workspace.state(parent).ok_or_else(|| format!("there is no state {parent}"))?;
                parent.depth.saturating_add(1)
            }
        };
        if depth > TREE_DEPTH_MAX {
            return Err(format!("depth {depth} is beyond {TREE_DEPTH_MAX}"));
        }
        if birth.depth == depth {
            Ok(())
        } else {
            Err(format!("expected depth {depth}, found {}", birth.depth))
        }
    }

    fn check_adoption(
        &self,
        workspace: &Workspace,
        event: &Event,
        at: usize,
        adoption: &Adoption,
    ) -> Result<(), String> {
        if at != 0 || event.changes.len() != 1 || adoption.import.document.state_id != event.state {
            return Err("a document is taken in by an event of its own".to_owned());
        }
        let expected = adoption.import.check(workspace, event.at).map_err(|refusal| refusal.to_string())?;
        if expected.seen == adoption.seen { Ok(()) } else { Err("shared layers have moved".to_owned()) }
    }

    fn check_mutation(&mut self, entry: &Entry) -> Result<(), String> {
        if u64::from(entry.id.number()) != self.mutation {
            return Err(format!("expected mutation number {}, found {}", self.mutation, entry.id));
        }
        if let Some(last) = self.not_before.filter(|last| *last > entry.timestamp) {
            return Err(format!("log goes back from {last} to {}", entry.timestamp));
        }
        self.mutation += 1;
        self.not_before = Some(entry.timestamp);
        Ok(())
    }

    fn check_place(&mut self, place: Place, name: &Name) -> Result<(), String> {
        let Place::Layer { scope, revision } = place else {
            return if name.is_special() { Ok(()) } else { Err(format!("`{name}` is not special")) };
        };
        if name.is_special() {
            return Err(format!("`{name}` lives in no scope"));
        }
        if self.sight.is_some_and(|sight| !sight.has(scope)) {
            return Err(format!("state has no scope {scope}"));
        }
        let last = self.revisions.entry(scope).or_default();
        *last += 1;
        if *last == revision {
            return Ok(());
        }
        Err(format!("expected revision {last} of scope {scope}, found {revision}"))
    }

    fn check_layer(&mut self, place: Place, name: &Name) -> Result<(), String> {
        if place == Place::Special {
            return Err(format!("`{name}` cannot go away"));
        }
        self.check_place(place, name)
    }

    fn check_presence(&mut self, home: Home, name: &'a Name, expected: bool) -> Result<(), String> {
        if !self.touched.insert((home, name)) {
            return Err(format!("`{name}` changes twice"));
        }
        let found = match (home, self.sight) {
            // A state is born with `Final`.
            (Home::Special, None) => name.is_final(),
            (Home::Special, Some(sight)) => name.is_special() && sight.find(name).is_some(),
            (Home::Scope(_), None) => false,
            (Home::Scope(scope), Some(sight)) => !name.is_special() && sight.find_in(scope, name).is_some(),
        };
        match (expected, found) {
            (true, false) => Err(format!("there is no `{name}`")),
            (false, true) => Err(format!("there is a `{name}` already")),
            _ => Ok(()),
        }
    }

    fn check_checkpoint(&mut self, id: CheckpointId, seen: &BTreeMap<Scope, u64>) -> Result<(), String> {
        if u64::from(id.number()) != self.checkpoint {
            return Err(format!("expected checkpoint number {}, found {id}", self.checkpoint));
        }
        self.checkpoint += 1;
        let moved = seen.iter().find(|(scope, revision)| self.revisions.get(scope) != Some(revision));
        match moved {
            None => Ok(()),
            Some((scope, revision)) => Err(format!("scope {scope} is not at revision {revision}")),
        }
    }
}

/// Performs a change that has been checked.
fn perform(workspace: &mut Workspace, event: &Event, change: &Change) {
    match change {
        Change::Born(birth) => bear(workspace, event, birth),
        Change::Adopted(adoption) => adopt(workspace, event, adoption),
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
        Change::Read { home, name } => count_read(workspace, event.state, *home, name),
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
        Change::RolledBack { .. } => {}
    }
    if let (Some(mutation), Some(state)) = (change.mutation(), workspace.states.get_mut(&event.state)) {
        state.record(mutation);
    }
}

fn bear(workspace: &mut Workspace, event: &Event, birth: &Birth) {
    let state = State {
        session: birth.session.clone(),
        tree: birth.tree,
        parent: birth.parent,
        depth: birth.depth,
        config: birth.config.clone(),
        ..State::newborn(event.state, event.at)
    };
    if let Some(parent) = birth.parent.and_then(|parent| workspace.states.get_mut(&parent)) {
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
    let sight = workspace.sight(id)?;
    let seen = |scope: Scope| {
        let variables = sight.layer(scope).map(|layer| layer.variables().clone()).unwrap_or_default();
        SeenLayer { revision: sight.revision(scope), variables }
    };
    let scopes = Scope::LOOKUP_ORDER.into_iter().filter(|scope| sight.has(*scope));
    Some(Snapshot {
        status: sight.state.status,
        final_answer: sight.state.final_answer.clone(),
        layers: scopes.map(|scope| (scope, seen(scope))).collect(),
    })
}
