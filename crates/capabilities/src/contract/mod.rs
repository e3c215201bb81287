//! Contracts: the JSON Schemas of inputs and outputs.

mod plain;

use std::fmt;
use std::sync::Arc;

use hence_canon::{JsonPointer, Value};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};

pub(crate) use plain::{exact, plain};

/// The maximum number of mismatches reported: enough to fix a value, few enough to read.
pub const MISMATCHES_MAX: usize = 50;

/// The maximum number of characters of one mismatch message, which may repeat parts of the schema.
const MESSAGE_CHARACTERS_MAX: usize = 300;

/// A JSON Schema that values can be checked against.
///
/// A schema is self-contained: reading refuses a `$ref` to the network or to a file. Patterns take time linear in the
/// text, so they have no look-around and no back-references.
#[derive(Clone)]
pub struct Schema {
    source: Value,
    validator: Arc<Validator>,
}

/// A schema that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a JSON Schema that can be used: {message}")]
pub struct InvalidSchema {
    /// The location in the schema.
    pub pointer: JsonPointer,
    /// A description of the defect.
    pub message: String,
}

/// One mismatch between a value and a schema. It does not repeat the value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The location in the value.
    pub pointer: JsonPointer,
    /// A description of the expected value.
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
    /// Reads a schema; a schema without `$schema` follows draft 2020-12.
    ///
    /// # Errors
    /// [`InvalidSchema`] when the value is not a schema, or refers to another document.
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

    /// Returns the mismatches between a value and the schema, at most [`MISMATCHES_MAX`].
    pub fn check(&self, value: &Value) -> Vec<Mismatch> {
        self.mismatches(value, MISMATCHES_MAX, |error| {
            let mut message = error.masked_with("this").to_string();
            if matches!(error.kind(), ValidationErrorKind::Type { .. }) {
                message.push_str(&format!(", found {}", kind(error.instance())));
            }
            shortened(&message)
        })
    }

    /// Returns mismatches whose messages contain the values. Show them only to the author of the value.
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

/// Joins mismatches into one line.
pub(crate) fn in_a_line(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
