//! Builds an event: numbers its mutations and the revisions of the layers it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;

use crate::event::{Entry, Place};
use crate::limits::MUTATIONS_MAX;
use crate::{
    Action, Change, CheckpointId, Event, Home, MutationId, Name, Origin, Refusal, Scope, StateId, StateView,
    Status, Timestamp, Variable,
};

pub(super) struct EventBuilder {
    state: StateId,
    at: Timestamp,
    action: Action,
    changes: Vec<Change>,
    last_mutation: u64,
    revisions: BTreeMap<Scope, u64>,
}

impl EventBuilder {
    /// Starts the event of a state that exists.
    pub(super) fn on(view: StateView<'_>, action: Action, at: Timestamp) -> Self {
        let scopes = Scope::LOOKUP_ORDER.into_iter().filter(|scope| view.has(*scope));
        let revisions = scopes.map(|scope| (scope, view.revision(scope))).collect();
        let (state, last_mutation) = (view.state.id, view.state.last_mutation);
        Self { state, at, action, changes: Vec::new(), last_mutation, revisions }
    }

    /// Starts the event that makes a state; `revisions` are those of the layers it will see.
    pub(super) fn creation(state: StateId, at: Timestamp, revisions: BTreeMap<Scope, u64>) -> Self {
        Self { state, at, action: Action::Init, changes: Vec::new(), last_mutation: 0, revisions }
    }

    pub(super) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(super) fn write(
        &mut self,
        home: Home,
        variable: Variable,
        old_value: Option<Value>,
        origin: &Origin,
    ) -> Result<(), Refusal> {
        let (entry, place) = (self.entry(self.at, origin)?, self.place(home));
        self.changes.push(Change::Write { entry, place, variable, old_value });
        Ok(())
    }

    pub(super) fn delete(&mut self, home: Home, variable: &Variable, origin: &Origin) -> Result<(), Refusal> {
        self.delete_at(home, variable, origin, self.at)
    }

    /// Deletes at another time than the event's.
    pub(super) fn delete_at(
        &mut self,
        home: Home,
        variable: &Variable,
        origin: &Origin,
        timestamp: Timestamp,
    ) -> Result<(), Refusal> {
        let (entry, place) = (self.entry(timestamp, origin)?, self.place(home));
        let (name, old_value) = (variable.name.clone(), variable.stored.shown());
        self.changes.push(Change::Delete { entry, place, name, old_value });
        Ok(())
    }

    pub(super) fn rename(
        &mut self,
        home: Home,
        name: Name,
        to: Name,
        origin: &Origin,
    ) -> Result<(), Refusal> {
        let (entry, place) = (self.entry(self.at, origin)?, self.place(home));
        self.changes.push(Change::Rename { entry, place, name, to });
        Ok(())
    }

    /// Counts a read of the variable as the layer is now.
    pub(super) fn read(&mut self, home: Home, name: Name) {
        let revision = |scope: Scope| self.revisions.get(&scope).copied().unwrap_or_default();
        let place = match home {
            Home::Special => Place::Special,
            Home::Scope(scope) => Place::Layer { scope, revision: revision(scope) },
        };
        self.changes.push(Change::Read { place, name });
    }

    pub(super) fn checkpoint(&mut self, id: CheckpointId, name: Arc<str>, description: Option<Arc<str>>) {
        self.changes.push(Change::Checkpoint { id, name, description, seen: self.revisions.clone() });
    }

    pub(super) fn status(&mut self, status: Status, reason: Option<&Arc<str>>) {
        self.changes.push(Change::Status { status, reason: reason.cloned() });
    }

    pub(super) fn finish(self) -> Event {
        Event { state: self.state, at: self.at, action: self.action, changes: self.changes }
    }

    fn entry(&mut self, timestamp: Timestamp, origin: &Origin) -> Result<Entry, Refusal> {
        // An imported count may be as large as counts get.
        let number = self.last_mutation.saturating_add(1);
        let id = u32::try_from(number).ok().filter(|_| number <= MUTATIONS_MAX);
        let id = MutationId::from_number(id.ok_or(Refusal::TooManyMutations)?);
        self.last_mutation = number;
        Ok(Entry::new(id, timestamp, origin))
    }

    fn place(&mut self, home: Home) -> Place {
        let Home::Scope(scope) = home else { return Place::Special };
        let revision = self.revisions.entry(scope).or_default();
        *revision += 1;
        Place::Layer { scope, revision: *revision }
    }
}
