//! The check of a reply against the schema of its capability.

use hence_canon::{Object, Value};
use hence_capabilities::contract::Schema;

/// The member that holds the text of a reply without a schema.
pub const TEXT_MEMBER: &str = "text";

/// The maximum number of mismatches reported to a model at once: enough to fix a reply, few enough to read.
const MISMATCHES_MAX: usize = 5;

/// The maximum number of characters of one mismatch message, which repeats the defective value.
const MISMATCH_CHARACTERS_MAX: usize = 300;

/// The JSON Schema of replies.
#[derive(Clone, Debug)]
pub(crate) struct ReplySchema(Schema);

impl ReplySchema {
    /// Reads a schema. The schema must describe an object, because the output of a capability is an object.
    pub(crate) fn read(schema: &Value) -> Result<Self, String> {
        // Providers require an explicit type.
        let schema = match schema {
            Value::Bool(true) => Object::from_iter([("type", "object")]),
            Value::Object(object) if !object.contains_key("type") => object.with("type", "object"),
            Value::Object(object) if object.get("type").and_then(Value::as_str) == Some("object") => {
                object.clone()
            }
            _ => return Err("a model gives an object, and the schema describes something else".to_owned()),
        };
        Schema::read(&schema.into()).map(Self).map_err(|error| error.to_string())
    }

    pub(crate) fn source(&self) -> &Value {
        self.0.source()
    }

    /// Describes the mismatches between a reply and the schema; `None` when the reply fits.
    fn mismatches(&self, reply: &Value) -> Option<String> {
        let mismatches = self.0.check_showing_values(reply, MISMATCHES_MAX);
        let described = mismatches.iter().map(|mismatch| {
            let message: String = mismatch.message.chars().take(MISMATCH_CHARACTERS_MAX).collect();
            let place = &mismatch.pointer;
            if place.is_root() { message } else { format!("at {place}: {message}") }
        });
        (!mismatches.is_empty()).then(|| described.collect::<Vec<_>>().join("; "))
    }
}

/// Reads a reply: an object that satisfies the schema, or without a schema the text itself.
///
/// # Errors
/// A description of the defect, from which the model can fix its reply.
pub(crate) fn read(text: &str, schema: Option<&ReplySchema>) -> Result<Object, String> {
    let Some(schema) = schema else { return Ok(Object::from_iter([(TEXT_MEMBER, text)])) };
    let value = hence_canon::parse(without_fence(text).as_bytes())
        .map_err(|error| format!("it is no JSON: {error}"))?;
    let Value::Object(object) = &value else {
        return Err(format!("it is no JSON object: found {}", value.kind()));
    };
    match schema.mismatches(&value) {
        None => Ok(object.clone()),
        Some(mismatches) => Err(format!("it does not fit the schema: {mismatches}")),
    }
}

/// Removes the code fence that models often put around JSON.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let fenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    match fenced {
        None => text,
        Some(fenced) => fenced.strip_prefix("json").unwrap_or(fenced).trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn schema(text: &str) -> Result<ReplySchema, String> {
        ReplySchema::read(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_reply_is_an_object_that_fits_or_the_defect_is_described() {
        let schema =
            schema(r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#)
                .unwrap();
        let read = |text: &str| read(text, Some(&schema)).map(|object| Value::from(object).to_string());
        assert_eq!(read(" {\"n\": 1}\n").unwrap(), r#"{"n":1}"#);
        assert_eq!(read("```json\n{\"n\": 1}\n```").unwrap(), r#"{"n":1}"#);
        // The output stays exact, although the validator converts numbers.
        assert_eq!(read(r#"{"n": 100000000000000000000001}"#).unwrap(), r#"{"n":100000000000000000000001}"#);
        for (wrong, expected) in [
            ("Sure! Here it is: {}", "it is no JSON: "),
            ("", "it is no JSON: "),
            ("[1]", "it is no JSON object: found list"),
            (r#"{"n": "1"}"#, "it does not fit the schema: at /n: \"1\" is not of type \"integer\""),
            ("{}", "it does not fit the schema: \"n\" is a required property"),
            (r#"{"n": 1, "n": 2}"#, "it is no JSON: "),
        ] {
            let found = read(wrong).unwrap_err();
            assert!(found.starts_with(expected), "{wrong}: {found}");
        }
        assert_eq!(super::read("as it is", None).unwrap(), Object::from_iter([("text", "as it is")]));
    }

    #[test]
    fn a_schema_describes_an_object_and_refers_to_nothing_outside() {
        for good in [r#"{"type": "object"}"#, "true", "{}"] {
            assert!(schema(good).is_ok(), "{good}");
        }
        for bad in [
            r#"{"type": "array"}"#,
            "false",
            r#"{"type": ["object", "null"]}"#,
            r#"{"type": "object", "properties": 1}"#,
            r#"{"type": "object", "properties": {"a": {"$ref": "https://example.org/s"}}}"#,
            r#"{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}"#,
        ] {
            assert!(schema(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_mismatch_names_its_place() {
        let schema =
            schema(r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"]}"#);
        let schema = schema.unwrap();
        let mismatches = |text: &str| schema.mismatches(&parse(text.as_bytes()).unwrap());
        assert_eq!(mismatches(r#"{"n": 1, "m": 2}"#), None);
        let described = mismatches(r#"{"n": "x"}"#).unwrap();
        assert!(
            described.contains("at /n: ") && described.contains("\"m\" is a required property"),
            "{described}"
        );
        // A deeply nested reply can be checked.
        let deep = format!(r#"{{"n": 1, "m": {}1{}}}"#, "[".repeat(500), "]".repeat(500));
        assert_eq!(mismatches(&deep), None);
    }
}
