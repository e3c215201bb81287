//! The id of a run.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest run id: far beyond what a person types or a program generates.
pub const RUN_ID_BYTES_MAX: usize = 4096;

/// The id of a run: any text that is not empty and at most [`RUN_ID_BYTES_MAX`] long.
///
/// Users choose it, so it is never used as a path: slashes, line feeds and `..` are ordinary text here.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Arc<str>);

/// A text that cannot be the id of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a run id has 1 to {RUN_ID_BYTES_MAX} bytes, found {bytes}")]
pub struct InvalidRunId {
    /// The length of the text.
    pub bytes: usize,
}

impl RunId {
    /// Checks that `text` is a run id.
    ///
    /// # Errors
    /// [`InvalidRunId`] when it is empty or too long.
    pub fn new(text: &str) -> Result<Self, InvalidRunId> {
        if text.is_empty() || text.len() > RUN_ID_BYTES_MAX {
            return Err(InvalidRunId { bytes: text.len() });
        }
        Ok(Self(text.into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ids may hold control characters; a message must not.
        if self.0.chars().any(char::is_control) {
            write!(out, "{:?}", &*self.0)
        } else {
            out.write_str(&self.0)
        }
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", &*self.0)
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hold_from_one_byte_to_the_limit() {
        assert!(RunId::new("").is_err());
        assert!(RunId::new("a").is_ok());
        assert!(RunId::new(&"a".repeat(RUN_ID_BYTES_MAX)).is_ok());
        let long = RunId::new(&"a".repeat(RUN_ID_BYTES_MAX + 1));
        assert_eq!(long, Err(InvalidRunId { bytes: RUN_ID_BYTES_MAX + 1 }));
    }

    #[test]
    fn control_characters_do_not_reach_a_message() {
        assert_eq!(RunId::new("a\n\u{1b}[31m").unwrap().to_string(), r#""a\n\u{1b}[31m""#);
        assert_eq!(RunId::new("refund 42/é").unwrap().to_string(), "refund 42/é");
    }
}
