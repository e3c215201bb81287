//! Escaping of untrusted text, so that it cannot control a terminal.

use hence_review::show::is_hidden;

/// Escapes every character that could control a terminal or disguise a line.
pub(crate) use hence_review::show::visible as escape;

/// Escapes the same characters in JSON text, as JSON escapes; line feeds of the layout stay.
///
/// JSON text has such characters only inside strings, so the value is unchanged.
pub(crate) fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_hidden(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether JSON text needs no escaping.
pub(crate) fn is_visible_json(text: &str) -> bool {
    !text.chars().any(|c| c != '\n' && is_hidden(c))
}

#[cfg(test)]
mod tests {
    use super::{escape_json, is_visible_json};

    #[test]
    fn escaping_json_changes_neither_value_nor_layout() {
        let text = "{\n  \"a\": \"\u{9b}\u{7f}\u{202e}\"\n}";
        let escaped = escape_json(text);
        assert_eq!(escaped, "{\n  \"a\": \"\\u009b\\u007f\\u202e\"\n}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&escaped), value(text));
        assert!(is_visible_json(&escaped) && !is_visible_json(text));
    }
}
