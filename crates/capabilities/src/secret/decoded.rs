//! The texts that a text stands for when its encodings are undone, each with a way back to the text itself.

mod dump;
mod quotes;

use std::ops::Range;

use quotes::{Reading, continued_line, joint};

/// The number of encodings that may be nested: base64 of JSON in a query is three.
const DEPTH_MAX: usize = 3;

/// The characters of base64 and the bytes of hexadecimal digits from which on a run of them is decoded.
const RUN_MIN: usize = 6;

/// A text with some encoding undone.
pub(super) struct Decoded {
    bytes: Vec<u8>,
    /// The place of the spelling of each byte in the text: where it begins and where it ends.
    places: Vec<(u32, u32)>,
}

/// A kind of encoding that is undone.
#[derive(Clone, Copy)]
enum Kind {
    /// Each escape, which begins with one of these signs, stands for some bytes, and every other byte for itself.
    Escapes(&'static [u8], fn(&[u8]) -> Unescaped),
    /// Percent signs before the numbers of characters, as JavaScript's `escape` writes them.
    PercentCharacters,
    /// Entities of HTML without `;`, with a blank after each.
    SpacedEntities,
    /// Quotations that shells interrupt.
    Quotes(Reading),
    /// One kind of quotes, doubled inside a quotation, as in CSV and SQL.
    DoubledQuotes(fn(&[u8]) -> Unescaped),
    /// Blanks and line breaks, as tools put them into long base64.
    Blanks,
    /// The zeros that UTF-16 puts between the letters of a text.
    Zeros,
    /// Runs of base64, of which so many characters at the start belong to something else.
    Base64(usize),
    /// Runs of hexadecimal digits, of which so many at the start belong to something else.
    Hexadecimal(usize),
    /// Runs of base32, of which so many characters at the start belong to something else.
    Base32(usize),
    /// Lists of bytes as decimal numbers.
    Decimal,
}

const KINDS: [Kind; 20] = [
    Kind::Escapes(b"%", percent),
    Kind::Escapes(b"%+", form),
    Kind::Escapes(b"\\", backslash),
    Kind::Escapes(b"&", entity),
    Kind::Escapes(b"=", quoted_printable),
    Kind::PercentCharacters,
    Kind::SpacedEntities,
    Kind::Quotes(Reading::Both),
    Kind::Quotes(Reading::Single),
    Kind::Quotes(Reading::SingleCut),
    Kind::DoubledQuotes(doubled::<b'"'>),
    Kind::DoubledQuotes(doubled::<b'\''>),
    Kind::Blanks,
    Kind::Zeros,
    Kind::Base64(0),
    Kind::Base64(1),
    Kind::Base64(2),
    Kind::Base64(3),
    Kind::Hexadecimal(0),
    Kind::Hexadecimal(1),
];

/// The kinds that are looked for where doubled quotes were undone: every JSON text has empty texts, which look like them.
const DOUBLED_KINDS: [Kind; 9] = [
    Kind::Escapes(b"%", percent),
    Kind::Escapes(b"%+", form),
    Kind::Escapes(b"\\", backslash),
    Kind::Escapes(b"&", entity),
    Kind::Quotes(Reading::Both),
    Kind::Quotes(Reading::Single),
    Kind::Quotes(Reading::SingleCut),
    Kind::DoubledQuotes(doubled::<b'"'>),
    Kind::DoubledQuotes(doubled::<b'\''>),
];

/// The kinds that are rare and costly, so that nothing is looked for inside them and they are not looked for inside others.
const OUTER_KINDS: [Kind; 9] = [
    Kind::Decimal,
    Kind::Base32(0),
    Kind::Base32(1),
    Kind::Base32(2),
    Kind::Base32(3),
    Kind::Base32(4),
    Kind::Base32(5),
    Kind::Base32(6),
    Kind::Base32(7),
];

/// The byte or bytes at the start of a text with an escape undone, and the length of their spelling. `None` when the
/// byte stands for itself.
type Unescaped = Option<(Plain, usize)>;

/// The bytes that an escape stands for: a character has at most four.
type Plain = ([u8; 4], usize);

impl Decoded {
    /// Calls `each` with the text itself and with every text that it stands for, some encodings inside each other undone.
    /// One at a time, because an output may be large.
    pub(super) fn each(text: &str, each: &mut dyn FnMut(&Self)) {
        let places = (0..text.len()).map(|at| place(at, at + 1)).collect();
        let whole = Self { bytes: text.as_bytes().to_vec(), places };
        each(&whole);
        for kind in OUTER_KINDS {
            whole.undo(kind).iter().for_each(&mut *each);
        }
        whole.each_dump(each);
        if let Some(plain) = whole.undo(Kind::Escapes(b"\\", backslash)) {
            // A dump in a text of JSON has `\n` for its line breaks.
            plain.each_dump(each);
        }
        whole.each_inside(&KINDS, &KINDS, DEPTH_MAX, each);
    }

