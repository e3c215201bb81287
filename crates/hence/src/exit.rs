//! Exit codes.

/// The exit code of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Yes: it worked, it holds, it is equal.
    Yes = 0,
    /// No: it was refused, it does not hold, it differs.
    No = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// Someone has to answer first.
    Waiting = 3,
    /// The store refused or failed.
    Store = 4,
    /// Only part of it worked.
    Partial = 5,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
