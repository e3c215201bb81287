//! Text from journals and arguments, made harmless for a terminal.

/// Makes every character visible that could drive a terminal or disguise a line.
///
/// Those are control characters, line feeds among them, line and paragraph separators, and the marks that change the
/// direction of writing. What is printed between two columns stays there, and what looks like `holds` is `holds`.
pub(crate) fn escape(text: &str) -> String {
    replace(text, |c| c.escape_default().to_string(), |c| c.is_control() || is_disguise(c))
}

/// Makes the same characters visible in JSON text, as JSON spells them; the layout's line feeds stay.
///
/// JSON text has such characters only inside strings, so the value is unchanged.
pub(crate) fn escape_json(text: &str) -> String {
    let spell = |c| format!("\\u{:04x}", u32::from(c));
    replace(text, spell, |c| c != '\n' && (c.is_control() || is_disguise(c)))
}

fn replace(text: &str, spell: impl Fn(char) -> String, is_hidden: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            out.push_str(&spell(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells whether a character changes how its neighbours are shown.
const fn is_disguise(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{escape, escape_json};

    #[test]
    fn nothing_that_drives_a_terminal_is_left() {
        assert_eq!(escape("a\u{1b}[31m\n\r\u{9b}2J\u{7f}"), r"a\u{1b}[31m\n\r\u{9b}2J\u{7f}");
        assert_eq!(escape("\u{202e}sdloh"), r"\u{202e}sdloh");
        assert_eq!(escape("refund 42/é 🙂"), "refund 42/é 🙂");
    }

    #[test]
    fn json_keeps_its_value_and_its_layout() {
        let text = "{\n  \"a\": \"\u{9b}\u{7f}\u{202e}\"\n}";
        let escaped = escape_json(text);
        assert_eq!(escaped, "{\n  \"a\": \"\\u009b\\u007f\\u202e\"\n}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&escaped), value(text));
    }
}
