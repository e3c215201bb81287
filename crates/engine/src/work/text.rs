//! Words that texts share, and values as texts.

use std::collections::BTreeSet;

use hence_canon::Value;

/// The shortest word that can connect an item of evidence with a task, in characters.
const WORD_CHARACTERS_MIN: usize = 4;

/// Words that connect nothing: they occur in texts about anything.
const COMMON: [&str; 40] = [
    "about", "after", "also", "before", "been", "being", "could", "does", "each", "from", "have", "into",
    "more", "most", "much", "must", "only", "other", "over", "same", "shall", "should", "some", "such",
    "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "were", "what",
    "when", "which", "will", "with",
];

/// The longest text of one value in an answer, in characters.
const VALUE_CHARACTERS_MAX: usize = 400;

/// Returns the words of a text that can connect it with another: lower case, without a plural's `s`, each once.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().count() >= WORD_CHARACTERS_MIN && !COMMON.contains(word));
    long.map(|word| word.strip_suffix('s').unwrap_or(word).to_owned()).collect()
}

/// Returns a value as people read it.
pub(super) fn spoken(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(brief).collect::<Vec<_>>().join(", "),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| format!("{key} {}", brief(value)));
            members.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    shortened(&text, VALUE_CHARACTERS_MAX)
}

/// Returns a value inside another: an item of evidence as its claim.
fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Object(object) => {
            match object.get("claim").or_else(|| object.get("id")).and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            }
        }
        other => other.to_string(),
    }
}

fn shortened(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_share_words_that_mean_something() {
        let shared = |left: &str, right: &str| words(left).intersection(&words(right)).count();
        assert_eq!(shared("Is the bridge safe?", "I like cats"), 0);
        assert_eq!(shared("Is the bridge safe?", "Both bridges were inspected"), 1);
        assert_eq!(shared("What should be done with these?", "These are what they should be"), 0);
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let long = "é".repeat(VALUE_CHARACTERS_MAX);
        assert_eq!(spoken(&long.as_str().into()), long);
        assert_eq!(spoken(&format!("{long}é").into()), format!("{long}…"));
    }
}
