//! The contract of a registry as the declaration of a capability, without its provider.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

/// The types that a contract may state for a member.
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object"];

/// The trust levels of a capabilities file.
const TRUST_LEVELS: &[&str] = &["sandbox", "standard", "elevated", "privileged"];

/// The members of a declaration that a gate must not have.
const SAFETY: &[&str] = &["trust", "confirmation", "gates"];

/// The end of the id under which a capability with safety rules is declared once more, as a gate.
const GATE: &str = ".gate";

/// Returns the declaration of a contract, without `provider`.
pub(super) fn declaration(document: &Value, contracts: &BTreeMap<String, Value>) -> Object {
    let description = document.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let description = if description.is_empty() { "no description".to_owned() } else { description };
    let properties = document.get("properties");
    let acts = properties.and_then(|properties| properties.get("side_effects")).and_then(Value::as_bool);
    let mut declared = Object::from_iter([("description", Value::from(description))])
        .with("input", schema(document.get("inputs")))
        .with("output", schema(document.get("outputs")))
        // A contract that says nothing about effects may have them.
        .with("effects", if acts == Some(false) { "reads" } else { "writes" });
    if let Some(hints) = document.get("cognitive_hints").filter(|hints| hints.as_object().is_some()) {
        declared = declared.with("hints", hints.clone());
    }
    match document.get("safety") {
        Some(safety) => with_safety(declared, safety, contracts),
        None => declared,
    }
}

/// Returns the JSON Schema of a contract's inputs or outputs.
fn schema(fields: Option<&Value>) -> Object {
    let fields = || fields.and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let field = |field: &Value| {
        let mut object = Object::new();
        if let Some(kind) = field.get("type").and_then(Value::as_str).filter(|kind| TYPES.contains(kind)) {
            object = object.with("type", kind);
        }
        if let Some(text) = field.get("description").and_then(Value::as_str) {
            object = object.with("description", text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        Value::from(object)
    };
    let is_required = |field: &Value| field.get("required").and_then(Value::as_bool) == Some(true);
    let required =
        fields().filter(|(_, value)| is_required(value)).map(|(name, _)| Value::from(name.clone()));
    let properties: Object = fields().map(|(name, value)| (name.clone(), field(value))).collect();
    Object::from_iter([
        ("type", Value::from("object")),
        ("required", required.collect()),
        ("properties", properties.into()),
    ])
}

/// Adds the safety rules of a contract. An unknown level or reaction becomes the strictest one.
fn with_safety(mut declared: Object, safety: &Value, contracts: &BTreeMap<String, Value>) -> Object {
    if let Some(level) = safety.get("trust_level").and_then(Value::as_str) {
        let level = TRUST_LEVELS.iter().find(|known| **known == level).unwrap_or(&"privileged");
        declared = declared.with("trust", *level);
    }
    if safety.get("requires_confirmation").and_then(Value::as_bool) == Some(true) {
        declared = declared.with("confirmation", "required");
    }
    let gates = |key: &str| -> Vec<Value> {
        let listed = safety.get(key).and_then(Value::as_array).unwrap_or_default();
        listed.iter().filter_map(|listed| gate(listed, contracts)).collect()
    };
    let (before, after) = (gates("mandatory_pre_gates"), gates("mandatory_post_gates"));
    if before.is_empty() && after.is_empty() {
        return declared;
    }
    let both = [("before", before), ("after", after)].into_iter().filter(|(_, gates)| !gates.is_empty());
    declared.with("gates", both.collect::<Object>())
}

fn gate(listed: &Value, contracts: &BTreeMap<String, Value>) -> Option<Value> {
    let capability = listed.as_str().or_else(|| listed.get("capability")?.as_str())?;
    let reaction = listed.get("on_fail").and_then(Value::as_str);
    let reaction = reaction
        .filter(|word| ["block", "require_human", "warn", "degrade"].contains(word))
        .unwrap_or("block");
    let has_safety = contracts.get(capability).is_some_and(|gate| gate.get("safety").is_some());
    let id = if has_safety { format!("{capability}{GATE}") } else { capability.to_owned() };
    Some(Object::from_iter([("capability", id.as_str()), ("on_denied", reaction)]).into())
}

/// Returns a second declaration for each gate that has safety rules of its own.
///
/// A gate may have none: it is asked as part of a call whose rules were checked. The capability itself keeps its rules.
pub(super) fn gate_copies(declared: &[(String, Object)]) -> Vec<(String, Object)> {
    let named = |object: &Object| -> Vec<String> {
        let lists = ["before", "after"].map(|key| object.get("gates").and_then(|gates| gates.get(key)));
        let gates = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
        gates.filter_map(|gate| gate.get("capability")?.as_str().map(str::to_owned)).collect()
    };
    let mut copies = BTreeMap::new();
    for id in declared.iter().flat_map(|(_, object)| named(object)) {
        let original = id.strip_suffix(GATE).and_then(|id| declared.iter().find(|(known, _)| known == id));
        if let Some((_, original)) = original {
            let plain = SAFETY.iter().fold(original.clone(), |object, key| object.without(key));
            copies.insert(id, plain);
        }
    }
    copies.into_iter().collect()
}
