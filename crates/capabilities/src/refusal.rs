//! Refusals: the failures of capabilities.

use std::fmt;
use std::sync::Arc;

use hence_cognition::failure::{INPUT_TOO_LARGE, INVALID_INPUT};

/// A capability that could not do its work, with a class of failure and a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The class, which retry rules can name.
    pub class: Arc<str>,
    /// A description of the request, the expected and the found value.
    pub message: Arc<str>,
}

impl Refusal {
    /// Returns the refusal of an input that the capability cannot process; a retry would not help.
    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self::new(INVALID_INPUT, message)
    }

    /// Returns the refusal of an input beyond a limit.
    pub(crate) fn too_large(message: impl fmt::Display) -> Self {
        Self::new(INPUT_TOO_LARGE, message)
    }

    pub(crate) fn new(class: &str, message: impl fmt::Display) -> Self {
        Self { class: class.into(), message: message.to_string().into() }
    }
}
