//! Compares results with expectations.

use hence_canon::{Object, Value};

/// Returns whether two values are equal, with `1` and `1.0` the same number.
pub(super) fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found.iter()).all(|(left, right)| same(left, right))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.len() == found.len() && members(expected, found, same)
        }
        _ => scalar(expected, found),
    }
}

/// Returns whether `found` has every member of `partial`.
pub(super) fn covers(partial: &Value, found: &Value) -> bool {
    match (partial, found) {
        (Value::Object(partial), Value::Object(found)) => members(partial, found, covers),
        _ => same(partial, found),
    }
}

/// Returns whether two lists hold the same values in any order.
pub(super) fn same_in_any_order(expected: &[Value], found: &[Value]) -> bool {
    let mut left: Vec<&Value> = found.iter().collect();
    let all = expected.iter().all(|value| match left.iter().position(|other| same(value, other)) {
        Some(at) => {
            left.swap_remove(at);
            true
        }
        None => false,
    });
    all && left.is_empty()
}

fn members(expected: &Object, found: &Object, agree: fn(&Value, &Value) -> bool) -> bool {
    expected.iter().all(|(key, value)| found.get(key).is_some_and(|other| agree(value, other)))
}

fn scalar(expected: &Value, found: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Int(int) => Some(int.to_f64_lossy()),
        Value::Float(float) => Some(float.get()),
        _ => None,
    };
    expected == found
        || matches!((expected, found), (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)))
            && number(expected) == number(found)
}
