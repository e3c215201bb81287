//! Texts for people and commands they can type.

use hence_canon::Value;

/// The longest summary of a value, in characters; the record has the whole value.
pub(crate) const SUMMARY_CHARACTERS_MAX: usize = 200;

pub(crate) use hence_review::show::shell_word;

/// Returns a value in one line: its own summary or status, else its canonical text, shortened.
pub(crate) fn summary(value: &Value) -> String {
    let member = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let text = match (member("summary"), member("status"), value.as_array()) {
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
}
