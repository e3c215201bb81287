//! Texts people read and commands they can type.

use hence_canon::Value;

/// How much of a value a summary shows; the record has all of it.
pub(crate) const SUMMARY_CHARACTERS_MAX: usize = 200;

/// Returns a word as a shell reads it back.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Returns a value in a line: what it says of itself, else its canonical text, shortened.
pub(crate) fn summary(value: &Value) -> String {
    let says = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let text = match (says("summary"), says("status"), value.as_array()) {
        (Some(summary), ..) => summary.to_owned(),
        (None, Some(status), _) => format!("status: {status}"),
        (None, None, Some(items)) => format!("{} items", items.len()),
        (None, None, None) => value.to_string(),
    };
    shortened(&text)
}

/// Shortens a text to [`SUMMARY_CHARACTERS_MAX`].
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SUMMARY_CHARACTERS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_ends_at_its_limit() {
        let exact = "x".repeat(SUMMARY_CHARACTERS_MAX);
        assert_eq!(shortened(&exact), exact);
        assert_eq!(shortened(&format!("{exact}y")), format!("{exact}…"));
    }

    #[test]
    fn strange_run_ids_are_quoted() {
        assert_eq!(shell_word("refund-42"), "refund-42");
        assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
    }
}
