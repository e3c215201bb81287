//! The schema check: an interpreter of the part of JSON Schema that `state.schema.json` uses.
//!
//! A JSON Schema library would bring its dependencies into every crate that folds events, for one fixed document of
//! eleven keywords.

use std::cmp::Ordering;
use std::sync::LazyLock;

use hence_canon::{Int, JsonPointer, Object, Value, words};

use crate::{CheckpointId, MutationId, Name, StateId, Timestamp, TreeId};

words! {
    /// The keyword of JSON Schema that a value breaks.
    pub enum Keyword {
        /// The kind of value.
        Type = "type",
        /// A member that must exist.
        Required = "required",
        /// The form of a text.
        Pattern = "pattern",
        /// The form of a date.
        Format = "format",
        /// A choice of words.
        Enum = "enum",
        /// The lower bound of a number.
        Minimum = "minimum",
        /// The upper bound of a number.
        Maximum = "maximum",
        /// A choice of schemas.
        AnyOf = "anyOf",
    }
}

/// A value that does not fit the schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pointer}`: expected {expected}, found {found}")]
pub struct SchemaError {
    /// The place of the value; for a missing member, of the object that lacks it.
    pub pointer: JsonPointer,
    /// The keyword it breaks.
    pub keyword: Keyword,
    /// The description of a value that would fit.
    pub expected: String,
    /// The value, cut for display.
    pub found: String,
}

/// The schema, parsed once. A test shows that it parses and that the check knows all of it.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    hence_canon::parse(include_bytes!("state.schema.json")).expect("the schema file is JSON")
});

/// Returns everything in `document` that does not fit the schema.
pub fn check_schema(document: &Value) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    check(&SCHEMA, document, &JsonPointer::root(), &mut errors);
    errors
}

pub(crate) fn check_execution_config(config: &Value, pointer: &JsonPointer) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    check(definition("#/$defs/execution_config"), config, pointer, &mut errors);
    errors
}

/// Returns the part of the schema that a `$ref` names.
fn definition(reference: &str) -> &'static Value {
    let name = reference.trim_start_matches("#/$defs/");
    SCHEMA.get("$defs").and_then(|definitions| definitions.get(name)).unwrap_or(&Value::Null)
}

fn check(schema: &Value, value: &Value, pointer: &JsonPointer, errors: &mut Vec<SchemaError>) {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if let Some(reference) = text("$ref") {
        return check(definition(reference), value, pointer, errors);
    }
    let mut report = |keyword: Keyword, expected: String| {
        let found = match value {
            Value::Array(_) | Value::Object(_) => value.kind().to_string(),
            scalar => scalar.to_string().chars().take(80).collect(),
        };
        errors.push(SchemaError { pointer: pointer.clone(), keyword, expected, found });
    };
    let described = || text("description").unwrap_or_default().to_owned();
    if let Some(types) = schema.get("type")
        && !kinds(types).any(|kind| is_kind(kind, value))
    {
        report(Keyword::Type, kinds(types).map(kind_in_words).collect::<Vec<_>>().join(" or "));
    }
    // Unlike patterns, a list of words is broken by values of any kind.
    if let Some(Value::Array(words)) = schema.get("enum")
        && !words.contains(value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        report(Keyword::Enum, format!("one of {}", words.join(", ")));
    }
    if let (Some(pattern), Some(text)) = (text("pattern"), value.as_str())
        && !matches(pattern, text)
    {
        report(Keyword::Pattern, described());
    }
    if let (Some("date-time"), Some(text)) = (text("format"), value.as_str())
        && text.parse::<Timestamp>().is_err()
    {
        report(Keyword::Format, described());
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    if let Some(minimum) = bound("minimum").filter(|bound| compare(value, *bound) == Some(Ordering::Less)) {
        report(Keyword::Minimum, format!("at least {minimum}"));
    }
    if let Some(maximum) = bound("maximum").filter(|bound| compare(value, *bound) == Some(Ordering::Greater))
    {
        report(Keyword::Maximum, format!("at most {maximum}"));
    }
    // A choice fails as a whole, with the first reason of its last member.
    if let Some(Value::Array(choices)) = schema.get("anyOf") {
        let failures: Vec<_> =
            choices.iter().map_while(|choice| first_error(choice, value, pointer)).collect();
        if let Some(reason) = failures.last().filter(|_| failures.len() == choices.len()) {
            report(Keyword::AnyOf, format!("{} ({reason})", described()));
        }
    }
    match value {
        Value::Object(object) => check_members(schema, object, pointer, errors),
        Value::Array(items) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            let places = items.iter().enumerate();
            places.for_each(|(index, item)| check(schema, item, &pointer.child(index), errors));
        }
        _ => {}
    }
}

