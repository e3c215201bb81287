//! W3C PROV-JSON: artifacts are entities, actions are activities.

use hence_canon::{Object, Value};

use crate::lineage::Lineage;
use crate::wire::{Action, Trace};

/// Writes the provenance of a trace as PROV-JSON.
pub fn prov_json(trace: &Trace, lineage: &Lineage) -> Value {
    let agent = "trace:agent";
    let mut relations = Relations::default();
    let mut activities = Vec::new();
    for action in trace.actions() {
        let activity = activity_id(action);
        activities.push((activity.clone(), activity_value(action)));
        for input in action.inputs() {
            relations.used.push(pair(("prov:activity", &activity), ("prov:entity", &entity_id(input))));
        }
        relations.associated.push(pair(("prov:activity", &activity), ("prov:agent", agent)));
    }
    let mut entities = Vec::new();
    for artifact in trace.artifacts() {
        let Some(id) = artifact.id() else { continue };
        let entity = entity_id(id);
        let label = artifact.name().unwrap_or(id);
        let members = [("prov:label", Value::from(label)), ("prov:type", artifact.type_word().into())];
        entities.push((entity.clone(), Value::from(Object::from_iter(members))));
        if let Some(action) = lineage.producer(id).and_then(|position| trace.action(position)) {
            let activity = activity_id(action);
            relations.generated.push(pair(("prov:entity", &entity), ("prov:activity", &activity)));
        }
        for source in artifact.derived_from() {
            let source = entity_id(source);
            relations.derived.push(pair(("prov:generatedEntity", &entity), ("prov:usedEntity", &source)));
        }
    }
    let name = trace.entry().text("assistant").unwrap_or("agent");
    let agents = Object::from_iter([(agent, Object::from_iter([("prov:label", name)]))]);
    Object::from_iter([
        ("prefix", Value::from(Object::from_iter([("trace", "urn:ponens:trace:")]))),
        ("entity", Object::from_iter(entities).into()),
        ("activity", Object::from_iter(activities).into()),
        ("agent", agents.into()),
        ("used", numbered("u", relations.used)),
        ("wasGeneratedBy", numbered("g", relations.generated)),
        ("wasDerivedFrom", numbered("d", relations.derived)),
        ("wasAssociatedWith", numbered("a", relations.associated)),
    ])
    .into()
}

#[derive(Default)]
struct Relations {
    used: Vec<Object>,
    generated: Vec<Object>,
    derived: Vec<Object>,
    associated: Vec<Object>,
}

fn pair(left: (&str, &str), right: (&str, &str)) -> Object {
    Object::from_iter([left, right])
}

/// Numbers relations with the blank names that PROV-JSON gives to relations nobody refers to.
fn numbered(prefix: &str, relations: Vec<Object>) -> Value {
    let named = relations.into_iter().enumerate();
    named.map(|(index, relation)| (format!("_:{prefix}{}", index + 1), relation)).collect::<Object>().into()
}

fn entity_id(id: &str) -> String {
    format!("trace:artifact/{}", local(id))
}

/// Percent-encodes an id for the end of a URN.
fn local(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~@/".contains(&byte);
    id.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn activity_id(action: &Action) -> String {
    let id = action.id().map_or_else(|| format!("at-{}", action.index()), |id| id.to_string());
    format!("trace:action/{id}")
}

fn activity_value(action: &Action) -> Value {
    let mut members = Object::from_iter([("prov:label", action.label()), ("prov:type", action.type_word())]);
    if let Some(at) = action.text("timestamp") {
        members = members.with("prov:startTime", at);
    }
    members.into()
}
