//! The words of Python code, as far as finding uses of a name needs them: names, texts, brackets and ends of statements.

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A name or a keyword.
    Name,
    /// A text without parts that are evaluated.
    Text,
    /// A text whose parts in braces are evaluated.
    Formatted,
    /// A number.
    Number,
    /// One character of an operator or a bracket.
    Mark,
    /// The end of a statement: a line break outside brackets, or a semicolon.
    End,
}

/// A token: its bytes in the code, and the number of brackets that are open before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) depth: usize,
}

/// Returns the tokens of code; `None` for code that cannot be divided, such as a text that is never closed.
pub(crate) fn tokens(code: &str) -> Option<Vec<Token>> {
    let bytes = code.as_bytes();
    let (mut found, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while let Some(byte) = bytes.get(at).copied() {
        let start = at;
        let kind = match byte {
            b'#' => {
                at += line_length(bytes, at);
                continue;
            }
            b'\\' => {
                at += 2;
                continue;
            }
            b'\n' | b';' if depth == 0 => {
                at += 1;
                Kind::End
            }
            b'\'' | b'"' => {
                at = text_end(bytes, at, Part::Whole)?;
                Kind::Text
            }
            _ if is_name_start(byte) => {
                at += name_length(bytes, at);
                match (bytes.get(at), code.get(start..at).and_then(prefix)) {
                    (Some(b'\'' | b'"'), Some(part)) => {
                        at = text_end(bytes, at, part)?;
                        if part == Part::Formatted { Kind::Formatted } else { Kind::Text }
                    }
                    _ => Kind::Name,
                }
            }
            b'0'..=b'9' => {
                at += number_length(bytes, at);
                Kind::Number
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => {
                at += 1;
                Kind::Mark
            }
        };
        if matches!(byte, b')' | b']' | b'}') {
            depth = depth.checked_sub(1)?;
        }
        found.push(Token { kind, start, end: at, depth });
        if kind == Kind::Mark && matches!(byte, b'(' | b'[' | b'{') {
            depth += 1;
        }
    }
    (depth == 0).then_some(found)
}

/// The part of a text that is only text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Formatted,
}

/// Returns what the letters before a quote make of the text.
fn prefix(name: &str) -> Option<Part> {
    match name.to_ascii_lowercase().as_str() {
        "r" | "b" | "u" | "rb" | "br" => Some(Part::Whole),
        "f" | "fr" | "rf" | "t" | "tr" | "rt" => Some(Part::Formatted),
        _ => None,
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn name_length(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| is_name_start(**byte) || byte.is_ascii_digit()).count()
}

/// A number may have letters and points; where it ends exactly does not matter here.
fn number_length(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')).count()
}

fn line_length(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte != b'\n').count()
}

/// Returns the place after a text whose opening quote is at `at`.
fn text_end(bytes: &[u8], at: usize, part: Part) -> Option<usize> {
    let quote = *bytes.get(at)?;
    let is_triple = bytes.get(at..at + 3) == Some(&[quote; 3]);
    let mut at = at + if is_triple { 3 } else { 1 };
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' if !is_triple => return None,
            byte if byte == quote && !is_triple => return Some(at + 1),
            byte if byte == quote && bytes.get(at..at + 3) == Some(&[quote; 3]) => return Some(at + 3),
            b'{' if part == Part::Formatted && bytes.get(at + 1) == Some(&b'{') => at += 2,
            b'{' if part == Part::Formatted => at = field_end(bytes, at + 1)?,
            _ => at += 1,
        }
    }
}

/// Returns the place after a part in braces, from the place after its opening brace on.
fn field_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let (mut depth, mut in_format) = (0_usize, false);
    loop {
        match *bytes.get(at)? {
            b'}' if depth == 0 => return Some(at + 1),
            b'{' if in_format => at = field_end(bytes, at + 1)?,
            _ if in_format => at += 1,
            b'\'' | b'"' => at = text_end(bytes, at, Part::Whole)?,
            // The format begins at a colon, but the operator `:=` only occurs in brackets.
            b':' if depth == 0 => (in_format, at) = (true, at + 1),
            b'(' | b'[' | b'{' => (depth, at) = (depth + 1, at + 1),
            b')' | b']' | b'}' => (depth, at) = (depth.checked_sub(1)?, at + 1),
            byte if is_name_start(byte) => {
                let length = name_length(bytes, at);
                let name = bytes.get(at..at + length).and_then(|name| std::str::from_utf8(name).ok());
                at += length;
                if let (Some(b'\'' | b'"'), Some(part)) = (bytes.get(at), name.and_then(prefix)) {
                    at = text_end(bytes, at, part)?;
                }
            }
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &str) -> Option<Vec<&str>> {
        let found = tokens(code)?;
        let names = found.iter().filter(|token| token.kind == Kind::Name);
        Some(names.filter_map(|token| code.get(token.start..token.end)).collect())
    }

    #[test]
    fn names_in_texts_and_comments_are_not_names() {
        let code = "a = 'b' + r\"c\\\"\" # d\n'''e\n'f''' ; g(f'{h[\"i\"]:>{j}} {{k}}', f\"{l!r:'^9}\")";
        assert_eq!(names(code).unwrap(), ["a", "g"]);
        assert_eq!(names("f\"{x[\"y\"]} z\" + w").unwrap(), ["w"]);
    }

    #[test]
    fn code_that_is_not_closed_has_no_tokens() {
        for code in ["'a", "(", ")", "f'{a'", "'''a''", "f\"{x"] {
            assert_eq!(tokens(code), None, "{code}");
        }
        assert_eq!(tokens("").unwrap().len(), 0);
    }

    #[test]
    fn statements_end_outside_brackets_only() {
        let ends = |code: &str| tokens(code).unwrap().iter().filter(|token| token.kind == Kind::End).count();
        assert_eq!((ends("a\nb;c\n"), ends("(a,\nb)"), ends("a \\\n + b")), (3, 0, 0));
    }
}
