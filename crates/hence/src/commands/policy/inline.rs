//! JSON values in the words of TOML.

use hence_canon::Value;

use crate::escape::escape_json;

/// Writes a text in quotes. What JSON escapes is escaped the same way in TOML; what TOML forbids besides is a control
/// character.
pub(super) fn text(text: &str) -> String {
    escape_json(&Value::from(text).to_string())
}

/// Writes a value on one line; `None` where TOML has no word for it.
pub(super) fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(inline).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(object) => {
            let members: Option<Vec<String>> = object
                .iter()
                .map(|(key, value)| Some(format!("{} = {}", name(key), inline(value)?)))
                .collect();
            Some(format!("{{ {} }}", members?.join(", ")))
        }
        Value::String(content) => Some(text(content)),
        scalar => Some(scalar.to_string()),
    }
}

/// Writes a key, in quotes only where it needs them.
pub(super) fn name(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { text(key) }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;
    use hence_policy::policy::parse_toml;

    use super::{inline, name};

    #[test]
    fn what_is_written_reads_back_as_it_was() {
        let json = r#"{"a b":["x\n\"\\\u0001\u007f\u202e",1,2.5,true,[]],"plain":{"":{}}}"#;
        let value = parse(json.as_bytes()).unwrap();
        let toml = format!("{} = {}\n", name("value"), inline(&value).unwrap());
        assert_eq!(parse_toml(&toml).unwrap().get("value"), Some(&value), "{toml}");
    }

    #[test]
    fn nothing_is_no_word_of_toml() {
        assert_eq!(inline(&parse(b"[null]").unwrap()), None);
    }
}
