//! `resolve`: one mapping value against a state.

use hence_canon::{Object, Value};
use hence_cognition::reference::Reference;

use super::memory;

pub(super) fn run(case: &Value) -> Value {
    let state = match memory::read(case) {
        Ok(state) => state,
        Err(failure) => return failure,
    };
    let value = case.get("reference").unwrap_or(&Value::Null);
    match value.as_str().and_then(Reference::parse).map(|reference| reference.resolve(&state)) {
        Some(Ok(found)) => Object::from_iter([("value", found)]).into(),
        Some(Err(_)) => memory::failure("ReferenceResolutionError"),
        None => Object::from_iter([("value", value.clone())]).into(),
    }
}
