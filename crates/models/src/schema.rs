//! What a reply must look like.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Object, Value};
use jsonschema::{PatternOptions, Validator};

/// How many breaches of a schema a model is told at once: enough to mend a reply, few enough to read.
const BREACHES_MAX: usize = 5;

/// How long the text about one breach may be: validators repeat the value they complain about.
const BREACH_CHARS_MAX: usize = 300;

/// A JSON Schema, ready to judge replies.
#[derive(Clone)]
pub(crate) struct Shape {
    source: Value,
    validator: Arc<Validator>,
}

impl Shape {
    /// Reads a schema. It describes an object, because that is what a capability gives, and refers to nothing outside.
    pub(crate) fn read(schema: &Value) -> Result<Self, String> {
        // Providers want the type in so many words.
        let schema = match schema {
            Value::Bool(true) => Object::from_iter([("type", "object")]),
            Value::Object(object) if !object.contains_key("type") => object.with("type", "object"),
            Value::Object(object) if object.get("type").and_then(Value::as_str) == Some("object") => {
                object.clone()
            }
            _ => return Err("a model gives an object, and the schema describes something else".to_owned()),
        };
        let source = Value::from(schema);
        let schema = plain(&source).map_err(|error| error.to_string())?;
        let validator = jsonschema::options()
            // A pattern cannot take longer than its text is long.
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map_err(|error| error.to_string())?;
        Ok(Self { source, validator: validator.into() })
    }

    pub(crate) fn source(&self) -> &Value {
        &self.source
    }

    /// Returns how a reply breaks the schema, if it does.
    pub(crate) fn breach(&self, reply: &Value) -> Option<String> {
        let reply = match plain(reply) {
            Ok(reply) => reply,
            Err(error) => return Some(error.to_string()),
        };
        let breaches = self.validator.iter_errors(&reply).take(BREACHES_MAX);
        let said: Vec<String> = breaches
            .map(|error| {
                let place = error.instance_path().to_string();
                let message: String = error.to_string().chars().take(BREACH_CHARS_MAX).collect();
                if place.is_empty() { message } else { format!("at {place}: {message}") }
            })
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.source)
    }
}

/// Returns a value as the validator reads it. Only the judgement is made on it; what is kept stays exact.
fn plain(value: &Value) -> Result<serde_json::Value, serde_json::Error> {
    serde_json::from_str(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn shape(text: &str) -> Result<Shape, String> {
        Shape::read(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_schema_describes_an_object_and_refers_to_nothing_outside() {
        assert!(shape(r#"{"type": "object"}"#).is_ok());
        assert!(shape(r#"{"type": "array"}"#).is_err());
        assert!(shape("true").is_ok() && shape("{}").is_ok());
        assert!(shape("false").is_err() && shape(r#"{"type": ["object", "null"]}"#).is_err());
        assert!(shape(r#"{"type": "object", "properties": 1}"#).is_err());
        assert!(
            shape(r#"{"type": "object", "properties": {"a": {"$ref": "https://example.org/s"}}}"#).is_err()
        );
        assert!(shape(r#"{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}"#).is_err());
    }

    #[test]
    fn breaches_say_where() {
        let shape =
            shape(r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"]}"#);
        let shape = shape.unwrap();
        let breach = |text: &str| shape.breach(&parse(text.as_bytes()).unwrap());
        assert_eq!(breach(r#"{"n": 1, "m": 2}"#), None);
        let said = breach(r#"{"n": "x"}"#).unwrap();
        assert!(said.contains("at /n: ") && said.contains("\"m\" is a required property"), "{said}");
        // Deeper than a validator goes.
        let deep = format!(r#"{{"n": 1, "m": {}1{}}}"#, "[".repeat(200), "]".repeat(200));
        assert!(breach(&deep).is_some());
    }
}
