//! One order of all values, so that the result of sorting does not depend on the initial order.

use std::cmp::Ordering;

use hence_canon::{Float, Int, Value};

/// Orders values: `null`, booleans, numbers, texts by code points, then lists and objects by their canonical text.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => left.get().total_cmp(&right.get()),
        (Value::Int(left), Value::Float(right)) => before_float(left, *right),
        (Value::Float(left), Value::Int(right)) => before_float(right, *left).reverse(),
        _ if rank(left) == rank(right) => left.to_string().cmp(&right.to_string()),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Compares exactly; an integer comes before the float that it equals. A sort may panic on an order that goes in a circle.
fn before_float(int: &Int, float: Float) -> Ordering {
    int.cmp_f64(float.get()).unwrap_or(Ordering::Less).then(Ordering::Less)
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

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn long_integers_and_floats_of_one_double_have_a_total_order() {
        let texts = ["9999999999999999999999", "10000000000000000000001", "1e22", "1", "1.0", "-0.0", "0"];
        let values: Vec<Value> = texts.iter().map(|text| parse(text.as_bytes()).unwrap()).collect();
        for (a, b, c) in values
            .iter()
            .flat_map(|a| values.iter().map(move |b| (a, b)))
            .flat_map(|(a, b)| values.iter().map(move |c| (a, b, c)))
        {
            assert_eq!(compare(a, b), compare(b, a).reverse());
            if compare(a, b).is_lt() && compare(b, c).is_lt() {
                assert!(compare(a, c).is_lt(), "{a} {b} {c}");
            }
        }
    }
}
