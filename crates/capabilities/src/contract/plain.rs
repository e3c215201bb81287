//! Conversion of values for libraries that use `serde_json`.

use hence_canon::{JsonPointer, Value};
use serde_json::Number;

/// Converts a value for validation: an integer beyond 64 bits becomes the nearest double, which has the same type and
/// nearly the same size.
pub(crate) fn plain(value: &Value) -> serde_json::Value {
    convert(value, &JsonPointer::root(), &mut |_, int| int.to_f64_lossy()).unwrap_or_default()
}

/// Converts a value for computation: an integer that would change is refused.
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
            // An integer beyond the range of a double becomes the largest or the smallest double.
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
            // Members are sorted, so that no message depends on whether serde_json preserves their order.
            let members = object
                .iter_sorted()
                .map(|(key, value)| Some((key.to_string(), convert(value, &pointer.child(key), large)?)));
            Plain::Object(members.collect::<Option<_>>()?)
        }
    })
}
