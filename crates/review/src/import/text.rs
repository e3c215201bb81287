//! Shortening texts and paths.

use super::Surroundings;
use super::redact::redact;

/// Collapses white space and cuts to so many characters, marking the cut. What looks like a secret is left out.
pub(super) fn shorten(text: &str, chars_max: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = redact(&words);
    if clean.chars().count() <= chars_max {
        return clean;
    }
    let mut short: String = clean.chars().take(chars_max).collect::<String>().trim_end().to_owned();
    short.push('…');
    short
}

/// Collapses white space and keeps so many characters: what a later, shorter cut can be made from.
pub(super) fn kept(text: &str, chars_max: usize) -> String {
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
    fn what_is_kept_is_shortened_as_the_whole_would_be() {
        let text = format!("  a \n {} end", "wörd ".repeat(500));
        assert_eq!(shorten(&kept(&text, 600), 400), shorten(&text, 400));
        assert_eq!(kept("a  b", 9), "a b");
        assert_eq!(kept("abc", 2), "ab");
    }

    #[test]
    fn paths_lose_what_everybody_knows() {
        let around = Surroundings { working_directory: Some("/h/p/".into()), home: Some("/h".into()) };
        assert_eq!(relative("/h/p/src/a.rs", &around), "src/a.rs");
        assert_eq!(relative("/h/notes", &around), "~/notes");
        assert_eq!(relative("/h/project", &around), "~/project");
        assert_eq!(relative("/etc/x", &around), "/etc/x");
        assert_eq!(base_name("a/b/"), "b");
    }
}
