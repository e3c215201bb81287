//! Hints about the kind of knowledge a capability takes and gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::Registry;
use crate::skill::{Skill, Uses};

/// What a capability says about the knowledge it works on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CognitiveHints {
    /// What it does, in the vocabulary of its author.
    pub role: Vec<Arc<str>>,
    /// The types of knowledge it needs.
    pub consumes: Vec<Arc<str>>,
    /// What its members are: type and, if it insists, target.
    pub produces: Vec<(Arc<str>, Produced)>,
}

/// What a capability says about one member of its output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Produced {
    /// The type of knowledge.
    pub kind: Option<Arc<str>>,
    /// Where it should go.
    pub target: Option<Arc<str>>,
}

/// The vocabulary of types of knowledge with the slot each goes to by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CognitiveTypes(Vec<(Arc<str>, Arc<str>)>);

impl CognitiveHints {
    /// Reads hints; what is not understood is left out, since hints promise nothing.
    pub fn read(value: &Value) -> Self {
        let texts = |key: &str| match value.get(key) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
            _ => Vec::new(),
        };
        let produced = |(field, value): (&Arc<str>, &Value)| {
            value.as_object()?;
            let member = |key: &str| value.get(key).and_then(text).filter(|text| !text.is_empty());
            Some((field.clone(), Produced { kind: member("type"), target: member("target") }))
        };
        let produces = value.get("produces").and_then(Value::as_object);
        Self {
            role: texts("role"),
            consumes: texts("consumes"),
            produces: produces.into_iter().flat_map(Object::iter).filter_map(produced).collect(),
        }
    }
}

impl CognitiveTypes {
    /// Reads a vocabulary of the form `{"types": {name: {"default_slot": target}}}`.
    pub fn read(value: &Value) -> Self {
        let types = value.get("types").and_then(Value::as_object);
        let slot = |(name, entry): (&Arc<str>, &Value)| {
            Some((name.clone(), entry.get("default_slot").and_then(text).filter(|slot| !slot.is_empty())?))
        };
        Self(types.into_iter().flat_map(Object::iter).filter_map(slot).collect())
    }

    fn default_slot(&self, kind: &str) -> Option<&Arc<str>> {
        self.0.iter().find(|(name, _)| &**name == kind).map(|(_, slot)| slot)
    }
}

fn text(value: &Value) -> Option<Arc<str>> {
    value.as_str().map(Arc::from)
}

/// Returns the output mapping that hints stand for, if they name any target.
pub fn auto_wire(hints: &CognitiveHints, types: &CognitiveTypes) -> Option<Object> {
    let target = |produced: &Produced| {
        let by_type = || types.default_slot(produced.kind.as_deref()?).cloned();
        produced.target.clone().or_else(by_type)
    };
    let wired =
        hints.produces.iter().filter_map(|(field, produced)| Some((field.clone(), target(produced)?)));
    Some(wired.collect::<Object>()).filter(|mapping| !mapping.is_empty())
}

/// A type of knowledge that a step consumes before any earlier step produces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumed {
    /// The step.
    pub step_id: Arc<str>,
    /// The type of knowledge.
    pub kind: Arc<str>,
}

/// Returns what is consumed too early, walking the steps as declared.
pub fn consumed_too_early<'a>(
    steps: impl IntoIterator<Item = (&'a Arc<str>, &'a Uses)>,
    registry: &dyn Registry,
) -> Vec<Consumed> {
    let mut produced = BTreeSet::new();
    let mut early = Vec::new();
    for (step_id, uses) in steps {
        let Uses::Capability(id) = uses else { continue };
        let Some(spec) = registry.capability(id) else { continue };
        let missing = spec.hints.consumes.iter().filter(|kind| !produced.contains(*kind));
        early.extend(missing.map(|kind| Consumed { step_id: step_id.clone(), kind: kind.clone() }));
        produced.extend(spec.hints.produces.iter().filter_map(|(_, produced)| produced.kind.clone()));
    }
    early
}

impl Skill {
    /// Returns what the steps consume before any earlier one produces it.
    pub fn consumed_too_early(&self, registry: &dyn Registry) -> Vec<Consumed> {
        consumed_too_early(self.steps.iter().map(|step| (&step.id, &step.uses)), registry)
    }
}
