//! Shortening texts and paths.

use hence_canon::{Object, Value};

use super::Surroundings;

/// Collapses white space and cuts to `chars_max` characters, marking the cut.
pub(super) fn shorten(text: &str, chars_max: usize) -> String {
    let mut short = collapse_to(text, chars_max.saturating_add(1));
    if let Some((cut, _)) = short.char_indices().nth(chars_max) {
        short.truncate(cut);
        short.truncate(short.trim_end().len());
        short.push('…');
    }
    short
}

/// Shortens every text in a value.
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
    use super::*;

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
