//! Quotations that are interrupted: a shell writes a sign that cannot stand in a quotation between two of them.
//!
//! | written | stands for | by |
//! |---|---|---|
//! | `'a'\''b'` | `a'b` | `bash`, `zsh` |
//! | `'a'"'"'b'` | `a'b` | Python's `shlex.quote`, `dash` |
//! | `'a'$'\n''b'` | `a`, a line feed, `b` | `ls` and the other tools of GNU |
//! | `"a" + "b"` | `ab` | source code |
//!
//! A text is read from its start, with quotations where a shell would see them. An apostrophe in a word opens none, and a
//! closing quote before a letter closes none, so a sentence with an apostrophe does not turn the rest around.

use super::{Decoded, backslash};

/// A reading of the quotes of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Both kinds of quotes begin quotations.
    Both,
    /// Single quotes do, and double ones are those of a text around everything.
    Single,
    /// The same, and the text begins inside a quotation, or something else hides where one begins.
    SingleCut,
}

/// The kind of quotation that a place of a text is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotation {
    None,
    Single,
    Double,
    /// `$'…'`, with escapes by backslashes.
    Escaped,
}

impl Quotation {
    const fn closing(self) -> Option<u8> {
        match self {
            Self::None => None,
            Self::Single | Self::Escaped => Some(b'\''),
            Self::Double => Some(b'"'),
        }
    }

    const fn opened_by(quote: u8) -> Self {
        if quote == b'"' { Self::Double } else { Self::Single }
    }
}

impl Switch {
    /// Returns whether it is no more than two quotes of one kind, which tables and empty texts have everywhere.
    fn is_bare(&self, text: &[u8]) -> bool {
        self.length == 2 && text.first() == text.get(1)
    }
}

/// The end of one quotation and the start of the next.
struct Switch {
    /// The signs that are written between the two.
    between: Vec<u8>,
    length: usize,
    next: Quotation,
}

impl Decoded {
    /// Joins quotations that are interrupted; `None` when none is.
    pub(super) fn unquote(&self, reading: Reading) -> Option<Self> {
        if !has_switch(&self.bytes, reading) {
            return None;
        }
        let size = self.bytes.len();
        let mut decoded = Self { bytes: Vec::with_capacity(size), places: Vec::with_capacity(size) };
        let start = if reading == Reading::SingleCut { Quotation::Single } else { Quotation::None };
        let (mut at, mut inside, mut is_changed) = (0, start, false);
        while let Some(rest @ [first, ..]) = self.bytes.get(at..) {
            let before = at.checked_sub(1).and_then(|before| self.bytes.get(before));
            let is_word_before = before.is_some_and(u8::is_ascii_alphanumeric);
            let is_quote = matches!(first, b'\'' | b'"');
            let may_close = match inside {
                // The text may begin inside a quotation.
                Quotation::None => {
                    is_quote && (is_word_before || reading == Reading::SingleCut && is_certain_switch(rest))
                }
                quotation => quotation.closing() == Some(*first),
            };
            let switch = if may_close { switch(rest, reading) } else { None };
            let (plain, length): (&[u8], usize) = if let Some(switch) = &switch {
                is_changed |= !switch.is_bare(rest);
                inside = switch.next;
                (&switch.between, switch.length)
            } else {
                match (inside, rest) {
                    (Quotation::None, [b'$', b'\'', ..]) => {
                        inside = Quotation::Escaped;
                        (b"$'", 2)
                    }
                    (Quotation::None, [b'\\', quote @ (b'\'' | b'"'), ..]) => {
                        (std::slice::from_ref(quote), 2)
                    }
                    (Quotation::None, [quote @ (b'\'' | b'"'), ..])
                        if !is_word_before && (reading == Reading::Both || *quote == b'\'') =>
                    {
                        inside = Quotation::opened_by(*quote);
                        (std::slice::from_ref(first), 1)
                    }
                    (Quotation::Double, [b'\\', sign @ (b'"' | b'\\' | b'$' | b'`'), ..]) => {
                        (std::slice::from_ref(sign), 2)
                    }
                    (Quotation::Escaped, [b'\\', ..]) => {
                        let ((plain, count), length) = backslash(rest).unwrap_or((([b'\\', 0, 0, 0], 1), 1));
                        let spelled = self.original(&(at..at + length));
                        plain.iter().take(count).for_each(|byte| decoded.push(*byte, &spelled));
                        (&[], length)
                    }
                    _ => {
                        let is_word_next = rest.get(1).is_some_and(u8::is_ascii_alphanumeric);
                        if may_close && !is_word_next {
                            inside = Quotation::None;
                        }
                        (std::slice::from_ref(first), 1)
                    }
                }
            };
            let spelled = self.original(&(at..at + length));
            plain.iter().for_each(|byte| decoded.push(*byte, &spelled));
            at += length;
        }
        is_changed.then_some(decoded)
    }
}

