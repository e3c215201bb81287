//! The time of a change: an input of the caller, which the run records.

use hence_variables::Timestamp;

use crate::clock;
use crate::prelude::*;

/// The time that a caller gives, or that of the machine's clock, read anew for each operation.
#[derive(Clone, Copy, Default)]
pub(crate) struct CallerTime {
    given: Option<Timestamp>,
}

impl CallerTime {
    /// Reads the time of a command line.
    pub(crate) fn of(given: Option<&str>) -> Result<Self, CliError> {
        Ok(Self { given: given.map(clock::given).transpose()? })
    }

    /// Returns the time, but none before `last`: what is recorded does not go back in time. Says so when a given time is
    /// not used.
    pub(crate) fn not_before(
        self,
        context: &Context,
        last: Option<Timestamp>,
    ) -> Result<Timestamp, CliError> {
        if let (Some(given), Some(last)) = (self.given, last)
            && given < last
        {
            context.say(format_args!("--now {given} is before the last recorded time, which counts: {last}"));
        }
        self.at_or_after(last)
    }

    /// Returns the time, but none before `last`, and says nothing.
    pub(super) fn at_or_after(self, last: Option<Timestamp>) -> Result<Timestamp, CliError> {
        let now = self.given.map_or_else(clock::now_to_the_millisecond, Ok)?;
        Ok(last.map_or(now, |last| last.max(now)))
    }
}
