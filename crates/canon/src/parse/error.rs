//! What can be wrong with a document, and where.

use std::fmt;
use std::sync::Arc;

use crate::{INT_DIGITS_MAX, JsonPointer, Value};

use super::DEPTH_MAX;

/// A place in a text.
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
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Where in the text.
    pub position: Position,
    /// Where in the document: the innermost value or member being read.
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

/// What is wrong with a document.
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
        /// What could stand there.
        expected: &'static str,
    },
    /// A character that cannot stand there.
    #[error("expected {expected}, found {found:?}")]
    Unexpected {
        /// What could stand there.
        expected: &'static str,
        /// What does.
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
        /// How many digits it has.
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
    /// What has no canonical form, in document order.
    pub defects: Vec<Defect>,
}

/// Something a lenient reader lets pass and a hash cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// What it is.
    pub kind: DefectKind,
    /// The value, or the member whose key is meant.
    pub pointer: JsonPointer,
}

/// What a lenient reader lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefectKind {
    /// A key that occurred before; the last value won.
    DuplicateKey,
    /// `NaN`, `Infinity`, or a number beyond the range of a double.
    NonFinite,
    /// A string holding half of a surrogate pair.
    LoneSurrogate,
    /// A key holding half of a surrogate pair.
    LoneSurrogateInKey,
}
