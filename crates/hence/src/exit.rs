//! Exit codes.

/// What a command's exit code says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Yes: it worked, it holds, it is equal.
    Yes = 0,
    /// No: it was refused, it does not hold, it differs.
    No = 1,
    /// The call itself is wrong.
    Usage = 2,
    /// Someone has to answer first.
    Waiting = 3,
    /// The store could not do it.
    Store = 4,
    /// Part of it worked.
    Partial = 5,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
