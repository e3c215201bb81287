//! Contracts: JSON Schemas that inputs and outputs are held to.

mod plain;

use std::fmt;
use std::sync::Arc;

use hence_canon::{JsonPointer, Value};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};

pub(crate) use plain::{exact, plain};

/// How many ways in which a value does not fit are told: enough to fix it, few enough to read.
pub const MISMATCHES_MAX: usize = 50;

/// How long the message of one mismatch may be: a schema may repeat itself in it.
const MESSAGE_CHARACTERS_MAX: usize = 300;

/// A JSON Schema, ready to judge values.
///
/// It refers to nothing outside itself: a `$ref` to the network or to a file is refused when it is read. Patterns take
/// time linear in the text, so they have no look-around and no back-references.
#[derive(Clone)]
pub struct Schema {
    source: Value,
    validator: Arc<Validator>,
}

/// A schema that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a JSON Schema that can be used: {message}")]
pub struct InvalidSchema {
    /// Where in the schema.
    pub pointer: JsonPointer,
    /// What is wrong with it.
    pub message: String,
}

/// One way in which a value does not fit a schema. The value itself is not repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Where in the value.
    pub pointer: JsonPointer,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_root() {
            return out.write_str(&self.message);
        }
        write!(out, "at `{}`: {}", self.pointer, self.message)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Schema({})", self.source)
    }
}

impl Schema {
    /// Reads a schema; without `$schema` it is of draft 2020-12.
    ///
    /// # Errors
    /// [`InvalidSchema`] when it is none, or refers to something outside.
    pub fn read(source: &Value) -> Result<Self, InvalidSchema> {
        let invalid = |pointer: &str, message: String| InvalidSchema {
            pointer: pointer.parse().unwrap_or_else(|_| JsonPointer::root()),
            message: shortened(&message),
        };
        if !matches!(source, Value::Object(_) | Value::Bool(_)) {
            return Err(invalid("", format!("expected an object, found {}", source.kind())));
        }
        let validator = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .offline()
            .build(&plain(source))
            .map_err(|error| {
                invalid(error.instance_path().as_str(), error.masked_with("this").to_string())
            })?;
        Ok(Self { source: source.clone(), validator: Arc::new(validator) })
    }

    /// Returns the schema as it was read.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Returns every way in which a value does not fit, at most [`MISMATCHES_MAX`].
    pub fn check(&self, value: &Value) -> Vec<Mismatch> {
        self.mismatches(value, MISMATCHES_MAX, |error| {
            let mut message = error.masked_with("this").to_string();
            if matches!(error.kind(), ValidationErrorKind::Type { .. }) {
                message.push_str(&format!(", found {}", kind(error.instance())));
            }
            shortened(&message)
        })
    }

    /// Returns ways in which a value does not fit, with the values in the messages: only for the author of the value.
    pub fn check_showing_values(&self, value: &Value, mismatches_max: usize) -> Vec<Mismatch> {
        self.mismatches(value, mismatches_max, |error| error.to_string())
    }

    fn mismatches(
        &self,
        value: &Value,
        max: usize,
        message: fn(&ValidationError<'_>) -> String,
    ) -> Vec<Mismatch> {
        let value = plain(value);
        let errors = self.validator.iter_errors(&value).take(max);
        let mismatch = |error: ValidationError<'_>| Mismatch {
            pointer: error.instance_path().as_str().parse().unwrap_or_else(|_| JsonPointer::root()),
            message: message(&error),
        };
        errors.map(mismatch).collect()
    }
}

fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "boolean",
        serde_json::Value::Number(number) if number.is_f64() => "number",
        serde_json::Value::Number(_) => "integer",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

fn shortened(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_CHARACTERS_MAX) {
        None => message.to_owned(),
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
    }
}

/// Puts mismatches into one line.
pub(crate) fn in_a_line(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
