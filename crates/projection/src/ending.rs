//! How a run ended.

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// It did all its plan asks for.
    Completed,
    /// It failed, for this reason.
    Failed(String),
    /// More records should follow.
    Unfinished,
}
