//! Text of a trace inside Markdown: shown, never obeyed.

use std::fmt::Write as _;

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
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(markdown_text("a*b*<i>\u{1b}[0m"), "a\\*b\\*&lt;i&gt;\\\\u{1b}\\[0m");
        assert_eq!(markdown_text("x\ny @me \u{202e}"), "x y &#64;me \\\\u{202e}");
    }
}
