//! Formulas that cannot be read.

use super::Place;
use super::parse::{FORMULA_BYTES_MAX, FORMULA_DEPTH_MAX};

/// A formula that cannot be read, and where reading stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at {place}")]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxErrorKind,
    /// Where.
    pub place: Place,
}

/// What is wrong with a formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Nothing but space.
    #[error("the formula is empty")]
    Empty,
    /// More text than [`FORMULA_BYTES_MAX`].
    #[error("the formula has {found} bytes, limit is {FORMULA_BYTES_MAX}")]
    TooLong {
        /// How many it has.
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
    /// Something else was needed.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could stand there.
        expected: &'static str,
        /// What does.
        found: String,
    },
}
