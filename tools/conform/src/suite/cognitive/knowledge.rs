//! `auto_wire` and `consumes_chain`: what hints about knowledge lead to.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::capability::{
    CapabilitySpec, CognitiveHints, CognitiveTypes, Registry, auto_wire, consumed_too_early,
};
use hence_cognition::skill::{Skill, Uses};

pub(super) fn wire(case: &Value) -> Value {
    let hints = case.get("cognitive_hints").map(CognitiveHints::read).unwrap_or_default();
    let types = case.get("cognitive_types").map(CognitiveTypes::read).unwrap_or_default();
    Object::from_iter([("mapping", Value::from(auto_wire(&hints, &types)))]).into()
}

pub(super) fn chain(case: &Value) -> Value {
    let steps: Vec<(Arc<str>, Uses)> = case
        .get("steps")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(|step| Some((step.get("id")?.as_str()?.into(), Uses::parse(step.get("uses")?.as_str()?))))
        .collect();
    let early = consumed_too_early(steps.iter().map(|(id, uses)| (id, uses)), &Listed(case));
    let warnings: Value = early
        .into_iter()
        .map(|early| Object::from_iter([("step_id", early.step_id), ("type", early.kind)]))
        .collect();
    Object::from_iter([("warnings", warnings)]).into()
}

/// The capabilities a case lists.
struct Listed<'a>(&'a Value);

impl Registry for Listed<'_> {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.0.get("capabilities")?.get(id).map(|spec| Arc::new(CapabilitySpec::read(spec).0))
    }

    fn skill(&self, _: &str) -> Option<Arc<Skill>> {
        None
    }
}
