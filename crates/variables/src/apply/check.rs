//! Checks that an event follows from the workspace it is applied to.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;

use crate::event::{Creation, Entry, Place};
use crate::import::ImportedDocument;
use crate::limits::TREE_DEPTH_MAX;
use crate::{
    Change, CheckpointId, Event, Home, Name, Scope, Shared, StateId, StateView, Timestamp, Workspace,
};

/// The expected form of the next change. Changes of one event touch different names, so each can be checked
/// against the workspace as it was; only the counters move in between.
pub(super) struct Expected<'a> {
    view: Option<StateView<'a>>,
    mutation: u64,
    not_before: Option<Timestamp>,
    checkpoint: u64,
    revisions: BTreeMap<Scope, u64>,
    touched: BTreeSet<(Home, &'a Name)>,
}

impl<'a> Expected<'a> {
    pub(super) fn of(workspace: &'a Workspace, event: &Event) -> Self {
        let view = workspace.state_view(event.state);
        let state = view.map(|view| view.state);
        let revisions = match (view, event.changes.first()) {
            (Some(view), _) => {
                Scope::LOOKUP_ORDER.into_iter().map(|scope| (scope, view.revision(scope))).collect()
            }
            (None, Some(Change::Created(creation))) => {
                workspace.revisions_for_new_state(creation.session.as_ref(), creation.tree)
            }
            (None, _) => BTreeMap::new(),
        };
        Self {
            view,
            mutation: state.map_or(0, |state| state.last_mutation).saturating_add(1),
            not_before: state.and_then(|state| state.log.last_at()),
            checkpoint: u64::from(state.map_or(0, |state| state.last_checkpoint)) + 1,
            revisions,
            touched: BTreeSet::new(),
        }
    }

    pub(super) fn check(
        &mut self,
        workspace: &Workspace,
        event: &'a Event,
        index: usize,
    ) -> Result<(), String> {
        let Some(change) = event.changes.get(index) else { return Ok(()) };
        self.check_alive(event)?;
        match change {
            Change::Created(creation) => self.check_creation(workspace, event.state, index, creation),
            Change::Imported(imported) => self.check_imported(workspace, event, index, imported),
            Change::Write { entry, place, variable, old_value } => {
                self.check_mutation(entry)?;
                self.check_place(*place, &variable.name)?;
                self.check_presence(place.home(), &variable.name, old_value.is_some())?;
                self.check_old(place.home(), &variable.name, old_value.as_ref())?;
                let rewritten = variable.name.is_prompt() && old_value.is_some();
                if rewritten { Err("the prompt is written once".to_owned()) } else { Ok(()) }
            }
            Change::Delete { entry, place, name, old_value } => {
                self.check_mutation(entry)?;
                self.check_layer(*place, name)?;
                self.check_presence(place.home(), name, true)?;
                self.check_old(place.home(), name, Some(old_value))
            }
            Change::Rename { entry, place, name, to } => {
                self.check_mutation(entry)?;
                self.check_layer(*place, name)?;
                self.check_presence(place.home(), name, true)?;
                self.check_presence(place.home(), to, false)
            }
            Change::Read { place, name } => {
                self.check_seen(*place)?;
                self.check_presence(place.home(), name, true)
            }
            Change::Checkpoint { id, seen, .. } => self.check_checkpoint(*id, seen),
            Change::Shared(shared) => self.check_shared(shared),
            Change::RolledBack { .. } | Change::Status { .. } => Ok(()),
        }
    }

    fn check_alive(&self, event: &Event) -> Result<(), String> {
        let born_here = matches!(event.changes.first(), Some(Change::Created(_) | Change::Imported(_)));
        match self.view.map(|view| view.state.clock) {
            None if !born_here => Err(format!("there is no state {}", event.state)),
            Some(last) if last > event.at => Err(format!("clock went back from {last}")),
            _ => Ok(()),
        }
    }

