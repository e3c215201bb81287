//! The part of a JSON Schema that a plan uses: the members of an object, their types, and which are required.

use std::sync::Arc;

use hence_canon::Value;
use hence_cognition::skill::{Field, Fields, Need, TypeName};

use crate::contract::Schema;

/// The type of a member whose schema states no type that a plan can use.
const ANY: &str = "any";

/// Returns the fields that the top level of a schema declares. Other constraints are checked when a call is made.
pub(super) fn of_schema(schema: &Value) -> Fields {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let need = |name: &str| if required.contains(&name) { Need::Required } else { Need::Optional };
    let properties = schema.get("properties").and_then(Value::as_object);
    let declared = properties.into_iter().flat_map(|properties| properties.iter());
    let mut fields: Fields =
        declared.map(|(name, schema)| (name.clone(), field(schema, need(name)))).collect();
    for name in required {
        if !fields.iter().any(|(known, _)| &**known == name) {
            fields.push((name.into(), field(&Value::Null, Need::Required)));
        }
    }
    fields
}

/// Returns whether a schema allows no members but those it lists.
pub(super) fn is_complete(schema: &Schema) -> bool {
    let source = schema.source();
    // A pattern or a part that stands elsewhere may name more.
    let names_more =
        ["patternProperties", "$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| source.get(key).is_some());
    source.get("additionalProperties") == Some(&Value::Bool(false)) && !names_more
}

fn field(schema: &Value, need: Need) -> Field {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(Arc::from);
    let kind = text("type").filter(|kind: &Arc<str>| TypeName::find(kind).is_some());
    Field { kind: kind.unwrap_or_else(|| ANY.into()), need, description: text("description"), default: None }
}
