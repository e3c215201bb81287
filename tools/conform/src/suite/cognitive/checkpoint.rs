//! `checkpoint`: restored and saved again.

use hence_canon::{Object, Value};
use hence_cognition::checkpoint::{CheckpointError, restore, save};

use super::memory::failure;

pub(super) fn run(case: &Value) -> Value {
    match restore(case.get("checkpoint").unwrap_or(&Value::Null)) {
        Ok(state) => Object::from_iter([("checkpoint", save(&state))]).into(),
        Err(CheckpointError::Invalid(_)) => failure("invalid_checkpoint"),
        Err(CheckpointError::UnsupportedVersion { .. }) => failure("unsupported checkpoint version"),
    }
}