fn check_members(schema: &Value, object: &Object, pointer: &JsonPointer, errors: &mut Vec<SchemaError>) {
    let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    for key in required.iter().filter_map(Value::as_str).filter(|key| !object.contains_key(key)) {
        let (expected, found) = (format!("a member `{key}`"), Value::from(object.clone()).kind().to_string());
        errors.push(SchemaError { pointer: pointer.clone(), keyword: Keyword::Required, expected, found });
    }
    let (listed, others) = (schema.get("properties"), schema.get("additionalProperties"));
    for (key, member) in object.iter() {
        let schema = listed.and_then(|listed| listed.get(key)).or(others).unwrap_or(&Value::Null);
        check(schema, member, &pointer.child(key), errors);
    }
}

fn first_error(schema: &Value, value: &Value, pointer: &JsonPointer) -> Option<SchemaError> {
    let mut errors = Vec::new();
    check(schema, value, pointer, &mut errors);
    errors.into_iter().next()
}

/// Iterates over the words of `type`, which is one word or a list.
fn kinds(types: &Value) -> impl Iterator<Item = &str> {
    let listed = types.as_array().unwrap_or(std::slice::from_ref(types));
    listed.iter().filter_map(Value::as_str)
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match (kind, value) {
        // Whole numbers are integers, however they are spelled.
        ("integer", Value::Float(float)) => float.get().fract() == 0.0,
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("integer" | "number", Value::Int(_))
        | ("number", Value::Float(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        _ => false,
    }
}

fn kind_in_words(kind: &str) -> &str {
    match kind {
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a text",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

/// Returns whether a text has the form of a pattern; the types that read those forms are the patterns.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        r"^1\.[0-9]+\.[0-9]+$" => is_version(text),
        "^[a-zA-Z_][a-zA-Z0-9_]*$" => Name::is_identifier(text),
        "^state-[a-f0-9]{8}$" => text.parse::<StateId>().is_ok(),
        "^tree-[a-f0-9]{8}$" => text.parse::<TreeId>().is_ok(),
        "^mut-[a-f0-9]{8}$" => text.parse::<MutationId>().is_ok(),
        "^ckpt-[a-f0-9]{8}$" => text.parse::<CheckpointId>().is_ok(),
        _ => false,
    }
}

fn is_version(text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let minor = text.strip_prefix("1.").and_then(|rest| rest.split_once('.'));
    minor.is_some_and(|(minor, patch)| number(minor) && number(patch))
}

fn compare(value: &Value, bound: i64) -> Option<Ordering> {
    match value {
        Value::Int(int) => Some(int.cmp(&Int::from(bound))),
        #[expect(clippy::cast_precision_loss, reason = "the bounds of the schema are small")]
        Value::Float(float) => float.get().partial_cmp(&(bound as f64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn found(json: &str) -> Vec<(String, &'static str)> {
        let errors = check_schema(&parse(json.as_bytes()).unwrap());
        errors.into_iter().map(|error| (error.pointer.to_string(), error.keyword.as_str())).collect()
    }

    fn pairs(expected: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        expected.iter().map(|(pointer, keyword)| ((*pointer).to_owned(), *keyword)).collect()
    }

    #[test]
    fn every_error_is_reported_at_once_with_its_place() {
        let json = r#"{"version":"2.0.0","variables":{"a/b":{"name":"a b","type":5},"Final":"x"},
            "history":{"mutations":[{}],"checkpoints":null},"metadata":{"variable_count":-1.5}}"#;
        assert_eq!(
            found(json),
            pairs(&[
                ("", "required"),
                ("/version", "pattern"),
                ("/variables/a~1b", "required"),
                ("/variables/a~1b/name", "pattern"),
                ("/variables/a~1b/type", "type"),
                ("/variables/a~1b/type", "enum"),
                ("/variables/Final", "anyOf"),
                ("/history/mutations/0", "required"),
                ("/history/mutations/0", "required"),
                ("/history/mutations/0", "required"),
                ("/history/mutations/0", "required"),
                ("/history/checkpoints", "type"),
                ("/metadata/variable_count", "type"),
                ("/metadata/variable_count", "minimum"),
            ])
        );
    }

    #[test]
    fn the_check_knows_every_keyword_pattern_and_word_of_the_schema_file() {
        fn walk(schema: &Value) {
            let known = [
                "$schema",
                "title",
                "type",
                "required",
                "properties",
                "additionalProperties",
                "items",
                "enum",
                "pattern",
                "format",
                "minimum",
                "maximum",
                "anyOf",
                "description",
                "$ref",
                "$defs",
            ];
            for (key, part) in schema.as_object().unwrap().iter() {
                assert!(known.contains(&&**key), "{key}");
                match (&**key, part) {
                    ("properties" | "$defs", Value::Object(parts)) => {
                        parts.iter().for_each(|(_, part)| walk(part))
                    }
                    ("anyOf", Value::Array(parts)) => parts.iter().for_each(walk),
                    ("items" | "additionalProperties", part) => walk(part),
                    ("pattern", Value::String(pattern)) => {
                        let fits = [
                            "1.0.0",
                            "a_b",
                            "state-00000001",
                            "tree-00000001",
                            "mut-00000001",
                            "ckpt-00000001",
                        ];
                        assert!(fits.into_iter().any(|text| matches(pattern, text)), "{pattern}");
                    }
                    ("$ref", Value::String(name)) => assert!(!definition(name).is_null(), "{name}"),
                    _ => {}
                }
            }
        }
        walk(&SCHEMA);
        let words = |pointer: &str| SCHEMA.pointer(&pointer.parse().unwrap()).unwrap().as_array().unwrap();
        let same = |pointer: &str, list: &[&str]| {
            assert!(words(pointer).iter().filter_map(Value::as_str).eq(list.iter().copied()))
        };
        same("/$defs/variable/properties/type/enum", crate::ValueType::WORDS);
        same("/$defs/variable/properties/metadata/properties/scope/enum", crate::Scope::WORDS);
        same("/$defs/mutation/properties/operation/enum", crate::Operation::WORDS);
        same("/properties/metadata/properties/completion_status/enum", crate::Status::WORDS);
    }

    #[test]
    fn whole_floats_are_integers_and_booleans_are_no_numbers() {
        let config = |json: &str| {
            let errors = check_execution_config(&parse(json.as_bytes()).unwrap(), &JsonPointer::root());
            errors.into_iter().map(|error| error.keyword.as_str()).collect::<Vec<_>>()
        };
        assert!(
            config(r#"{"seed":-3,"temperature":2,"context_window_tokens":1000.0,"other":[]}"#).is_empty()
        );
        assert_eq!(
            config(r#"{"seed":true,"temperature":false,"context_window_tokens":999}"#),
            ["type", "type", "minimum"]
        );
        assert_eq!(config("[]"), ["type"]);
    }
}
