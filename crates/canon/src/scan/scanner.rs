//! A recursive-descent scanner that builds no values. The nesting depth is limited, so the recursion is too.

use super::key::Key;
use super::{Member, NotCanonical, Proved, number};
use crate::plain::plain_length;
use crate::{DEPTH_MAX, write};

pub(super) struct Scanner<'a, F> {
    bytes: &'a [u8],
    offset: usize,
    report_depth: usize,
    on_member: F,
}

impl<'a, F: FnMut(Member<'a>)> Scanner<'a, F> {
    pub(super) fn new(bytes: &'a [u8], report_depth: usize, on_member: F) -> Self {
        Self { bytes, offset: 0, report_depth, on_member }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Scans past a value that `depth` containers enclose and returns the nesting depth of the value.
    pub(super) fn value(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| 0),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| 0),
            Some(b't') => self.literal(b"true").map(|()| 0),
            Some(b'f') => self.literal(b"false").map(|()| 0),
            Some(b'n') => self.literal(b"null").map(|()| 0),
            _ => Err(self.broken()),
        }
    }

    fn array(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        self.enter(depth)?;
        let mut deepest = 0;
        if self.take(b']') {
            return Ok(1);
        }
        loop {
            deepest = self.value(depth)?.max(deepest);
            if self.take(b']') {
                return Ok(1 + deepest);
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        self.enter(depth)?;
        let mut deepest = 0;
        if self.take(b'}') {
            return Ok(1);
        }
        let mut previous: Option<Key<'a>> = None;
        loop {
            let start = self.offset;
            let (raw, escaped) = self.string()?;
            let key = Key::new(raw, escaped);
            if previous.is_some_and(|previous| !previous.is_before(&key)) {
                return Err(NotCanonical { offset: start });
            }
            previous = Some(key);
            self.expect(b':')?;
            let value_start = self.offset;
            let nested = self.value(depth)?;
            deepest = nested.max(deepest);
            if depth <= self.report_depth {
                let end = self.offset;
                let bytes = self.bytes.get(value_start..end).unwrap_or_default();
                let value = Proved { bytes, depth: nested };
                (self.on_member)(Member { depth, raw_key: raw, start, end, value });
            }
            if self.take(b'}') {
                return Ok(1 + deepest);
            }
            self.expect(b',')?;
        }
    }

    /// Scans past a string and returns the bytes between its quotes, and whether they contain an escape.
    #[inline]
    fn string(&mut self) -> Result<(&'a [u8], bool), NotCanonical> {
        self.expect(b'"')?;
        let start = self.offset;
        self.offset += plain_length(self.rest());
        let escaped = self.peek() != Some(b'"');
        if escaped {
            self.escapes()?;
        }
        let raw = self.bytes.get(start..self.offset).unwrap_or_default();
        self.offset += 1;
        Ok((raw, escaped))
    }

    /// Scans past the rest of a string, from its first byte that is not plain up to the closing quote.
    #[cold]
    fn escapes(&mut self) -> Result<(), NotCanonical> {
        loop {
            match self.peek() {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.escape()?,
                _ => return Err(self.broken()),
            }
            self.offset += plain_length(self.rest());
        }
    }

    /// Scans past an escape if the writer would choose the same one.
    fn escape(&mut self) -> Result<(), NotCanonical> {
        let rest = self.bytes.get(self.offset + 1..).unwrap_or_default();
        let length = match rest {
            [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low @ (b'0'..=b'9' | b'a'..=b'f'), ..] => {
                let low = if low.is_ascii_digit() { low - b'0' } else { low - b'a' + 10 };
                let byte = (high - b'0') << 4 | low;
                if write::short_escape(byte).is_some() {
                    return Err(self.broken());
                }
                6
            }
            _ => return Err(self.broken()),
        };
        self.offset += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotCanonical> {
        match number::canonical_length(self.rest()) {
            Some(length) => {
                self.offset += length;
                Ok(())
            }
            None => Err(self.broken()),
        }
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), NotCanonical> {
        if !self.rest().starts_with(literal) {
            return Err(self.broken());
        }
        self.offset += literal.len();
        Ok(())
    }

    fn enter(&mut self, depth: usize) -> Result<(), NotCanonical> {
        if depth > DEPTH_MAX {
            return Err(self.broken());
        }
        self.offset += 1;
        Ok(())
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.offset += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotCanonical> {
        if self.take(byte) { Ok(()) } else { Err(self.broken()) }
    }

    pub(super) fn broken(&self) -> NotCanonical {
        NotCanonical { offset: self.offset }
    }
}
