//! The four statuses, as types and as words.

use std::fmt;

/// The status of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Nothing has run.
    Pending,
    /// Steps are running.
    Running,
    /// A step or a loop failed; no record follows.
    Failed,
    /// Every step ran.
    Completed,
}

impl Status {
    /// Returns the word used in states.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Completed => "completed",
        }
    }

    /// Reads the word used in states.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Failed, Self::Completed]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A status as a type. Sealed: the state document has four.
pub trait Phase: sealed::Sealed {
    /// The status.
    const STATUS: Status;
}

macro_rules! phase {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Phase for $name {
            const STATUS: Status = Status::$name;
        }
    };
}

phase! {
    /// Nothing has run.
    Pending
}
phase! {
    /// Steps are running.
    Running
}
phase! {
    /// A step or a loop failed.
    Failed
}
phase! {
    /// Every step ran.
    Completed
}
