//! The order in which a document lists the entries of its mappings.
//!
//! Entries are read and written in that order, so it shows in memory and in records; but the canonical form of a document,
//! which a run pins, sorts them. Where the order matters and is not the sorted one, a pinned document states it in a member
//! of its own, [`ORDER_KEY`]: the place of each such mapping, and its keys in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::{Findings, Rule, Skill};
use crate::mapping::LITERAL_KEY;
use crate::reference::Reference;

/// The member of a skill that states the order of entries which are not sorted.
pub const ORDER_KEY: &str = "$order";

/// The members of a step that are mappings, also under their old names.
const INPUTS: [&str; 2] = ["input", "input_mapping"];
const OUTPUTS: [&str; 2] = ["output", "output_mapping"];

/// Returns a document whose canonical form keeps the order of its mappings.
pub fn with_order(document: &Value) -> Value {
    let document = restored(document, &mut Findings::default());
    let Some(object) = document.as_object() else { return document };
    let mut orders = Orders::default();
    for (index, step) in steps(object).iter().enumerate() {
        let place = Skill::step_pointer(index);
        for key in INPUTS {
            step.get(key).into_iter().for_each(|input| orders.add_input(input, &place.child(key)));
        }
        for key in OUTPUTS {
            let entries = step.get(key).and_then(Value::as_object);
            entries.into_iter().for_each(|output| orders.add(output.keys(), &place.child(key)));
        }
    }
    if orders.0.is_empty() {
        return document;
    }
    object.with(ORDER_KEY, orders.0.into_iter().collect::<Object>()).into()
}

/// Returns a document with its mappings in the order that its [`ORDER_KEY`] states, and without that member.
pub(super) fn restored(document: &Value, findings: &mut Findings) -> Value {
    let Some(object) = document.as_object() else { return document.clone() };
    let Some(stated) = object.get(ORDER_KEY) else { return document.clone() };
    let root = JsonPointer::root().child(ORDER_KEY);
    let plain = object.without(ORDER_KEY);
    let Some(stated) = stated.as_object() else {
        let message = format_args!("`{ORDER_KEY}` is an object, found {}", stated.kind());
        findings.add(Rule::Shape, root, message);
        return plain.into();
    };
    let mut orders = BTreeMap::new();
    for (place, keys) in stated.iter() {
        let keys = keys.as_array().map(|keys| keys.iter().map(Value::as_str).collect::<Option<Vec<&str>>>());
        match keys.flatten() {
            Some(keys) => {
                orders.insert(place.to_string(), keys);
            }
            None => findings.add(Rule::Shape, root.child(place), "an order is a list of keys"),
        }
    }
    let steps: Vec<Value> = steps(&plain)
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let Some(step) = step.as_object() else { return step.clone() };
            let place = Skill::step_pointer(index);
            let mappings = INPUTS.iter().chain(&OUTPUTS).filter_map(|key| Some((*key, step.get(key)?)));
            mappings
                .fold(step.clone(), |step, (key, mapping)| {
                    step.with(key, ordered(mapping, &place.child(key), &mut orders))
                })
                .into()
        })
        .collect();
    for place in orders.keys() {
        let message = format_args!("there is no mapping with these keys at `{place}`");
        findings.add(Rule::Shape, root.child(place), message);
    }
    if plain.contains_key("steps") && !steps.is_empty() {
        plain.with("steps", steps).into()
    } else {
        plain.into()
    }
}

/// Returns a mapping with the stated orders at and below its place; each that fits is taken out of `orders`.
fn ordered(value: &Value, place: &JsonPointer, orders: &mut BTreeMap<String, Vec<&str>>) -> Value {
    match value {
        Value::Object(object) => {
            let below =
                |(key, value): (&Arc<str>, &Value)| (key.clone(), ordered(value, &place.child(key), orders));
            let members: Object = object.iter().map(below).collect();
            let place = place.to_string();
            match orders.get(&place).and_then(|keys| sorted_as(&members, keys)) {
                Some(members) => {
                    orders.remove(&place);
                    members.into()
                }
                None => members.into(),
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| ordered(item, &place.child(index), orders)).collect()
        }
        _ => value.clone(),
    }
}

/// Returns the members with `keys` first, in their order. `None` if one of them is no member, or is listed twice.
pub(crate) fn sorted_as(members: &Object, keys: &[&str]) -> Option<Object> {
    let first = keys.iter().map(|key| members.get(key).map(|value| (Arc::from(*key), value.clone())));
    let first: Vec<(Arc<str>, Value)> = first.collect::<Option<_>>()?;
    let listed: BTreeSet<&str> = keys.iter().copied().collect();
    let rest = members.iter().filter(|(key, _)| !listed.contains(&***key));
    let all: Vec<_> =
        first.into_iter().chain(rest.map(|(key, value)| (key.clone(), value.clone()))).collect();
    Object::from_members(all).ok()
}

/// Returns keys as a list, unless they are sorted already.
pub(crate) fn unsorted<'a>(keys: impl Iterator<Item = &'a Arc<str>> + Clone) -> Option<Value> {
    (!keys.clone().is_sorted()).then(|| keys.map(|key| Value::from(key.clone())).collect())
}

fn steps(skill: &Object) -> &[Value] {
    skill.get("steps").and_then(Value::as_array).unwrap_or_default()
}

/// The mappings whose entries are not sorted: places and keys.
#[derive(Default)]
struct Orders(Vec<(String, Value)>);

impl Orders {
    fn add<'a>(&mut self, keys: impl Iterator<Item = &'a Arc<str>> + Clone, place: &JsonPointer) {
        if let Some(keys) = unsorted(keys) {
            self.0.push((place.to_string(), keys));
        }
    }

    /// Adds what is not sorted in an input mapping, at any depth. Only members that read memory have an order that shows.
    fn add_input(&mut self, input: &Value, place: &JsonPointer) {
        // The mapping itself is never a literal.
        if let Some(object) = input.as_object() {
            self.add_members(object, place);
        }
    }

    fn add_members(&mut self, object: &Object, place: &JsonPointer) -> bool {
        let mut reading = Vec::new();
        for (key, value) in object.iter() {
            if self.reads(value, &place.child(key)) {
                reading.push(key);
            }
        }
        self.add(reading.iter().copied(), place);
        !reading.is_empty()
    }

    /// Returns whether a value of an input mapping reads memory.
    fn reads(&mut self, value: &Value, place: &JsonPointer) -> bool {
        match value {
            Value::String(text) => Reference::parse(text).is_some(),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.fold(false, |any, (index, item)| self.reads(item, &place.child(index)) || any)
            }
            Value::Object(object) if object.len() == 1 && object.contains_key(LITERAL_KEY) => false,
            Value::Object(object) => self.add_members(object, place),
            _ => false,
        }
    }
}