/// Returns whether a quote stands next to something that continues its quotation and is not just another quote.
fn has_switch(text: &[u8], reading: Reading) -> bool {
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    if !text.contains(&b'\'') && !text.contains(&b'"') {
        return false;
    }
    let begins = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        switch(rest, reading).is_some_and(|switch| !switch.is_bare(rest))
    };
    text.iter().enumerate().any(|(at, byte)| is_quote(byte) && begins(at))
}

/// Reads the quote that ends a quotation, what is written after it, and the quote that begins the next one.
fn switch(text: &[u8], reading: Reading) -> Option<Switch> {
    if let Some(length) = joint(text) {
        return Some(Switch { between: Vec::new(), length, next: Quotation::opened_by(*text.first()?) });
    }
    let (mut between, mut at) = (Vec::new(), 1);
    loop {
        match text.get(at..)? {
            [b'\\', sign, ..] if sign.is_ascii_punctuation() || *sign == b' ' => {
                between.push(*sign);
                at += 2;
            }
            [b'$', b'\'', ..] => return Some(Switch { between, length: at + 2, next: Quotation::Escaped }),
            [b'"', rest @ ..] if reading != Reading::Both && !is_quoted_quotes(rest) => {
                return (!between.is_empty()).then_some(Switch {
                    between,
                    length: at,
                    next: Quotation::None,
                });
            }
            [quote @ (b'\'' | b'"'), ..] => {
                let next = Quotation::opened_by(*quote);
                return Some(Switch { between, length: at + 1, next });
            }
            _ if between.is_empty() => return None,
            _ => return Some(Switch { between, length: at, next: Quotation::None }),
        }
    }
}

/// Returns whether hardly anything but a switch is written so.
fn is_certain_switch(text: &[u8]) -> bool {
    [&br"'\''"[..], br#"'"'"'"#, br"'$'\"].iter().any(|switch| text.starts_with(switch))
}

/// Returns whether a text begins with single quotes and the double one that ends their quotation.
fn is_quoted_quotes(text: &[u8]) -> bool {
    let quotes = text.iter().take_while(|byte| **byte == b'\'').count();
    quotes > 0 && text.get(quotes) == Some(&b'"')
}

/// Returns the length of what source code writes between two parts of one text: a quote, a sign that joins, and the same
/// quote. Both may be doubled.
pub(super) fn joint(text: &[u8]) -> Option<usize> {
    let quote = text.first().filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let blanks = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let count = 1 + usize::from(text.get(1) == Some(quote));
    let mut at = count + blanks(count);
    let sign = match text.get(at..)? {
        [b'+' | b'.' | b'&', ..] => 1,
        rest => continued_line(rest).unwrap_or_default(),
    };
    at += sign;
    at += blanks(at);
    let is_same = text.get(at..)?.starts_with(text.get(..count)?);
    (sign > 0 && is_same).then_some(at + count)
}

/// Returns the length of a backslash at the end of a line, together with the line break.
pub(super) fn continued_line(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        _ => None,
    }
}
