//! The variables of one scope, stored so that a snapshot costs nothing until something changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Change, Event, Home, Name, Scope, StateId, StateView, Variable};

/// Variables by name. Cloning shares, which is how checkpoints are taken.
pub type Variables = Arc<BTreeMap<Name, Arc<Variable>>>;

/// The variables of one scope, and for a shared one who wrote what since when.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layer {
    variables: Variables,
    /// Counts every write, deletion and renaming. The order of changes made by several states is this count.
    revision: u64,
    /// For shared layers: the last revision each state made to each name, deleted names included.
    writers: Writers,
    /// For the layer of a scope's run: the last record of each run whose writes were published to it.
    published: Published,
}

/// The last record of each run whose writes were published.
pub(crate) type Published = BTreeMap<Arc<str>, u64>;

/// The last revision each state made to each name of a shared layer.
pub(crate) type Writers = BTreeMap<Name, BTreeMap<Author, u64>>;

impl Layer {
    /// Returns the variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Returns the variable called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Variable>> {
        self.variables.get(name)
    }

    /// Returns how many changes this layer has seen.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns a layer of its parts.
    pub(crate) fn from_parts(
        variables: Variables,
        revision: u64,
        writers: Writers,
        published: Published,
    ) -> Self {
        Self { variables, revision, writers, published }
    }

    /// Returns whether the writes of a record were published to this layer. Records of a run are published in their order.
    pub fn has_published(&self, by: &PublishedRecord) -> bool {
        self.published.get(&by.run).is_some_and(|last| *last >= by.record)
    }

    /// Returns the last record of each run whose writes were published.
    pub(crate) fn published(&self) -> &Published {
        &self.published
    }

    /// Returns the last revision each state made to each name.
    pub(crate) fn writers(&self) -> &Writers {
        &self.writers
    }

    /// Returns the names `state` changed after `revision`.
    pub(crate) fn written_since(&self, state: StateId, revision: u64) -> impl Iterator<Item = &Name> {
        let by_state = move |writers: &BTreeMap<Author, u64>| {
            writers.get(&Author::State(state)).is_some_and(|at| *at > revision)
        };
        self.writers.iter().filter(move |(_, writers)| by_state(writers)).map(|(name, _)| name)
    }

    /// Returns who else than `state` changed `name` after `revision`.
    pub(crate) fn other_writer(&self, name: &Name, state: StateId, revision: u64) -> Option<Author> {
        let (writers, own) = (self.writers.get(name)?, Author::State(state));
        writers.iter().find(|(writer, at)| **writer != own && **at > revision).map(|(writer, _)| *writer)
    }

    /// Applies the changes of another run.
    pub(crate) fn apply_shared(&mut self, shared: &Shared) {
        self.revision = shared.revision;
        if let Some(by) = &shared.by {
            let last = self.published.entry(by.run.clone()).or_default();
            *last = by.record.max(*last);
        }
        let variables = Arc::make_mut(&mut self.variables);
        for variable in &shared.variables {
            // Reads of other runs are not counted here, and those counted here stay.
            let reads = variables.get(&variable.name).map_or(0, |known| known.access_count);
            let taken = Variable { access_count: reads, ..variable.clone() };
            variables.insert(variable.name.clone(), Arc::new(taken));
        }
        for name in &shared.gone {
            variables.remove(name);
        }
        for name in shared.names() {
            self.writers.entry(name.clone()).or_default().insert(Author::Elsewhere, self.revision);
        }
    }

    pub(crate) fn put(&mut self, variable: Variable, by: Writer) {
        self.step(by, &[&variable.name]);
        Arc::make_mut(&mut self.variables).insert(variable.name.clone(), Arc::new(variable));
    }

    pub(crate) fn remove(&mut self, name: &Name, by: Writer) -> Option<Arc<Variable>> {
        self.step(by, &[name]);
        Arc::make_mut(&mut self.variables).remove(name)
    }

    pub(crate) fn rename(&mut self, from: &Name, to: &Name, by: Writer) {
        let variables = Arc::make_mut(&mut self.variables);
        if let Some(variable) = variables.remove(from) {
            let renamed = Variable { name: to.clone(), ..Arc::unwrap_or_clone(variable) };
            variables.insert(to.clone(), Arc::new(renamed));
        }
        self.step(by, &[from, to]);
    }

    pub(crate) fn count_read(&mut self, name: &Name) {
        if let Some(variable) = Arc::make_mut(&mut self.variables).get_mut(name) {
            let variable = Arc::make_mut(variable);
            variable.access_count = variable.access_count.saturating_add(1);
        }
    }

    /// Counts one change, which may touch several names.
    fn step(&mut self, by: Writer, names: &[&Name]) {
        self.revision += 1;
        let Writer::Sharing(state) = by else { return };
        for name in names {
            self.writers.entry((*name).clone()).or_default().insert(Author::State(state), self.revision);
        }
    }
}

