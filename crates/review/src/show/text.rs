//! Text of a trace for terminals, shells and Markdown: every character that would act is escaped.

use std::fmt::Write as _;

/// Returns whether a character controls a terminal, is hidden, or changes the display of its neighbours.
///
/// Those are control characters, line feeds among them, line and paragraph separators, and the marks that change the
/// direction of writing.
pub const fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes hidden characters, so that text cannot move the cursor or imitate other output.
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

/// Escapes text for one line of Markdown.
///
/// Line breaks become spaces, control characters become visible, and what Markdown or HTML would read as markup
/// is escaped, so that a statement cannot forge a heading, a link or a script.
pub fn markdown_text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for letter in raw.chars() {
        match letter {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => out.extend(['\\', letter]),
            // A mention would notify a stranger.
            '@' => out.push_str("&#64;"),
            control if super::is_hidden(control) || is_invisible(control) => {
                let _ = write!(out, "\\\\u{{{:x}}}", u32::from(control));
            }
            plain => out.push(plain),
        }
    }
    out
}

/// Characters that cannot be seen.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, shell_word, visible, *};

    #[test]
    fn words_with_special_characters_are_quoted() {
        assert_eq!(shell_word("refund-42"), "refund-42");
        assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
    }

    #[test]
    fn no_character_that_controls_a_terminal_is_left() {
        assert_eq!(visible("a\u{1b}[31m\n\r\u{9b}2J\u{7f}"), r"a\u{1b}[31m\n\r\u{9b}2J\u{7f}");
        assert_eq!(visible("\u{202e}sdloh"), r"\u{202e}sdloh");
        assert_eq!(visible("refund 42/é 🙂"), "refund 42/é 🙂");
        assert!((0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_control()).all(is_hidden));
    }

    #[test]
    fn markup_becomes_text() {
        assert_eq!(markdown_text("a*b*<i>\u{1b}[0m"), "a\\*b\\*&lt;i&gt;\\\\u{1b}\\[0m");
        assert_eq!(markdown_text("x\ny @me \u{202e}"), "x y &#64;me \\\\u{202e}");
    }
}
