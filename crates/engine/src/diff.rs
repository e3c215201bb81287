//! The differences between two values.

use hence_canon::{JsonPointer, Value};

/// One path at which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The place.
    pub pointer: JsonPointer,
    /// The part of the first value there.
    pub left: Option<Value>,
    /// The part of the second value there.
    pub right: Option<Value>,
}

/// Returns the innermost paths at which two values differ, in canonical order.
pub fn changes(left: &Value, right: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(left, right, &JsonPointer::root(), &mut found);
    found
}

fn compare(left: &Value, right: &Value, pointer: &JsonPointer, found: &mut Vec<Change>) {
    match (left, right) {
        _ if left == right => {}
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<_> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                either(left.get(key), right.get(key), &pointer.child(key), found);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                either(left.get(index), right.get(index), &pointer.child(index), found);
            }
        }
        _ => found.push(Change {
            pointer: pointer.clone(),
            left: Some(left.clone()),
            right: Some(right.clone()),
        }),
    }
}

fn either(left: Option<&Value>, right: Option<&Value>, pointer: &JsonPointer, found: &mut Vec<Change>) {
    match (left, right) {
        (Some(left), Some(right)) => compare(left, right, pointer, found),
        (left, right) => {
            found.push(Change { pointer: pointer.clone(), left: left.cloned(), right: right.cloned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    #[test]
    fn only_the_innermost_places_are_named() {
        let left = parse(br#"{"a":{"x":1,"y":[1,2]},"b":1}"#).unwrap();
        let right = parse(br#"{"a":{"x":1,"y":[1,3,4]},"c":1}"#).unwrap();
        let found: Vec<String> =
            changes(&left, &right).iter().map(|change| change.pointer.to_string()).collect();
        assert_eq!(found, ["/a/y/1", "/a/y/2", "/b", "/c"]);
        assert!(changes(&left, &left).is_empty());
    }
}