    /// Undoes `kinds`, and inside of each those of `all` that may follow it.
    fn each_inside(&self, kinds: &[Kind], all: &[Kind], depth: usize, each: &mut dyn FnMut(&Self)) {
        for kind in kinds {
            let Some(inner) = self.undo(*kind) else { continue };
            each(&inner);
            if depth > 1 {
                // Runs skip what stands between by themselves.
                let is_between = matches!(kind, Kind::Blanks | Kind::Zeros);
                let is_run = matches!(kind, Kind::Base64(_) | Kind::Hexadecimal(_));
                let follows = |next: &Kind| match next {
                    Kind::Base64(_) | Kind::Hexadecimal(_) => !is_between,
                    Kind::Blanks => !is_run,
                    Kind::Base32(_) | Kind::Decimal => false,
                    _ => true,
                };
                let all = if matches!(kind, Kind::DoubledQuotes(_)) { &DOUBLED_KINDS } else { all };
                let next: Vec<Kind> = all.iter().copied().filter(follows).collect();
                inner.each_inside(&next, all, depth - 1, each);
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the place of these bytes in the text itself.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let spelled = self.places.get(range.clone()).unwrap_or_default();
        let first = spelled.first().map_or(0, |place| place.0);
        let last = spelled.last().map_or(first, |place| place.1);
        first as usize..last as usize
    }

    /// Undoes one kind of encoding; `None` when there is none.
    fn undo(&self, kind: Kind) -> Option<Self> {
        match kind {
            Kind::Escapes(signs, unescape) => self.unescape_if(signs, unescape, unescape),
            Kind::PercentCharacters => self.unescape_if(b"%", percent_beyond_utf8, percent_character),
            Kind::SpacedEntities => {
                self.unescape_if(b"&", spaced_entity, |text| spaced_entity(text).or_else(|| entity(text)))
            }
            Kind::Quotes(reading) => self.unquote(reading),
            Kind::DoubledQuotes(unescape) => self.unescape_if(b"'\"", unescape, unescape),
            Kind::Blanks => self.unescape_if(b" \n\t\r\x0c", line_break, line_break),
            Kind::Zeros => self.unescape_if(&[0], zero, zero),
            Kind::Base64(skip) => {
                self.runs(skip, |text, at, skip, decoded| text.packed_run::<6>(at, skip, sextet, decoded))
            }
            Kind::Base32(skip) => {
                self.runs(skip, |text, at, skip, decoded| text.packed_run::<5>(at, skip, quintet, decoded))
            }
            Kind::Decimal => self.runs(0, |text, at, _, decoded| text.decimal_run(at, decoded)),
            Kind::Hexadecimal(skip) => self.runs(skip, Self::hexadecimal_run),
        }
    }

    /// Undoes escapes, which begin with one of some signs, if there is one that `needed` undoes.
    fn unescape_if(
        &self,
        signs: &[u8],
        needed: fn(&[u8]) -> Unescaped,
        unescape: fn(&[u8]) -> Unescaped,
    ) -> Option<Self> {
        // Most texts have none of the signs, which is found out faster than anything else.
        if !signs.iter().any(|sign| self.bytes.contains(sign))
            || !(0..self.bytes.len()).any(|at| needed(self.bytes.get(at..).unwrap_or_default()).is_some())
        {
            return None;
        }
        let size = self.bytes.len();
        let mut decoded = Self { bytes: Vec::with_capacity(size), places: Vec::with_capacity(size) };
        let mut at = 0;
        while let Some(rest @ [first, ..]) = self.bytes.get(at..) {
            let ((plain, count), length) = unescape(rest).unwrap_or((([*first, 0, 0, 0], 1), 1));
            let spelled = self.original(&(at..at + length));
            for byte in plain.iter().take(count) {
                decoded.push(*byte, &spelled);
            }
            at += length;
        }
        Some(decoded)
    }

    fn push(&mut self, byte: u8, spelled: &Range<usize>) {
        self.bytes.push(byte);
        self.places.push(place(spelled.start, spelled.end));
    }

    /// Decodes every run of an encoding, and leaves everything else out. `run` decodes the one that begins at a place and
    /// returns where it ends.
    fn runs(&self, skip: usize, run: fn(&Self, usize, usize, &mut Self) -> usize) -> Option<Self> {
        let mut decoded = Self { bytes: Vec::new(), places: Vec::new() };
        let mut at = 0;
        while at < self.bytes.len() {
            let before = decoded.bytes.len();
            let end = run(self, at, skip, &mut decoded);
            if decoded.bytes.len() < before + RUN_MIN / 2 {
                decoded.bytes.truncate(before);
                decoded.places.truncate(before);
            } else {
                // What stands apart stays apart.
                decoded.push(b'\n', &self.original(&(end.saturating_sub(1)..end)));
            }
            at = end.max(at + 1);
        }
        (!decoded.bytes.is_empty()).then_some(decoded)
    }

    /// Decodes a run of characters that stand for `BITS` bits each, with blanks, line breaks and zeros in it.
    fn packed_run<const BITS: u32>(
        &self,
        start: usize,
        skip: usize,
        bits_of: fn(u8) -> Option<u8>,
        decoded: &mut Self,
    ) -> usize {
        let (mut bits, mut count, mut characters, mut first) = (0_u32, 0, 0, start);
        let mut at = start;
        while let Some(byte) = self.bytes.get(at) {
            let value = match bits_of(*byte) {
                Some(value) => value,
                None if characters > 0 && (byte.is_ascii_whitespace() || *byte == 0) => {
                    at += 1;
                    continue;
                }
                None => {
                    let rest = self.bytes.get(at..).unwrap_or_default();
                    match continued_line(rest).or_else(|| joint(rest)).filter(|_| characters > 0) {
                        Some(length) => at += length,
                        None => break,
                    }
                    continue;
                }
            };
            characters += 1;
            if characters > skip {
                if count == 0 {
                    first = at;
                }
                (bits, count) = (bits << BITS | u32::from(value), count + BITS);
                if count >= 8 {
                    count -= 8;
                    let byte = u8::try_from(bits >> count & 0xff).unwrap_or_default();
                    decoded.push(byte, &self.original(&(first..at + 1)));
                    bits &= (1 << count) - 1;
                    first = at;
                }
            }
            at += 1;
        }
        at
    }

    /// Decodes a run of decimal numbers of bytes, with anything between them that lists put there.
    fn decimal_run(&self, start: usize, decoded: &mut Self) -> usize {
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = rest.get(..digits).and_then(|digits| str::from_utf8(digits).ok());
            match number.and_then(|number| number.parse::<u8>().ok()) {
                Some(byte) => {
                    decoded.push(byte, &self.original(&(at..at + digits)));
                    at += digits;
                }
                None if digits == 0
                    && at > start
                    && rest.first().is_some_and(|byte| is_between_digits(*byte)) =>
                {
                    at += 1;
                }
                None => return at + digits,
            }
        }
    }

    /// Decodes a run of hexadecimal digits, in either case, with `:`, blanks, `\x`, `0x` and the like between the bytes.
    fn hexadecimal_run(&self, start: usize, skip: usize, decoded: &mut Self) -> usize {
        let (mut at, mut skipped) = (start, 0);
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            if let [b'\\', b'x' | b'X', ..] | [b'0', b'x' | b'X', ..] = rest {
                at += 2;
                continue;
            }
            if let Some(length) = continued_line(rest).or_else(|| joint(rest)).filter(|_| at > start) {
                at += length;
                continue;
            }
            match rest {
                [first, ..] if skipped < skip && nibble(*first).is_some() => {
                    skipped += 1;
                    at += 1;
                }
                [high, low, ..] => match (nibble(*high), nibble(*low)) {
                    (Some(high), Some(low)) => {
                        decoded.push(high << 4 | low, &self.original(&(at..at + 2)));
                        at += 2;
                    }
                    _ if at > start && is_between_digits(*high) => at += 1,
                    (Some(high), None) => match digit_of_next_line(rest) {
                        // A line ends between the two digits of a byte.
                        Some((low, length)) => {
                            decoded.push(high << 4 | low, &self.original(&(at..at + length)));
                            at += length;
                        }
                        None => return at,
                    },
                    _ => return at,
                },
                _ => return at,
            }
        }
    }
}

fn place(start: usize, end: usize) -> (u32, u32) {
    (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX))
}

