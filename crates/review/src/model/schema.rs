//! The JSON Schema of the current version, generated from the types.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::field::Field;
use super::record::Members;
use super::trace::Trace;

/// Schemas of objects met so far, by name.
#[derive(Default)]
pub(crate) struct Definitions(BTreeMap<&'static str, Value>);

impl Definitions {
    /// Returns a reference to the schema of an object, made when it is new.
    pub(crate) fn object<T: Members>(&mut self, name: &'static str) -> Value {
        self.define(name, |definitions| {
            let (mut properties, mut required) = (Vec::new(), Vec::new());
            T::properties(definitions, &mut properties, &mut required);
            object_schema(properties, required)
        })
    }

    /// Returns a reference to a schema, made when it is new.
    pub(super) fn define(&mut self, name: &'static str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.0.contains_key(name) {
            let schema = make(self);
            self.0.insert(name, schema);
        }
        Object::from_iter([("$ref", format!("#/$defs/{name}"))]).into()
    }
}

/// Returns the schema of an object; members the specification does not know are allowed everywhere.
pub(super) fn object_schema(properties: Vec<(Arc<str>, Value)>, required: Vec<Value>) -> Value {
    Object::from_iter([
        ("type", Value::from("object")),
        ("properties", Object::from_iter(properties).into()),
        ("required", required.into()),
    ])
    .into()
}

/// Returns the schema of a closed list of words.
pub(crate) fn words_schema(words: &[&str]) -> Value {
    Object::from_iter([("enum", words.iter().copied().collect::<Value>())]).into()
}

/// Returns the JSON Schema (2020-12) of a canonical trace.
pub fn json_schema() -> Value {
    let mut definitions = Definitions::default();
    let trace = Trace::schema(&mut definitions);
    let definitions: Object = definitions.0.into_iter().collect();
    Object::from_iter([
        ("$schema", Value::from("https://json-schema.org/draft/2020-12/schema")),
        ("title", "Ponens trace 1.7".into()),
        ("allOf", vec![trace].into()),
        ("$defs", definitions.into()),
    ])
    .into()
}
