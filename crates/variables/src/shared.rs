//! What other runs left in a layer that several runs share.
//!
//! A run is whole by itself: what another run wrote enters its journal as a change of its own, before anything is
//! decided on it. So a journal folds, verifies and replays without the journals of others.

use std::fmt;

use crate::layer::Writer;
use crate::{Change, Event, Home, Layer, Name, Scope, Sight, StateId, Variable};

/// A layer as it is somewhere else, told as the difference to what is known here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Which layer, as the state that takes it in sees it.
    pub scope: Scope,
    /// The revision known here.
    pub seen: u64,
    /// The revision there.
    pub revision: u64,
    /// The variables that are new or different there.
    pub variables: Vec<Variable>,
    /// The names that are gone there.
    pub gone: Vec<Name>,
}

impl Shared {
    /// Returns what makes `here` say what `there` says; nothing when it is not behind.
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
        Some(Self { scope, seen, revision: there.revision(), variables, gone })
    }

    /// Iterates over every name that changes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.variables.iter().map(|variable| &variable.name).chain(&self.gone)
    }
}

/// Returns the layer of `scope` as an event of the state leaves it; nothing when the event does not touch it.
pub fn layer_after(sight: Sight<'_>, scope: Scope, event: &Event) -> Option<Layer> {
    let mut layer = sight.layer(scope).cloned().unwrap_or_default();
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

/// Who changed a shared variable.
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
