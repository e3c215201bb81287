//! Shortening texts and paths.

use hence_canon::{Object, Value};

use super::Surroundings;
use super::redact::{KEY_BEGINS, KEY_NAMED, Redactor};

/// Collapses white space, redacts secrets and cuts to `chars_max` characters, marking the cut.
///
/// Reads no more of the text than it shows, unless a private key may begin in it.
pub(super) fn shorten(text: &str, chars_max: usize) -> String {
    let (mut short, mut count) = (String::new(), 0);
    let mut redactor = Redactor::default();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let before = short.len();
        if before > 0 {
            short.push(' ');
        }
        let is_key =
            word.ends_with(KEY_BEGINS) && words.peek().is_some() && collapsed(text).contains(KEY_NAMED);
        if is_key {
            redactor.push(word.strip_suffix(KEY_BEGINS).unwrap_or(""), &mut short);
            redactor.push_key(&mut short);
        } else {
            redactor.push(word, &mut short);
        }
        count += short.get(before..).map_or(0, |added| added.chars().count());
        if is_key || count > chars_max {
            break;
        }
    }
    if count <= chars_max {
        return short;
    }
    let cut = short.char_indices().nth(chars_max).map_or(short.len(), |(cut, _)| cut);
    short.truncate(cut);
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// Shortens every text in a value, and redacts it.
pub(super) fn shorten_values(value: &Value, chars_max: usize) -> Value {
    match value {
        Value::String(text) => shorten(text, chars_max).into(),
        Value::Array(items) => items.iter().map(|item| shorten_values(item, chars_max)).collect(),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| (key.clone(), shorten_values(value, chars_max)));
            members.collect::<Object>().into()
        }
        other => other.clone(),
    }
}

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collapses white space and cuts to `chars_max` characters, from which [`shorten`] can make a shorter text later.
pub(super) fn collapse_to(text: &str, chars_max: usize) -> String {
    let mut found = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 {
            found.push(' ');
            count += 1;
        }
        for letter in word.chars() {
            if count >= chars_max {
                return found;
            }
            found.push(letter);
            count += 1;
        }
    }
    found
}

/// Writes a text so that a shell reads it as one word.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-~+=:,@%^".contains(&byte));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Makes a path relative to the project, or to the home folder, or leaves it.
pub(super) fn relative(path: &str, surroundings: &Surroundings) -> String {
    let inside = |folder: &Option<String>| {
        let folder = folder.as_deref()?.trim_end_matches('/');
        path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned)
    };
    inside(&surroundings.working_directory)
        .or_else(|| inside(&surroundings.home).map(|rest| format!("~/{rest}")))
        .unwrap_or_else(|| path.to_owned())
}

/// Returns the last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::redact::redact;
    use super::*;

    proptest! {
        #[test]
        fn shortening_early_gives_the_same_text_as_shortening_late(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "a", "wörd", " ", "\n ", "Bearer", "sk-abcdefghijklmnop", "x-----BEGIN", "-----BEGIN", "RSA",
                "PRIVATE", "KEY-----", "password=", "API_KEY:", "ghp_0123456789abcdef", "'", "…",
            ]), 0..40),
            chars_max in 0_usize..60,
        ) {
            let text = pieces.concat();
            let clean = redact(&collapsed(&text));
            let mut whole: String = clean.chars().take(chars_max).collect();
            if whole.len() < clean.len() {
                whole = format!("{}…", whole.trim_end());
            }
            prop_assert_eq!(shorten(&text, chars_max), whole);
        }
    }

    #[test]
    fn texts_are_cut_by_characters_and_marked() {
        assert_eq!(shorten("a\n b", 3), "a b");
        assert_eq!(shorten("äöü!", 3), "äöü…");
        assert_eq!(shorten("ab cd", 3), "ab…");
    }

    #[test]
    fn a_collapsed_text_is_shortened_like_the_whole_text() {
        let text = format!("  a \n {} end", "wörd ".repeat(500));
        assert_eq!(shorten(&collapse_to(&text, 600), 400), shorten(&text, 400));
        assert_eq!(collapse_to("a  b", 9), "a b");
        assert_eq!(collapse_to("abc", 2), "ab");
    }

    #[test]
    fn paths_are_relative_to_the_project_or_the_home_folder() {
        let around = Surroundings { working_directory: Some("/h/p/".into()), home: Some("/h".into()) };
        assert_eq!(relative("/h/p/src/a.rs", &around), "src/a.rs");
        assert_eq!(relative("/h/notes", &around), "~/notes");
        assert_eq!(relative("/h/project", &around), "~/project");
        assert_eq!(relative("/etc/x", &around), "/etc/x");
        assert_eq!(base_name("a/b/"), "b");
    }
}
