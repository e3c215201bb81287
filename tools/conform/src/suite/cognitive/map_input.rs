//! `map_input`: a step's input mapping against a state.

use hence_canon::{Object, Value};
use hence_cognition::mapping::{InputMapping, InputMappingError};

use super::memory;

pub(super) fn run(case: &Value) -> Value {
    let state = match memory::read(case) {
        Ok(state) => state,
        Err(failure) => return failure,
    };
    let mapping = case.get("input").unwrap_or(&Value::Null);
    let outcome = InputMapping::parse(mapping)
        .map_err(InputMappingError::from)
        .and_then(|mapping| mapping.resolve(&state));
    match outcome {
        Ok(input) => Object::from_iter([("value", input)]).into(),
        Err(InputMappingError::Invalid(_)) => memory::failure("InputMappingError"),
        Err(InputMappingError::Reference { .. }) => {
            Object::from_iter([("error", "InputMappingError"), ("cause", "ReferenceResolutionError")]).into()
        }
    }
}

pub(super) fn deviation(case: &Value, found: &Value) -> Option<&'static str> {
    let expect = case.get("expect")?;
    let host = expect.get("cause").and_then(Value::as_str).is_some_and(|cause| cause == "ValueError");
    (host && expect.get("error") == found.get("error"))
        .then_some("the cause is a missing reference; errors of the host language have no counterpart")
}
