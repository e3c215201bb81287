//! The schema check. Errors carry the keyword JSON Schema would name.

use std::cmp::Ordering;

use hence_canon::{Int, JsonPointer, Value};

use crate::document::shape::{DOCUMENT, EXECUTION_CONFIG, Form, ObjectShape, Shape};
use crate::words::words;

words!(
    /// The keyword of JSON Schema that a value breaks.
    Keyword {
        /// The kind of value.
        Type = "type",
        /// A member that must be there.
        Required = "required",
        /// How a text must look.
        Pattern = "pattern",
        /// How a date must look.
        Format = "format",
        /// One of some words.
        Enum = "enum",
        /// Not below.
        Minimum = "minimum",
        /// Not above.
        Maximum = "maximum",
        /// One of several kinds.
        AnyOf = "anyOf",
    }
);

/// A value that is not what its place asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pointer}`: expected {expected}, found {found}")]
pub struct SchemaError {
    /// The value; for a missing member, the object that lacks it.
    pub pointer: JsonPointer,
    /// Which rule it breaks.
    pub keyword: Keyword,
    /// What was expected.
    pub expected: String,
    /// What stands there, cut for display.
    pub found: String,
}

/// Returns everything in `document` that is not what its place asks for.
pub fn check_schema(document: &Value) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    check(&DOCUMENT, document, &JsonPointer::root(), &mut errors);
    errors
}

pub(crate) fn check_execution_config(config: &Value, pointer: &JsonPointer) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    check(&EXECUTION_CONFIG, config, pointer, &mut errors);
    errors
}

struct Report<'a> {
    pointer: &'a JsonPointer,
    value: &'a Value,
    errors: &'a mut Vec<SchemaError>,
}

impl Report<'_> {
    fn add(&mut self, keyword: Keyword, expected: impl Into<String>) {
        let found = match self.value {
            Value::Array(_) | Value::Object(_) => self.value.kind().to_string(),
            scalar => scalar.to_string().chars().take(80).collect(),
        };
        let (pointer, expected) = (self.pointer.clone(), expected.into());
        self.errors.push(SchemaError { pointer, keyword, expected, found });
    }

    /// Reports a wrong kind of value unless `fits`.
    fn kind(&mut self, fits: bool, expected: &str) {
        if !fits {
            self.add(Keyword::Type, expected);
        }
    }
}

fn check(shape: &Shape, value: &Value, pointer: &JsonPointer, errors: &mut Vec<SchemaError>) {
    let mut report = Report { pointer, value, errors };
    match shape {
        Shape::Any => {}
        Shape::Text => report.kind(value.as_str().is_some(), "a text"),
        Shape::Formed(form) => {
            report.kind(value.as_str().is_some(), "a text");
            check_form(*form, &mut report);
        }
        Shape::NullOrFormed(form) => {
            report.kind(value.as_str().is_some() || value.is_null(), "a text or null");
            check_form(*form, &mut report);
        }
        Shape::Word(words) => {
            report.kind(value.as_str().is_some(), "a text");
            // Unlike patterns, a list of words is broken by values of any kind.
            if !value.as_str().is_some_and(|text| words.contains(&text)) {
                report.add(Keyword::Enum, format!("one of {}", words.join(", ")));
            }
        }
        Shape::Boolean => report.kind(value.as_bool().is_some(), "a boolean"),
        Shape::Integer { minimum } => {
            report.kind(is_integer(value), "an integer");
            check_bounds(*minimum, None, &mut report);
        }
        Shape::Number { minimum, maximum } => {
            report.kind(matches!(value, Value::Int(_) | Value::Float(_)), "a number");
            check_bounds(Some(*minimum), Some(*maximum), &mut report);
        }
        Shape::List(item) => match value.as_array() {
            None => report.add(Keyword::Type, "a list"),
            Some(items) => {
                for (index, value) in items.iter().enumerate() {
                    check(item, value, &pointer.child(index), errors);
                }
            }
        },
        Shape::Object(object) => check_object(object, value, pointer, errors),
        Shape::NullOr(inner) => check_null_or(inner, &mut report),
    }
}

fn check_object(shape: &ObjectShape, value: &Value, pointer: &JsonPointer, errors: &mut Vec<SchemaError>) {
    let Value::Object(object) = value else {
        return Report { pointer, value, errors }.add(Keyword::Type, "an object");
    };
    for key in shape.required.iter().filter(|key| !object.contains_key(key)) {
        Report { pointer, value, errors }.add(Keyword::Required, format!("a member `{key}`"));
    }
    for (key, value) in object.iter() {
        let listed = shape.members.iter().find(|(known, _)| *known == &**key);
        let member = listed.map_or(shape.others, |(_, member)| member);
        check(member, value, &pointer.child(key), errors);
    }
}

/// Checks a choice between null and something else. It fails as a whole; the first reason is told along.
fn check_null_or(inner: &Shape, report: &mut Report<'_>) {
    let mut nested = Vec::new();
    if !report.value.is_null() {
        check(inner, report.value, report.pointer, &mut nested);
    }
    if let Some(reason) = nested.first() {
        report.add(Keyword::AnyOf, format!("null or a variable ({reason})"));
    }
}

fn check_form(form: Form, report: &mut Report<'_>) {
    if report.value.as_str().is_some_and(|text| !form.matches(text)) {
        let keyword = if matches!(form, Form::DateTime) { Keyword::Format } else { Keyword::Pattern };
        report.add(keyword, form.expected());
    }
}

fn check_bounds(minimum: Option<u32>, maximum: Option<u32>, report: &mut Report<'_>) {
    let beyond = |bound: u32, side| compare(report.value, bound) == Some(side);
    let below = minimum.filter(|bound| beyond(*bound, Ordering::Less));
    let above = maximum.filter(|bound| beyond(*bound, Ordering::Greater));
    if let Some(bound) = below {
        report.add(Keyword::Minimum, format!("at least {bound}"));
    }
    if let Some(bound) = above {
        report.add(Keyword::Maximum, format!("at most {bound}"));
    }
}

fn compare(value: &Value, bound: u32) -> Option<Ordering> {
    match value {
        Value::Int(int) => Some(int.cmp(&Int::from(i64::from(bound)))),
        Value::Float(float) => float.get().partial_cmp(&f64::from(bound)),
        _ => None,
    }
}

/// Whole numbers are integers, however they are spelled.
fn is_integer(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Float(float) => float.get().fract() == 0.0,
        _ => false,
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
