//! The execution configuration of a state.

use hence_canon::{JsonPointer, Object, Value};

use crate::ExecutionMode;
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

    /// Returns all members.
    pub fn members(&self) -> &Object {
        &self.0
    }

    /// Returns the default model.
    pub fn model(&self) -> Option<&str> {
        self.0.get("model")?.as_str()
    }

    /// Returns the temperature, from 0 to 2.
    pub fn temperature(&self) -> Option<f64> {
        match self.0.get("temperature")? {
            Value::Int(int) => Some(int.to_f64_lossy()),
            Value::Float(float) => Some(float.get()),
            _ => None,
        }
    }

    /// Returns the seed.
    pub fn seed(&self) -> Option<&Value> {
        self.0.get("seed")
    }

    /// Returns the execution mode.
    pub fn execution_mode(&self) -> ExecutionMode {
        let word = self.0.get("execution_mode").and_then(Value::as_str);
        word.and_then(|word| word.parse().ok()).unwrap_or(ExecutionMode::Default)
    }
}
