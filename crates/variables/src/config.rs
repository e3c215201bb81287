//! The execution configuration of a state.

use hence_canon::read::Finding;
use hence_canon::{JsonPointer, Object, Value};

use crate::document::{SchemaError, check_execution_config};

/// How a state's tasks are to be executed. Members this crate does not know are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionConfig(Object);

impl ExecutionConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Every [`SchemaError`] in it, with pointers read from the configuration itself.
    pub fn from_value(value: &Value) -> Result<Self, Vec<SchemaError>> {
        let errors = check_execution_config(value, &JsonPointer::root());
        match value {
            Value::Object(object) if errors.is_empty() => Ok(Self(object.clone())),
            _ => Err(errors),
        }
    }

    /// Decodes a configuration, with everything that is wrong in one finding.
    pub(crate) fn decode(value: &Value) -> Result<Self, Finding> {
        Self::from_value(value).map_err(|errors| {
            let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Finding::other(reasons.join("; "))
        })
    }

    /// Returns all members.
    pub fn members(&self) -> &Object {
        &self.0
    }
}
