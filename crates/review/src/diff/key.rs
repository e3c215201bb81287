//! What actions and artifacts are matched by, and how their references are compared.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::lineage::Lineage;
use crate::wire::{Action, Artifact, Trace};

use super::Subject;

/// Members that only number or place.
const NAMES_OF_ACTIONS: &[&str] = &["id", "meta_action_id", "timestamp"];
const NAMES_OF_ARTIFACTS: &[&str] = &["artifact_id"];

/// Meanings of the ids of one trace.
pub(super) struct Keys<'a> {
    trace: &'a Trace,
    lineage: &'a Lineage,
    artifacts: BTreeMap<&'a str, String>,
}

impl<'a> Keys<'a> {
    pub(super) fn of(trace: &'a Trace, lineage: &'a Lineage) -> Self {
        let named =
            trace.artifacts().iter().filter_map(|artifact| Some((artifact.id()?, artifact_key(artifact))));
        Self { trace, lineage, artifacts: named.collect() }
    }

    pub(super) fn actions(&self) -> Vec<Subject> {
        let subject = |action: &Action| {
            let key = self.action_key(action);
            let id = action.id().map_or_else(|| format!("#{}", action.index()), |id| id.to_string());
            let title = if action.label().is_empty() { action.type_word() } else { action.label() };
            let content = self.by_meaning(action.source(), NAMES_OF_ACTIONS);
            Subject { key, id, title: title.to_owned(), content }
        };
        self.trace.actions().iter().map(subject).collect()
    }

    pub(super) fn artifacts(&self) -> Vec<Subject> {
        let subject = |artifact: &Artifact| {
            let id = artifact.id().map_or_else(|| format!("#{}", artifact.index()), str::to_owned);
            let title = artifact.name().unwrap_or(&id).to_owned();
            let content = self.by_meaning(artifact.source(), NAMES_OF_ARTIFACTS);
            Subject { key: artifact_key(artifact), id, title, content }
        };
        self.trace.artifacts().iter().map(subject).collect()
    }

    fn action_key(&self, action: &Action) -> String {
        format!(
            "{}\u{1f}{}\u{1f}{}",
            action.type_word(),
            action.label(),
            self.lineage.target(action.position())
        )
    }

    /// Replaces ids by what they stand for.
    fn by_meaning(&self, object: &Object, left_out: &[&str]) -> Object {
        let kept = object.iter().filter(|(key, _)| !left_out.contains(&&***key));
        kept.map(|(key, value)| (key.clone(), self.meaning(key, value))).collect()
    }

    fn meaning(&self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("inputs" | "outputs" | "supporting_inputs" | "derived_from", Value::Array(items)) => {
                items.iter().map(|item| self.artifact_meaning(item)).collect()
            }
            ("supersedes", id) => self.artifact_meaning(id),
            ("producer_action_id", Value::Int(id)) => {
                let action = id.as_i64().and_then(|id| self.trace.action_by_id(id));
                action.map_or_else(|| value.clone(), |action| self.action_key(action).into())
            }
            _ => value.clone(),
        }
    }

    fn artifact_meaning(&self, id: &Value) -> Value {
        let key = id.as_str().and_then(|id| self.artifacts.get(id));
        key.map_or_else(|| id.clone(), |key| key.as_str().into())
    }
}

fn artifact_key(artifact: &Artifact) -> String {
    let kind = artifact.artifact_type().map_or(artifact.type_word(), |kind| kind.as_str());
    // An artifact without a name has nothing but its id to be known by.
    format!("{kind}\u{1f}{}", artifact.name().or(artifact.id()).unwrap_or(""))
}
