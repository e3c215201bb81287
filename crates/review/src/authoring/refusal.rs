//! The reasons why a draft refuses an operation.

use hence_canon::did_you_mean;
use hence_canon::time::Instant;

use crate::vocabulary::ResidualStatus;

/// An operation that the draft refuses: what was expected, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in the message of each variant")]
pub enum Refusal {
    #[error("expected the operation init first, found {found}")]
    NotBegun { found: &'static str },
    #[error("expected init once; the trace has begun")]
    Begun,
    #[error("expected nothing after complete; the trace has ended, found {found}")]
    Ended { found: &'static str },
    #[error("expected a time from {last} on, found {found}")]
    TimeGoesBack { last: Instant, found: Instant },
    #[error("expected action {expected}, found {found}")]
    ActionNumber { expected: i64, found: i64 },
    #[error("expected an action {}, found {found}", range(*first, *last))]
    NoAction { first: i64, last: i64, found: i64 },
    #[error("expected {what} of the trace, found {found:?}{meant}")]
    Unknown { what: &'static str, found: String, meant: String },
    #[error("expected a new id of {what}, found {found:?}, which is taken")]
    Taken { what: &'static str, found: String },
    #[error("expected text in {member}, found none")]
    Empty { member: &'static str },
    #[error("expected the outputs of the action to be the artifacts it made, found {found:?}")]
    Outputs { found: String },
    #[error("expected {member} at least 0, found {found}")]
    Negative { member: &'static str, found: String },
    #[error("gap {residual:?}: expected one of {expected} after {from}, found {to}")]
    Lifecycle { residual: String, from: ResidualStatus, to: ResidualStatus, expected: &'static str },
    #[error("gap {residual:?}: expected the action that addressed it")]
    AddressedByNothing { residual: String },
    #[error("expected a link from this trace, {expected:?}, to another one; found {from:?} to {to:?}")]
    Link { expected: String, from: String, to: String },
}

fn range(first: i64, last: i64) -> String {
    match last < first {
        true => "that the agent recorded; there is none yet".to_owned(),
        false => format!("of the trace, {first} to {last}"),
    }
}

impl Refusal {
    /// Refuses an id that nothing has, and says which one was probably meant.
    pub(super) fn unknown<'a>(
        what: &'static str,
        found: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::Unknown { what, found: found.to_owned(), meant: did_you_mean(found, known) }
    }
}
