//! Text that drives nothing: every character that would is spelled out.

/// Returns whether a character drives a terminal, hides, or changes how its neighbours are shown.
///
/// Those are control characters, line feeds among them, line and paragraph separators, and the marks that change the
/// direction of writing.
pub const fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Spells out hidden characters. What is printed between two columns stays there, and what looks like `holds` is `holds`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Returns a word quoted for a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, shell_word, visible};

    #[test]
    fn words_with_special_characters_are_quoted() {
        assert_eq!(shell_word("refund-42"), "refund-42");
        assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
    }

    #[test]
    fn nothing_that_drives_a_terminal_is_left() {
        assert_eq!(visible("a\u{1b}[31m\n\r\u{9b}2J\u{7f}"), r"a\u{1b}[31m\n\r\u{9b}2J\u{7f}");
        assert_eq!(visible("\u{202e}sdloh"), r"\u{202e}sdloh");
        assert_eq!(visible("refund 42/é 🙂"), "refund 42/é 🙂");
        assert!((0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_control()).all(is_hidden));
    }
}
