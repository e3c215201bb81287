//! How runs and steps stand.

use std::fmt;
use std::str::FromStr;

macro_rules! status {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$case_doc:meta])* $case:ident $text:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// Returns the name used in documents.
            pub fn name(self) -> &'static str {
                match self { $(Self::$case => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = UnknownStatus;

            fn from_str(text: &str) -> Result<Self, UnknownStatus> {
                match text {
                    $($text => Ok(Self::$case),)*
                    _ => Err(UnknownStatus { of: $what, found: text.to_owned() }),
                }
            }
        }
    };
}

/// A text that is no status.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{found:?} is not a status of a {of}")]
pub struct UnknownStatus {
    /// What it should be the status of.
    pub of: &'static str,
    /// The text.
    pub found: String,
}

status! {
    /// How a run stands.
    RunStatus, "run":
    /// Created, nothing executed.
    Pending "pending",
    /// Executing.
    Running "running",
    /// Ended with its required outputs.
    Completed "completed",
    /// Ended without them, or by a failing step.
    Failed "failed",
}

status! {
    /// How a step ended.
    StepStatus, "step":
    /// It called, and its writes are in the state.
    Completed "completed",
    /// It called or tried to, and wrote nothing.
    Failed "failed",
    /// It did not call: its condition did not hold, or something it depends on failed.
    Skipped "skipped",
    /// A gate denied it in a way that lets the run go on without it.
    Degraded "degraded",
}
