//! `expression`: one expression against a state.

use hence_canon::{Float, Object, Value};
use hence_cognition::expression::{Expression, ExpressionError, is_true};
use hence_cognition::reference::MissingName;

use super::{matching, memory};

pub(super) fn run(case: &Value) -> Value {
    evaluate(case, case.get("expr").and_then(Value::as_str).unwrap_or_default())
}

/// Integers keep their order at any size; a recorded result may be that of the same numbers rounded to doubles.
pub(super) fn deviation(case: &Value, _found: &Value) -> Option<&'static str> {
    let expression = rounded_literals(case.get("expr")?.as_str()?);
    let recorded = matching::same(case.get("expect")?, &evaluate(&rounded(case), &expression));
    recorded.then_some("integers are compared exactly; the recorded result compares them as doubles")
}

fn evaluate(case: &Value, text: &str) -> Value {
    let state = match memory::read(case) {
        Ok(state) => state,
        Err(failure) => return failure,
    };
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

/// Rewrites integers of the expression as decimals, which are read as doubles.
fn rounded_literals(text: &str) -> String {
    let mut rounded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end =
            number.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        let in_name = before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let decimal = if in_name || number.contains('.') { "" } else { ".0" };
        rounded.extend([before, number, decimal]);
        rest = after;
    }
    rounded + rest
}

/// Replaces every integer by the nearest double.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Int(int) => {
            let nearest = int.to_string().parse().ok().and_then(|nearest| Float::new(nearest).ok());
            nearest.map_or(Value::Null, Value::Float)
        }
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), rounded(value))).collect::<Object>().into()
        }
        other => other.clone(),
    }
}
