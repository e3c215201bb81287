//! White space as the documents' reference engine sees it.

/// Returns whether a character is white space: Unicode's White_Space plus the four ASCII separators.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Returns whether a text is empty or only white space.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// Returns `text` with every run of white space turned into one space and none at the ends.
pub fn collapse_blank(text: &str) -> String {
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_count_as_space_and_zero_width_characters_do_not() {
        assert_eq!(collapse_blank("\u{1c} a\u{a0}\u{3000}b\t\n c\u{1f}"), "a b c");
        for space in ["\u{85}", "\u{1680}", "\u{2000}", "\u{2028}", "\u{202f}", "\u{205f}", ""] {
            assert!(is_blank(space), "{space:?}");
        }
        for visible in ["\u{200b}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{180e}", "\0"] {
            assert!(!is_blank(visible), "{visible:?}");
        }
    }
}
