//! Errors in the text of a formula, with their location.

use std::fmt;

use super::parse::{FORMULA_BYTES_MAX, FORMULA_DEPTH_MAX};

/// A formula that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at {location}")]
pub struct SyntaxError {
    /// The kind of error.
    pub kind: SyntaxErrorKind,
    /// The location in the text.
    pub location: Location,
}

/// The kinds of syntax errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Only white space.
    #[error("the formula is empty")]
    Empty,
    /// More text than [`FORMULA_BYTES_MAX`].
    #[error("the formula has {found} bytes, limit is {FORMULA_BYTES_MAX}")]
    TooLong {
        /// The number of bytes found.
        found: usize,
    },
    /// Operators nested deeper than [`FORMULA_DEPTH_MAX`].
    #[error("operators nest deeper than {FORMULA_DEPTH_MAX}")]
    TooDeep,
    /// A character the language does not have.
    #[error("{0:?} is not part of the policy language")]
    IllegalCharacter(char),
    /// A number beyond 64 bits, or one that runs into a word.
    #[error("{0:?} is not a whole number")]
    InvalidNumber(String),
    /// A text without its closing quote.
    #[error("the text has no closing quote")]
    UnclosedText,
    /// A token that the grammar does not allow there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The tokens the grammar allows there.
        expected: &'static str,
        /// The token found.
        found: String,
    },
}

/// A location in the text of a formula.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Location {
    /// Byte offset, from 0.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Location {
    /// Returns the location of byte `offset` in `text`.
    pub fn find(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|found| *found != '\n').count() + 1;
        Self { offset, line, column }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nearly every formula is one line; its number would tell nothing.
        match self.line {
            1 => write!(out, "column {}", self.column),
            line => write!(out, "line {line}, column {}", self.column),
        }
    }
}
