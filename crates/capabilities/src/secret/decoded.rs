//! The texts that a text stands for when its escapes are undone, each with a way back to the text itself.

use std::ops::Range;

/// A text with some kind of escape undone.
pub(super) struct Decoded {
    bytes: Vec<u8>,
    /// The place of the spelling of each byte in the text.
    places: Vec<Range<usize>>,
}

/// The kinds of escapes that are undone.
const KINDS: [fn(&[u8]) -> Unescaped; 4] = [percent, form, json, line_break];

/// The byte or bytes at the start of a text with an escape undone, and the length of their spelling. `None` when the
/// byte stands for itself.
type Unescaped = Option<(Plain, usize)>;

/// The bytes that an escape stands for: a character has at most four.
type Plain = ([u8; 4], usize);

impl Decoded {
    /// Returns the texts that differ from `text`: with percent signs, with JSON escapes and with line breaks undone,
    /// and any of these inside another, as in a query that holds JSON.
    pub(super) fn of(text: &str) -> Vec<Self> {
        if !text.bytes().any(|byte| b"%+\\".contains(&byte) || byte.is_ascii_whitespace()) {
            return Vec::new();
        }
        let places = (0..text.len()).map(|at| at..at + 1).collect();
        let whole = Self { bytes: text.as_bytes().to_vec(), places };
        let mut all: Vec<Self> = KINDS.iter().filter_map(|kind| whole.undo(*kind)).collect();
        let inner: Vec<Self> =
            all.iter().flat_map(|decoded| KINDS.iter().filter_map(|kind| decoded.undo(*kind))).collect();
        all.extend(inner);
        all
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the place of these bytes in the text itself.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.places.get(range.start).map_or(0, |place| place.start);
        let last = range.end.checked_sub(1).and_then(|last| self.places.get(last));
        first..last.map_or(first, |place| place.end)
    }

    /// Undoes one kind of escape; `None` when there is none.
    fn undo(&self, unescape: fn(&[u8]) -> Unescaped) -> Option<Self> {
        let size = self.bytes.len();
        let mut decoded = Self { bytes: Vec::with_capacity(size), places: Vec::with_capacity(size) };
        let (mut at, mut changed) = (0, false);
        while let Some(rest @ [first, ..]) = self.bytes.get(at..) {
            let ((plain, count), length) = match unescape(rest) {
                Some(found) => {
                    changed = true;
                    found
                }
                None => (([*first, 0, 0, 0], 1), 1),
            };
            let place = self.original(&(at..at + length));
            for byte in plain.iter().take(count) {
                decoded.bytes.push(*byte);
                decoded.places.push(place.clone());
            }
            at += length;
        }
        changed.then_some(decoded)
    }
}

/// Undoes `%2F`, in upper and lower case, of any byte.
fn percent(text: &[u8]) -> Unescaped {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((([digit(high)? << 4 | digit(low)?, 0, 0, 0], 1), 3))
}

/// Undoes percent signs and `+` for a blank, as in forms.
fn form(text: &[u8]) -> Unescaped {
    match text {
        [b'+', ..] => Some((([b' ', 0, 0, 0], 1), 1)),
        _ => percent(text),
    }
}

/// Undoes the escapes of JSON, also in a text that was escaped twice.
fn json(text: &[u8]) -> Unescaped {
    let [b'\\', kind, rest @ ..] = text else { return None };
    let plain = match kind {
        b'"' | b'\\' | b'/' => *kind,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some((([plain, 0, 0, 0], 1), 2))
}

/// Undoes the four digits after `\u`, and a second escape where two make one character.
fn unicode(rest: &[u8]) -> Unescaped {
    let unit = |digits: Option<&[u8]>| u16::from_str_radix(str::from_utf8(digits?).ok()?, 16).ok();
    let first = unit(rest.get(..4))?;
    let second =
        rest.get(4..).and_then(|rest| rest.strip_prefix(b"\\u")).and_then(|rest| unit(rest.get(..4)));
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    let (character, length) = match char::from_u32(u32::from(first)) {
        Some(character) => (character, 6),
        None => (pair?, 12),
    };
    let mut plain = [0; 4];
    let count = character.encode_utf8(&mut plain).len();
    Some(((plain, count), length))
}

/// Removes blanks and line breaks, as tools put them into long base64.
fn line_break(text: &[u8]) -> Unescaped {
    let first = text.first()?;
    first.is_ascii_whitespace().then_some((([0; 4], 0), 1))
}
