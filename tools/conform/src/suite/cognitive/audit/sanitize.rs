//! Values fit for a log: without secrets and without bulk.

use hence_canon::{Object, Value};

/// The longest text that is not cut, in characters.
const TEXT_CHARACTERS_MAX: usize = 2048;
/// The largest number of items or members that are not cut.
const ITEMS_MAX: usize = 100;

const REDACTED: &str = "[REDACTED]";
/// A member whose name contains one of these holds a secret, or is treated as if it did.
const SECRET_WORDS: [&str; 13] = [
    "password",
    "secret",
    "token",
    "apikey",
    "api_key",
    "authorization",
    "auth",
    "cookie",
    "set-cookie",
    "key",
    "private",
    "credential",
    "session",
];

/// Returns a value with members of suspicious names redacted and long texts, lists and objects cut.
pub(super) fn sanitize(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(TEXT_CHARACTERS_MAX) {
            None => value.clone(),
            Some((at, _)) => format!("{}...[truncated]", text.get(..at).unwrap_or_default()).into(),
        },
        Value::Array(items) => {
            let mut kept: Vec<Value> = items.iter().take(ITEMS_MAX).map(sanitize).collect();
            if items.len() > ITEMS_MAX {
                kept.push(format!("...[truncated:{}]", items.len() - ITEMS_MAX).into());
            }
            kept.into()
        }
        Value::Object(object) => {
            let member = |(key, value): (&std::sync::Arc<str>, &Value)| {
                (key.clone(), if is_secret(key) { REDACTED.into() } else { sanitize(value) })
            };
            let kept: Object = object.iter().take(ITEMS_MAX).map(member).collect();
            match object.len().checked_sub(ITEMS_MAX) {
                None | Some(0) => kept.into(),
                Some(cut) => kept.with("_truncated_items", cut).into(),
            }
        }
        scalar => scalar.clone(),
    }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    SECRET_WORDS.iter().any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn json(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn members_of_suspicious_names_are_redacted_whole() {
        let value =
            json(r#"{"a": {"Api_Key": "k", "b": [{"secret_value": {"x": 1}}]}, "author": "A", "n": 1}"#);
        let expected = json(
            r#"{"a": {"Api_Key": "[REDACTED]", "b": [{"secret_value": "[REDACTED]"}]}, "author": "[REDACTED]", "n": 1}"#,
        );
        assert_eq!(sanitize(&value), expected);
    }

    #[test]
    fn bulk_is_cut_just_above_the_limits() {
        let text = |count: usize| sanitize(&"é".repeat(count).into()).as_str().unwrap().chars().count();
        assert_eq!((text(TEXT_CHARACTERS_MAX), text(TEXT_CHARACTERS_MAX + 1)), (2048, 2048 + 14));
        let list = |count: usize| sanitize(&vec![1; count].into()).as_array().unwrap().len();
        assert_eq!((list(ITEMS_MAX), list(ITEMS_MAX + 1)), (100, 101));
        let object = |count: usize| {
            let object: Object = (0..count).map(|n| (format!("f{n}"), 1)).collect();
            sanitize(&object.into()).get("_truncated_items").and_then(Value::as_u64)
        };
        assert_eq!((object(ITEMS_MAX), object(ITEMS_MAX + 2)), (None, Some(2)));
    }
}
