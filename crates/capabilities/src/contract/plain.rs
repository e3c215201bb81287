//! Values as other libraries take them.

use hence_canon::{JsonPointer, Value};
use serde_json::Number;

/// Returns a value for judging it: an integer beyond 64 bits becomes the nearest double, which is of the same type and
/// nearly the same size.
pub(crate) fn plain(value: &Value) -> serde_json::Value {
    convert(value, &JsonPointer::root(), &mut |_, int| int.to_f64_lossy()).unwrap_or_default()
}

/// Returns a value for working on it: an integer that would not come back as it was is refused.
pub(crate) fn exact(value: &Value) -> Result<serde_json::Value, JsonPointer> {
    let mut lossy = None;
    let converted = convert(value, &JsonPointer::root(), &mut |pointer, int| {
        lossy.get_or_insert_with(|| pointer.clone());
        int.to_f64_lossy()
    });
    match (converted, lossy) {
        (Some(value), None) => Ok(value),
        (_, pointer) => Err(pointer.unwrap_or_default()),
    }
}

type Large<'a> = &'a mut dyn FnMut(&JsonPointer, &hence_canon::Int) -> f64;

fn convert(value: &Value, pointer: &JsonPointer, large: Large<'_>) -> Option<serde_json::Value> {
    use serde_json::Value as Plain;
    Some(match value {
        Value::Null => Plain::Null,
        Value::Bool(bool) => Plain::Bool(*bool),
        Value::Int(int) => Plain::Number(match (int.as_i64(), int.as_u64()) {
            (Some(small), _) => small.into(),
            (None, Some(small)) => small.into(),
            // One so long that no double comes near is as large as a double can be.
            (None, None) => {
                let nearest = large(pointer, int);
                Number::from_f64(nearest.clamp(f64::MIN, f64::MAX))?
            }
        }),
        Value::Float(float) => Plain::Number(Number::from_f64(float.get())?),
        Value::String(text) => Plain::String(text.to_string()),
        Value::Array(items) => {
            let items = (0..).zip(items.iter());
            let items = items.map(|(index, item): (usize, _)| convert(item, &pointer.child(index), large));
            Plain::Array(items.collect::<Option<_>>()?)
        }
        Value::Object(object) => {
            // Sorted, so that no message depends on whether serde_json keeps the order of members.
            let members = object
                .iter_sorted()
                .map(|(key, value)| Some((key.to_string(), convert(value, &pointer.child(key), large)?)));
            Plain::Object(members.collect::<Option<_>>()?)
        }
    })
}
