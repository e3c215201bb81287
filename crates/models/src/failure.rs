//! Failures of a call to a model.

use std::time::Duration;

/// The maximum number of characters that a message repeats from an endpoint's error.
pub(crate) const SAID_CHARS_MAX: usize = 300;

/// A call without an answer. Messages hide the key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AskError {
    /// The answer did not arrive in time, including all retries and repairs.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The call failed.
    #[error("{message}")]
    Failed {
        /// The class of the failure.
        class: FailureClass,
        /// A description of the failure with the model, the endpoint and the endpoint's own message.
        message: String,
    },
}

/// The class of a failure; retry rules of a skill can name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureClass {
    /// The input lacks a value that a prompt names.
    InvalidInput,
    /// The schema of replies cannot be used.
    SchemaInvalid,
    /// The endpoint does not accept the key.
    Unauthorized,
    /// The endpoint does not accept the request.
    RequestRefused,
    /// The endpoint reports too many requests, and the retries are used up or it asks for too long a wait.
    RateLimited,
    /// The endpoint fails, or its reply cannot be understood.
    Unavailable,
    /// The endpoint cannot be reached, or the connection breaks.
    Unreachable,
    /// The model declines to answer.
    Declined,
    /// The reply ended at the token limit.
    ReplyCut,
    /// The reply has more bytes than allowed.
    ReplyTooLarge,
    /// No reply satisfied the schema, or a reply contained the key.
    ReplyInvalid,
}

impl FailureClass {
    /// Returns the name of the class, as it appears in records.
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

/// Returns the beginning of a text, on one line.
pub(crate) fn excerpt(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_CHARS_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}