/// The state that changes a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writer {
    /// The only state that can change the layer, so its writes are not attributed.
    Alone,
    /// One of several states that share the layer.
    Sharing(StateId),
}

/// The difference between a layer in another run and the same layer here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// The scope of the layer, as the state that records the difference sees it.
    pub scope: Scope,
    /// The revision known here.
    pub seen: u64,
    /// The revision there.
    pub revision: u64,
    /// The variables that are new or different there.
    pub variables: Vec<Variable>,
    /// The names that are gone there.
    pub gone: Vec<Name>,
    /// The record of a skill's run that made the change, where it is the run of a scope that records it.
    pub by: Option<PublishedRecord>,
}

/// A record whose writes to a shared scope are published once, however often the publishing is begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishedRecord {
    /// The run.
    pub run: Arc<str>,
    /// The index of the record.
    pub record: u64,
}

impl Shared {
    /// Returns the changes that make `here` equal to `there`; nothing when `here` is up to date.
    pub fn between(scope: Scope, here: Option<&Layer>, there: &Layer) -> Option<Self> {
        let seen = here.map_or(0, Layer::revision);
        if there.revision() <= seen {
            return None;
        }
        // Each run counts its own reads.
        let quiet = |variable: &Variable| Variable { access_count: 0, ..variable.clone() };
        let known = |name: &Name| here.and_then(|here| here.get(name.as_str()));
        let differs = |variable: &&std::sync::Arc<Variable>| {
            known(&variable.name).is_none_or(|known| quiet(known) != quiet(variable))
        };
        let variables = there.variables().values().filter(differs).map(|variable| quiet(variable)).collect();
        let names = here.into_iter().flat_map(|here| here.variables().keys());
        let gone = names.filter(|name| there.get(name.as_str()).is_none()).cloned().collect();
        Some(Self { scope, seen, revision: there.revision(), variables, gone, by: None })
    }

    /// Iterates over every name that changes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.variables.iter().map(|variable| &variable.name).chain(&self.gone)
    }
}

/// Returns the layer of `scope` as an event of the state leaves it; nothing when the event does not touch it.
pub fn layer_after(view: StateView<'_>, scope: Scope, event: &Event) -> Option<Layer> {
    let mut layer = view.layer(scope).cloned().unwrap_or_default();
    let before = layer.revision();
    for change in &event.changes {
        if change.place().is_none_or(|place| place.home() != Home::Scope(scope)) {
            continue;
        }
        match change {
            Change::Write { variable, .. } => layer.put(variable.clone(), Writer::Alone),
            Change::Delete { name, .. } => drop(layer.remove(name, Writer::Alone)),
            Change::Rename { name, to, .. } => layer.rename(name, to, Writer::Alone),
            _ => {}
        }
    }
    (layer.revision() > before).then_some(layer)
}

/// The author of a change to a shared variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Author {
    /// A state of this run.
    State(StateId),
    /// Another run.
    Elsewhere,
}

impl fmt::Display for Author {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(state) => state.fmt(out),
            Self::Elsewhere => out.write_str("another run"),
        }
    }
}