    fn check_creation(
        &self,
        workspace: &Workspace,
        id: StateId,
        at: usize,
        creation: &Creation,
    ) -> Result<(), String> {
        if at != 0 || self.view.is_some() {
            return Err(format!("state {id} already exists"));
        }
        let depth = match creation.parent {
            // Only the run of the spawner knows the spawner's depth.
            None if creation.spawned_by.is_some() => creation.depth.max(1),
            None => 0,
            Some(parent) => {
                let parent = workspace.state(parent).ok_or_else(|| format!("there is no state {parent}"))?;
                parent.depth.saturating_add(1)
            }
        };
        if depth > TREE_DEPTH_MAX {
            return Err(format!("depth {depth} is beyond {TREE_DEPTH_MAX}"));
        }
        if creation.depth == depth {
            Ok(())
        } else {
            Err(format!("expected depth {depth}, found {}", creation.depth))
        }
    }

    fn check_imported(
        &self,
        workspace: &Workspace,
        event: &Event,
        at: usize,
        imported: &ImportedDocument,
    ) -> Result<(), String> {
        if at != 0 || event.changes.len() != 1 || imported.import.document.state_id != event.state {
            return Err("a document is taken in by an event of its own".to_owned());
        }
        let expected = imported.import.check(workspace, event.at).map_err(|refusal| refusal.to_string())?;
        let same = expected.seen == imported.seen && expected.made == imported.made;
        if same { Ok(()) } else { Err("shared layers have moved".to_owned()) }
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
        if self.view.is_some_and(|view| !view.has(scope)) {
            return Err(format!("state has no scope {scope}"));
        }
        let last = self.revisions.entry(scope).or_default();
        *last += 1;
        if *last == revision {
            return Ok(());
        }
        Err(format!("expected revision {last} of scope {scope}, found {revision}"))
    }

    fn check_seen(&self, place: Place) -> Result<(), String> {
        let Place::Layer { scope, revision } = place else { return Ok(()) };
        match self.revisions.get(&scope) {
            Some(found) if *found == revision => Ok(()),
            _ => Err(format!("scope {scope} is not at revision {revision}")),
        }
    }

    /// Checks that a layer of another run is ahead of what is known here, and touches each name once.
    fn check_shared(&mut self, shared: &'a Shared) -> Result<(), String> {
        let scope = shared.scope;
        let Some(view) = self.view.filter(|view| view.has(scope) && view.is_shared(scope)) else {
            return Err(format!("state shares no scope {scope}"));
        };
        let known = self.revisions.entry(scope).or_default();
        if *known != shared.seen || shared.revision <= shared.seen {
            return Err(format!(
                "scope {scope} is at revision {known}, not between {} and {}",
                shared.seen, shared.revision
            ));
        }
        *known = shared.revision;
        for name in shared.names() {
            if name.is_special() {
                return Err(format!("`{name}` lives in no scope"));
            }
            if !self.touched.insert((Home::Scope(scope), name)) {
                return Err(format!("`{name}` changes twice"));
            }
        }
        let unknown = shared.gone.iter().find(|name| view.find_in(scope, name).is_none());
        unknown.map_or(Ok(()), |name| Err(format!("there is no `{name}`")))
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
        let found = match (home, self.view) {
            // A state is born with `Final`.
            (Home::Special, None) => name.is_final(),
            (Home::Special, Some(view)) => name.is_special() && view.find(name).is_some(),
            (Home::Scope(_), None) => false,
            (Home::Scope(scope), Some(view)) => !name.is_special() && view.find_in(scope, name).is_some(),
        };
        match (expected, found) {
            (true, false) => Err(format!("there is no `{name}`")),
            (false, true) => Err(format!("there is a `{name}` already")),
            _ => Ok(()),
        }
    }

    /// Checks that the value an event replaces is the present value.
    fn check_old(&self, home: Home, name: &Name, expected: Option<&Value>) -> Result<(), String> {
        let view = self.view;
        let found = view.and_then(|view| match home {
            Home::Special => view.find(name),
            Home::Scope(scope) => view.find_in(scope, name),
        });
        match (expected, found) {
            (Some(expected), Some(found)) if found.variable.stored.shown() != *expected => {
                Err(format!("`{name}` does not hold the value this replaces"))
            }
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
