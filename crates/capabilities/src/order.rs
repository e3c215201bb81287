//! One order of all values, so that the result of sorting does not depend on the initial order.

use std::cmp::Ordering;

use hence_canon::Value;

/// Orders values: `null`, booleans, numbers, texts by code points, then lists and objects by their canonical text.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            // Numbers that are equal as doubles are ordered by their spelling.
            number(left).total_cmp(&number(right)).then_with(|| left.to_string().cmp(&right.to_string()))
        }
        _ if rank(left) == rank(right) => left.to_string().cmp(&right.to_string()),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Int(int) => int.to_f64_lossy(),
        Value::Float(float) => float.get(),
        _ => 0.0,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Int(_) | Value::Float(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}
