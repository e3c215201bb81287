//! Text from journals and arguments, made harmless for a terminal.

use hence_review::show::is_hidden;

/// Makes every character visible that could drive a terminal or disguise a line.
pub(crate) use hence_review::show::visible as escape;

/// Makes the same characters visible in JSON text, as JSON spells them; the layout's line feeds stay.
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

/// Returns whether JSON text has nothing to be made visible.
pub(crate) fn is_visible_json(text: &str) -> bool {
    !text.chars().any(|c| c != '\n' && is_hidden(c))
}

#[cfg(test)]
mod tests {
    use super::{escape_json, is_visible_json};

    #[test]
    fn json_keeps_its_value_and_its_layout() {
        let text = "{\n  \"a\": \"\u{9b}\u{7f}\u{202e}\"\n}";
        let escaped = escape_json(text);
        assert_eq!(escaped, "{\n  \"a\": \"\\u009b\\u007f\\u202e\"\n}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&escaped), value(text));
        assert!(is_visible_json(&escaped) && !is_visible_json(text));
    }
}
