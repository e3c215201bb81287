//! Where a plan looks up what steps call.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::{CapabilitySpec, auto_wire};
use crate::capability::CognitiveTypes;
use crate::skill::{Skill, Uses};

/// What is there to be called.
pub trait Registry {
    /// Returns a capability's contract.
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>>;

    /// Returns a skill that can be nested.
    fn skill(&self, id: &str) -> Option<Arc<Skill>>;

    /// Returns how fixed members of an input break what a capability demands beyond the types of its fields, each with
    /// its place in the input. Members that are not given are not missed.
    fn input_mismatches(&self, _capability: &str, _given: &Object) -> Vec<(JsonPointer, String)> {
        Vec::new()
    }

    /// Returns the vocabulary of types of knowledge.
    fn cognitive_types(&self) -> CognitiveTypes {
        CognitiveTypes::default()
    }

    /// Returns the targets that steps without a mapping write through their capabilities' hints.
    fn wired_targets(&self, skill: &Skill) -> BTreeSet<Arc<str>> {
        let types = self.cognitive_types();
        let unmapped =
            skill.steps.iter().filter(|step| step.output.as_ref().is_ok_and(|output| output.is_empty()));
        let specs = unmapped.filter_map(|step| match &step.uses {
            Uses::Capability(id) => self.capability(id),
            Uses::Skill(_) => None,
        });
        let mappings = specs.filter_map(|spec| auto_wire(&spec.hints, &types));
        mappings
            .flat_map(|mapping| {
                mapping.iter().filter_map(|(_, target)| target_text(target)).collect::<Vec<_>>()
            })
            .collect()
    }
}

fn target_text(target: &Value) -> Option<Arc<str>> {
    target.as_str().map(Arc::from)
}
