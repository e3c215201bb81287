//! Strings: escapes, surrogate pairs, control characters.

use std::borrow::Cow;

use super::error::ParseErrorKind as Kind;
use super::reader::{Failure, Reader};
use crate::plain::plain_length;

/// A decoded string. A string without escapes borrows from the document.
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether half of a surrogate pair was replaced.
    pub(super) has_lone_surrogate: bool,
}

impl<'a> Reader<'a> {
    /// Reads a string whose opening quote is the next byte.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Text<'a>, Failure> {
        self.advance(1);
        let plain = self.plain_run();
        if self.peek() == Some(b'"') {
            self.advance(1);
            return Ok(Text { text: Cow::Borrowed(plain), has_lone_surrogate: false });
        }
        self.string_with_escapes(plain)
    }

    /// Reads the rest of a string that begins with `plain`, up to the first byte that is not plain.
    #[cold]
    fn string_with_escapes(&mut self, plain: &str) -> Result<Text<'a>, Failure> {
        let mut decoded = Decoded { text: plain.to_owned(), has_lone_surrogate: false };
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.advance(1);
                    let Decoded { text, has_lone_surrogate } = decoded;
                    return Ok(Text { text: Cow::Owned(text), has_lone_surrogate });
                }
                Some(b'\\') => self.escape(&mut decoded)?,
                Some(control) => return Err(self.fail(Kind::ControlCharacter(control))),
                None => return Err(self.fail(Kind::UnexpectedEnd { expected: "the end of a string" })),
            }
            decoded.text.push_str(self.plain_run());
        }
    }

    /// Reads up to the next quote, backslash, control character or the end of the document.
    #[inline]
    fn plain_run(&mut self) -> &'a str {
        let rest = self.rest();
        let length = plain_length(rest.as_bytes());
        self.advance(length);
        rest.get(..length).unwrap_or_default()
    }

    fn escape(&mut self, decoded: &mut Decoded) -> Result<(), Failure> {
        let start = self.offset();
        self.advance(1);
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'f') => 0x0c,
            Some(b'r') => b'\r',
            Some(b'u') => {
                self.advance(1);
                return self.unicode_escape(start, decoded);
            }
            _ => return Err(self.unexpected("an escape: one of \" \\ / b f n r t u")),
        };
        self.advance(1);
        decoded.text.push(char::from(plain));
        Ok(())
    }

    fn unicode_escape(&mut self, start: usize, decoded: &mut Decoded) -> Result<(), Failure> {
        let unit = self.four_hex_digits()?;
        let character = match unit {
            0xd800..=0xdbff => self.low_surrogate(unit)?,
            _ => char::from_u32(u32::from(unit)),
        };
        match character {
            Some(character) => decoded.text.push(character),
            None if self.is_lenient() => {
                decoded.has_lone_surrogate = true;
                decoded.text.push(char::REPLACEMENT_CHARACTER);
            }
            None => return Err(self.fail_at(start, Kind::LoneSurrogate(unit))),
        }
        Ok(())
    }

    /// Joins a high surrogate with the low surrogate that must follow; consumes nothing if none follows.
    fn low_surrogate(&mut self, high: u16) -> Result<Option<char>, Failure> {
        if !self.rest().starts_with("\\u") {
            return Ok(None);
        }
        let back = self.offset();
        self.advance(2);
        let low = self.four_hex_digits()?;
        let joined = char::decode_utf16([high, low]).next().and_then(Result::ok);
        if joined.is_none() {
            self.go_back_to(back);
        }
        Ok(joined)
    }

    fn four_hex_digits(&mut self) -> Result<u16, Failure> {
        (0..4).try_fold(0, |unit: u16, _| {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit.and_then(|digit| u16::try_from(digit).ok()) else {
                return Err(self.unexpected("four hex digits"));
            };
            self.advance(1);
            Ok(unit << 4 | digit)
        })
    }
}

/// A string with escapes that is being decoded.
struct Decoded {
    text: String,
    has_lone_surrogate: bool,
}
