//! Why a capability gives no output.

use std::fmt;
use std::sync::Arc;

use hence_cognition::failure::{INPUT_TOO_LARGE, INVALID_INPUT};

/// A capability that could not do what it was asked, with the class of the failure in its own words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The class, which retry rules can name.
    pub class: Arc<str>,
    /// What was asked, what was expected, what was found.
    pub message: Arc<str>,
}

impl Refusal {
    /// An input the capability cannot work on; trying again would not help.
    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self::new(INVALID_INPUT, message)
    }

    /// An input beyond a limit.
    pub(crate) fn too_large(message: impl fmt::Display) -> Self {
        Self::new(INPUT_TOO_LARGE, message)
    }

    pub(crate) fn new(class: &str, message: impl fmt::Display) -> Self {
        Self { class: class.into(), message: message.to_string().into() }
    }
}
