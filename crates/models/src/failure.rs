//! Why a model gave no answer.

use std::time::Duration;

/// How much of what an endpoint says about an error is repeated.
pub(crate) const SAID_CHARS_MAX: usize = 300;

/// A call without an answer. No message shows a key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AskError {
    /// It did not come in time, with every retry and repair.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// It failed.
    #[error("{message}")]
    Failed {
        /// What kind of failure it is.
        class: FailureClass,
        /// What happened, where, and what was said about it.
        message: String,
    },
}

/// What kind of failure it is; retry rules of a skill can name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureClass {
    /// The input lacks what a prompt names.
    InvalidInput,
    /// The schema of replies cannot be used.
    SchemaInvalid,
    /// The endpoint does not accept the key.
    Unauthorized,
    /// The endpoint does not accept the request.
    RequestRefused,
    /// The endpoint asks to come later, and later is too late.
    RateLimited,
    /// The endpoint fails, or says what cannot be understood.
    Unavailable,
    /// The endpoint cannot be reached, or breaks off.
    Unreachable,
    /// The model declines.
    Declined,
    /// The reply ended at the limit of tokens.
    ReplyCut,
    /// The reply has more bytes than it may.
    ReplyTooLarge,
    /// No reply was what it must look like.
    ReplyInvalid,
}

impl FailureClass {
    /// Returns the name of the class, as records show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "InvalidInput",
            Self::SchemaInvalid => "ModelSchemaInvalid",
            Self::Unauthorized => "ModelUnauthorized",
            Self::RequestRefused => "ModelRequestRefused",
            Self::RateLimited => "ModelRateLimited",
            Self::Unavailable => "ModelUnavailable",
            Self::Unreachable => "ModelUnreachable",
            Self::Declined => "ModelDeclined",
            Self::ReplyCut => "ModelReplyCut",
            Self::ReplyTooLarge => "ModelReplyTooLarge",
            Self::ReplyInvalid => "ModelReplyInvalid",
        }
    }
}

/// Returns the beginning of what someone said, on one line.
pub(crate) fn excerpt(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_CHARS_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}
