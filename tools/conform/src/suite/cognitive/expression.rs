//! `expression`: one expression against a state.

use hence_canon::{Object, Value};
use hence_cognition::expression::{Expression, ExpressionError, is_true};
use hence_cognition::reference::MissingName;

use super::memory;

pub(super) fn run(case: &Value) -> Value {
    let state = match memory::read(case) {
        Ok(state) => state,
        Err(failure) => return failure,
    };
    let text = case.get("expr").and_then(Value::as_str).unwrap_or_default();
    let outcome = text
        .parse::<Expression>()
        .map_err(ExpressionError::from)
        .and_then(|expression| expression.evaluate(&state, MissingName::Null).map_err(ExpressionError::from));
    match outcome {
        Err(_) => memory::failure("ExpressionError"),
        Ok(value) if case.get("as_bool") == Some(&Value::Bool(true)) => {
            Object::from_iter([("value", is_true(&value))]).into()
        }
        Ok(value) => Object::from_iter([("value", value)]).into(),
    }
}
