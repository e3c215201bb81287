//! Errors of the JSON reader, each with its position in the text and its JSON pointer.

use std::fmt;
use std::sync::Arc;

use crate::{INT_DIGITS_MAX, JsonPointer, Value};

use super::DEPTH_MAX;

/// A position in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Byte offset, from 0.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Position {
    /// Finds the position of byte `offset` in `text`.
    pub(super) fn find(text: &[u8], offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let in_line = before.get(line_start..).unwrap_or_default();
        // A character starts at every byte that does not continue one.
        let column = in_line.iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
        Self { offset, line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

/// A document that is not JSON as this crate reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The kind of defect.
    pub kind: ParseErrorKind,
    /// The position in the text.
    pub position: Position,
    /// The JSON pointer of the innermost value or member being read.
    pub pointer: JsonPointer,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {}", self.kind, self.position)?;
        if !self.pointer.is_root() {
            write!(out, " (`{}`)", self.pointer)?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

/// The kinds of defects that make a document unreadable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Bytes that are not UTF-8.
    #[error("text is not UTF-8")]
    InvalidUtf8,
    /// A byte order mark before the document.
    #[error("expected a JSON value, found a byte order mark")]
    ByteOrderMark,
    /// The text ends inside the document.
    #[error("expected {expected}, found the end of the text")]
    UnexpectedEnd {
        /// A description of the input that is allowed here.
        expected: &'static str,
    },
    /// A character that is not allowed at its position.
    #[error("expected {expected}, found {found:?}")]
    Unexpected {
        /// A description of the input that is allowed here.
        expected: &'static str,
        /// The character found instead.
        found: char,
    },
    /// A raw control character inside a string.
    #[error("control character U+{0:04X} in a string must be escaped")]
    ControlCharacter(u8),
    /// A key that occurs twice in one object.
    #[error("key {0:?} occurs twice in one object")]
    DuplicateKey(Arc<str>),
    /// Half of a surrogate pair.
    #[error("\\u{0:04x} is half of a surrogate pair")]
    LoneSurrogate(u16),
    /// `NaN`, `Infinity`, or a number beyond the range of a double.
    #[error("number is not finite")]
    NonFinite,
    /// An integer longer than [`INT_DIGITS_MAX`].
    #[error("integer has {found} digits, limit is {INT_DIGITS_MAX}")]
    IntegerTooLong {
        /// The number of digits of the integer.
        found: usize,
    },
    /// Lists and objects nested deeper than [`DEPTH_MAX`].
    #[error("nesting is deeper than {DEPTH_MAX}")]
    TooDeep,
}

/// A document read by [`parse_lenient`](super::parse_lenient).
#[derive(Debug, Clone)]
pub struct Lenient {
    /// The value; defective leaves hold a placeholder of the same kind.
    pub value: Value,
    /// The defects that have no canonical form, in document order.
    pub defects: Vec<Defect>,
}

/// A defect that the lenient reader accepts although the value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// The kind of defect.
    pub kind: DefectKind,
    /// The pointer of the defective value, or of the member whose key is defective.
    pub pointer: JsonPointer,
}

/// The kinds of defects that the lenient reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefectKind {
    /// A key that occurred before in the same object; the last value wins.
    DuplicateKey,
    /// `NaN`, `Infinity`, or a number beyond the range of a double.
    NonFinite,
    /// A string holding half of a surrogate pair.
    LoneSurrogate,
    /// A key holding half of a surrogate pair.
    LoneSurrogateInKey,
}