/// Returns the six bits that a character of base64 stands for, in either alphabet.
fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Returns the five bits that a character of base32 stands for, in either case.
fn quintet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a',
        b'2'..=b'7' => byte - b'2' + 26,
        _ => return None,
    })
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Returns the digit that begins the next line, after a digit that ends one, and the length of both with what stands between.
fn digit_of_next_line(text: &[u8]) -> Option<(u8, usize)> {
    let rest = text.get(1..)?;
    let skipped = continued_line(rest).unwrap_or_default();
    let blanks = rest
        .get(skipped..)?
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
        .saturating_add(skipped);
    let is_line_break = rest.get(..blanks)?.contains(&b'\n');
    let digit = nibble(*rest.get(blanks)?)?;
    is_line_break.then_some((digit, blanks + 2))
}

/// Returns whether dumps write this between the digits of two bytes.
fn is_between_digits(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\0:-,;_.|'\"{}[]()".contains(&byte)
}

/// Undoes `%2F`, in upper and lower case, of any byte, and `%u20ac`.
fn percent(text: &[u8]) -> Unescaped {
    let [b'%', high, low, ..] = text else { return None };
    if *high == b'u' {
        return unicode(text.get(2..)?, b"%u");
    }
    Some((([nibble(*high)? << 4 | nibble(*low)?, 0, 0, 0], 1), 3))
}

