//! Strings: escapes, surrogate pairs, control characters.

use super::error::ParseErrorKind as Kind;
use super::reader::{Failure, Reader};

/// A decoded string, and whether half of a surrogate pair had to be replaced.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) lone_surrogate: Option<u16>,
}

impl Reader<'_> {
    /// Reads a string whose opening quote is the next byte.
    pub(super) fn string(&mut self) -> Result<Text, Failure> {
        self.advance(1);
        let mut decoded = Text { text: String::new(), lone_surrogate: None };
        loop {
            let plain = self.rest().bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let Some(length) = plain else {
                self.advance(self.rest().len());
                return Err(self.fail(Kind::UnexpectedEnd { expected: "the end of a string" }));
            };
            decoded.text.push_str(self.rest().get(..length).unwrap_or_default());
            self.advance(length);
            match self.peek() {
                Some(b'"') => {
                    self.advance(1);
                    return Ok(decoded);
                }
                Some(b'\\') => self.escape(&mut decoded)?,
                Some(control) => return Err(self.fail(Kind::ControlCharacter(control))),
                None => return Err(self.fail(Kind::UnexpectedEnd { expected: "the end of a string" })),
            }
        }
    }

    fn escape(&mut self, decoded: &mut Text) -> Result<(), Failure> {
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

    fn unicode_escape(&mut self, start: usize, decoded: &mut Text) -> Result<(), Failure> {
        let unit = self.four_hex_digits()?;
        let character = match unit {
            0xd800..=0xdbff => self.low_surrogate(unit)?,
            _ => char::from_u32(u32::from(unit)),
        };
        match character {
            Some(character) => decoded.text.push(character),
            None if self.is_lenient() => {
                decoded.lone_surrogate = decoded.lone_surrogate.or(Some(unit));
                decoded.text.push(char::REPLACEMENT_CHARACTER);
            }
            None => return Err(self.fail_at(start, Kind::LoneSurrogate(unit))),
        }
        Ok(())
    }

    /// Joins a high surrogate with the low one that must follow; otherwise consumes nothing.
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
