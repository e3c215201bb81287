//! Errors of the YAML reader.

use hence_canon::Position;

use crate::{DEPTH_MAX, EXPANDED_BYTES_MAX, NODES_MAX};

/// A text that is not YAML, or that JSON cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at {position}")]
pub struct YamlError {
    /// The kind of defect.
    pub kind: YamlErrorKind,
    /// The position of the defect in the text.
    pub position: Position,
}

/// The kinds of defects of a YAML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each variant means")]
pub enum YamlErrorKind {
    #[error("text is not UTF-8")]
    InvalidUtf8,
    #[error("{0}")]
    Syntax(String),
    #[error("key {0:?} occurs twice in one mapping")]
    DuplicateKey(String),
    #[error("a key must be a text, found {0}")]
    KeyNotText(String),
    #[error("unknown tag {0}")]
    UnknownTag(String),
    #[error("{found:?} is not {expected}")]
    TagMismatch { expected: &'static str, found: String },
    #[error("number is not finite or not representable")]
    Number,
    #[error("an alias stands inside what it refers to")]
    RecursiveAlias,
    #[error("nesting is deeper than {DEPTH_MAX}")]
    TooDeep,
    #[error("text stands for more than {NODES_MAX} nodes")]
    TooManyNodes,
    #[error("text stands for more than {EXPANDED_BYTES_MAX} bytes once its aliases are expanded")]
    TooManyBytes,
    #[error("a second document follows")]
    SecondDocument,
}
