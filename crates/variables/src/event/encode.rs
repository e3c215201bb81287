//! Writes events for a journal.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::document::variable;
use crate::event::{Change, Creation, Entry, Event, Place, Spawner};
use crate::import::ImportedDocument;
use crate::members::Members;
use crate::{Name, Scope, Variable};

impl Event {
    /// Returns the event as a value. [`Event::from_value`] reads it back.
    pub fn to_value(&self) -> Value {
        Members::default()
            .set("state", self.state)
            .set("at", self.at)
            .set("action", self.action)
            .set("changes", self.changes.iter().map(encode_change).collect::<Value>())
            .object()
            .into()
    }
}

fn encode_change(change: &Change) -> Object {
    match change {
        Change::Created(creation) => encode_creation(creation),
        Change::Imported(imported) => encode_imported(imported),
        Change::Write { entry, place, variable, old_value } => logged("write", entry, *place)
            .set("variable", variable::encode(variable, None))
            .some("old_value", old_value.clone())
            .object(),
        Change::Delete { entry, place, name, old_value } => logged("delete", entry, *place)
            .set("name", name.as_str())
            .set("old_value", old_value.clone())
            .object(),
        Change::Rename { entry, place, name, to } => {
            logged("rename", entry, *place).set("name", name.as_str()).set("to", to.as_str()).object()
        }
        Change::Read { place, name } => placed(kind("read").set("name", name.as_str()), *place).object(),
        Change::Checkpoint { id, name, description, seen } => kind("checkpoint")
            .set("checkpoint_id", *id)
            .set("name", name.clone())
            .some("description", description.clone())
            .set("seen", encode_seen(seen))
            .object(),
        Change::Shared(shared) => kind("shared")
            .set("scope", shared.scope)
            .set("seen", shared.seen)
            .set("revision", shared.revision)
            .set("variables", encode_variables(&shared.variables))
            .set("gone", shared.gone.iter().map(Name::shared).collect::<Value>())
            .some("by", shared.by.as_ref().map(encode_published))
            .object(),
        Change::RolledBack { to } => kind("rolled_back").set("checkpoint_id", *to).object(),
        Change::Status { status, reason } => {
            kind("status").set("status", *status).some("reason", reason.clone()).object()
        }
    }
}

fn encode_published(by: &crate::PublishedRecord) -> Object {
    Members::default().set("run", by.run.clone()).set("record", by.record).object()
}

fn kind(word: &str) -> Members {
    Members::default().set("change", word)
}

fn encode_creation(creation: &Creation) -> Object {
    kind("born")
        .some("session_id", creation.session.as_ref())
        .some("tree_id", creation.tree)
        .some("parent", creation.parent)
        .set("depth", u64::from(creation.depth))
        .some("execution_config", creation.config.as_ref().map(|config| config.members().clone()))
        .some("lives_in", creation.lives_in.clone())
        .some("spawned_by", creation.spawned_by.as_ref().map(encode_spawner))
        .object()
}

pub(crate) fn encode_spawner(spawner: &Spawner) -> Object {
    Members::default().set("run", spawner.run.clone()).set("state", spawner.state).object()
}

fn encode_variables(variables: &[Variable]) -> Value {
    variables.iter().map(|variable| variable::encode(variable, None)).collect()
}

fn encode_imported(imported: &ImportedDocument) -> Object {
    let snapshots = imported.import.snapshots.iter();
    let snapshots: Object = snapshots.map(|(id, snapshot)| (id.to_string(), snapshot.to_value())).collect();
    kind("adopted")
        .set("document", imported.import.document.to_value())
        .set("snapshots", snapshots)
        .set("seen", encode_seen(&imported.seen))
        .set("made", encode_seen(&imported.made))
        .object()
}

fn encode_seen(seen: &BTreeMap<Scope, u64>) -> Object {
    seen.iter().map(|(scope, revision)| (scope.as_str(), *revision)).collect()
}

fn logged(word: &str, entry: &Entry, place: Place) -> Members {
    let members = kind(word)
        .set("mutation_id", entry.id)
        .set("timestamp", entry.timestamp)
        .some("source", entry.source.clone())
        .non_empty("metadata", entry.metadata.clone());
    placed(members, place)
}

fn placed(members: Members, place: Place) -> Members {
    match place {
        Place::Special => members,
        Place::Layer { scope, revision } => members.set("scope", scope).set("revision", revision),
    }
}
