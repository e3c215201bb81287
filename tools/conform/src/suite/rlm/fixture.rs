//! Shorthands of the data: repeated text and the counter of a loop.

use hence_canon::{Object, Value};

/// Replaces `{"$repeat": x, "times": n}` by the repeated text, everywhere in `value`.
pub(super) fn expand(value: &Value) -> Value {
    match value {
        Value::Object(object) => match repeated(object) {
            Some(text) => text.into(),
            None => object.iter().map(|(key, value)| (key.clone(), expand(value))).collect::<Object>().into(),
        },
        Value::Array(items) => items.iter().map(expand).collect(),
        other => other.clone(),
    }
}

fn repeated(object: &Object) -> Option<String> {
    let text = object.get("$repeat")?.as_str()?;
    let times = usize::try_from(object.get("times")?.as_u64()?).ok()?;
    Some(text.repeat(times))
}

/// Replaces `{i}` by `index` in every text of `value`.
pub(super) fn count(value: &Value, index: u64) -> Value {
    match value {
        Value::String(text) if text.contains("{i}") => text.replace("{i}", &index.to_string()).into(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), count(value, index))).collect::<Object>().into()
        }
        Value::Array(items) => items.iter().map(|item| count(item, index)).collect(),
        other => other.clone(),
    }
}