/// Undoes `%e9` as the character with this number, and `%u20ac`.
fn percent_character(text: &[u8]) -> Unescaped {
    let ((bytes, count), length) = percent(text)?;
    if length != 3 {
        return Some(((bytes, count), length));
    }
    let mut plain = [0; 4];
    let count = char::from(*bytes.first()?).encode_utf8(&mut plain).len();
    Some(((plain, count), length))
}

/// Undoes a percent sign before a byte that is no part of UTF-8 with those after it, so that it is the number of a character.
fn percent_beyond_utf8(text: &[u8]) -> Unescaped {
    let byte = |at: usize| match text.get(at * 3..)? {
        [b'%', high, low, ..] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    };
    // The bytes that continue a character are judged with the first one.
    if byte(0).is_none_or(|first| first < 0xc0) {
        return None;
    }
    let bytes: Vec<u8> = (0..4).map_while(byte).collect();
    let is_character =
        (2..=bytes.len()).any(|length| bytes.get(..length).is_some_and(|one| str::from_utf8(one).is_ok()));
    if is_character { None } else { percent_character(text) }
}

/// Undoes `''` or `""`.
fn doubled<const QUOTE: u8>(text: &[u8]) -> Unescaped {
    matches!(text, [first, second, ..] if [*first, *second] == [QUOTE; 2])
        .then_some((([QUOTE, 0, 0, 0], 1), 2))
}

/// Undoes percent signs and `+` for a blank, as in forms.
fn form(text: &[u8]) -> Unescaped {
    match text {
        [b'+', ..] => Some((([b' ', 0, 0, 0], 1), 1)),
        _ => percent(text),
    }
}

/// Undoes backslashes: the escapes of JSON, also in a text that was escaped twice, octal and hexadecimal digits, and those
/// that shells put before signs.
fn backslash(text: &[u8]) -> Unescaped {
    let [b'\\', kind, rest @ ..] = text else { return None };
    let plain = match kind {
        b'a' => 7,
        b'b' => 8,
        b'v' => 11,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'\n' | b'\r' => return continued_line(text).map(|length| (([0; 4], 0), length)),
        b'u' => return braced(rest).or_else(|| unicode(rest, b"\\u")),
        b'U' => return Some((character(rest.get(..8)?, 16)?, 10)),
        b'x' => return hexadecimal_escapes(text),
        b'0'..=b'3' => return octal(text),
        sign if sign.is_ascii_punctuation() || *sign == b' ' => *sign,
        _ => return None,
    };
    Some((([plain, 0, 0, 0], 1), 2))
}

/// Undoes a backslash and three octal digits.
fn octal(text: &[u8]) -> Unescaped {
    let digits = str::from_utf8(text.get(1..4)?).ok()?;
    Some((([u8::from_str_radix(digits, 8).ok()?, 0, 0, 0], 1), 4))
}

/// Undoes `\x` and two digits: the bytes of one character if several of them make one, as in the bytes of a text, else the
/// character with this number, as in the text itself.
fn hexadecimal_escapes(text: &[u8]) -> Unescaped {
    let escape = |at: usize| match text.get(at * 4..)? {
        [b'\\', b'x', high, low, ..] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    };
    let first = escape(0)?;
    let mut plain = [0; 4];
    for length in 1..=plain.len() {
        let Some(byte) = escape(length - 1) else { break };
        *plain.get_mut(length - 1)? = byte;
        if str::from_utf8(plain.get(..length)?).is_ok() {
            return Some(((plain, length), 4 * length));
        }
    }
    let mut plain = [0; 4];
    let count = char::from(first).encode_utf8(&mut plain).len();
    Some(((plain, count), 4))
}

/// Undoes the digits in braces after `\u`.
fn braced(rest: &[u8]) -> Unescaped {
    let digits = rest.strip_prefix(b"{")?;
    let digits = digits.get(..digits.iter().take(9).position(|byte| *byte == b'}')?)?;
    let (plain, length) = (character(digits, 16)?, digits.len());
    Some((plain, length + 4))
}

/// The names of the entities for the signs that must be written so.
const ENTITIES: [(&[u8], u8); 5] =
    [(b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>'), (b"quot", b'"'), (b"apos", b'\'')];

/// The most digits of the number of an entity, zeros at its start included.
const ENTITY_DIGITS_MAX: usize = 10;

/// Undoes the entities of HTML: numbers in either form, and the signs that must be written so, with or without `;`.
fn entity(text: &[u8]) -> Unescaped {
    let (plain, length) = match text.strip_prefix(b"&")? {
        [b'#', b'x' | b'X', rest @ ..] => numbered(rest, 16).map(|(plain, digits)| (plain, digits + 3))?,
        [b'#', rest @ ..] => numbered(rest, 10).map(|(plain, digits)| (plain, digits + 2))?,
        rest => {
            let (name, sign) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name))?;
            (([*sign, 0, 0, 0], 1), name.len() + 1)
        }
    };
    let end = usize::from(text.get(length) == Some(&b';'));
    Some((plain, length + end))
}

/// Returns the bytes of the character whose number begins a text, and the count of its digits.
fn numbered(text: &[u8], radix: u32) -> Unescaped {
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let digits = text.iter().take(ENTITY_DIGITS_MAX).take_while(is_digit).count();
    Some((character(text.get(..digits)?, radix)?, digits))
}

/// Undoes an entity that is a number, has no `;` and is followed by a blank, together with the blank.
fn spaced_entity(text: &[u8]) -> Unescaped {
    let (plain, length) = entity(text).filter(|_| text.starts_with(b"&#"))?;
    let is_spaced = text.get(length - 1) != Some(&b';') && text.get(length) == Some(&b' ');
    is_spaced.then_some((plain, length + 1))
}

/// Undoes `=2F`, and `=` at the end of a line, as mails have them.
fn quoted_printable(text: &[u8]) -> Unescaped {
    match text {
        [b'=', b'\r', b'\n', ..] => Some((([0; 4], 0), 3)),
        [b'=', b'\n', ..] => Some((([0; 4], 0), 2)),
        [b'=', high, low, ..] => Some((([nibble(*high)? << 4 | nibble(*low)?, 0, 0, 0], 1), 3)),
        _ => None,
    }
}

/// Returns the bytes of the character with this number.
fn character(digits: &[u8], radix: u32) -> Option<Plain> {
    let number = u32::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()?;
    let mut plain = [0; 4];
    let count = char::from_u32(number)?.encode_utf8(&mut plain).len();
    Some((plain, count))
}

/// Undoes the four digits after `\u` or another mark, and a second escape where two make one character.
fn unicode(rest: &[u8], mark: &[u8]) -> Unescaped {
    let unit = |digits: Option<&[u8]>| u16::from_str_radix(str::from_utf8(digits?).ok()?, 16).ok();
    let first = unit(rest.get(..4))?;
    let second = rest.get(4..).and_then(|rest| rest.strip_prefix(mark)).and_then(|rest| unit(rest.get(..4)));
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

/// Removes the zeros that UTF-16 puts between the letters of a text.
fn zero(text: &[u8]) -> Unescaped {
    matches!(text, [0, ..]).then_some((([0; 4], 0), 1))
}
