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
        let parse = |text: &str| {
            let time = text.parse::<Timestamp>();
            let time = time.map_err(|error| CliError::at(Code::Argument, "--now", error))?;
            // A record spells its year with four digits, and the problem of a new run names this time.
            clock::second_of(time).map(|_| time)
        };
        Ok(Self { given: given.map(parse).transpose()? })
    }

    /// Returns the time, but none before `last`: what is recorded does not go back in time. Says so when a given time is
    /// not used.
    pub(crate) fn not_before(
        self,
        context: &Context,
        last: Option<Timestamp>,
    ) -> Result<Timestamp, CliError> {
        match (self.given, last) {
            (Some(given), Some(last)) if given < last => {
                context.say(format_args!(
                    "--now {given} is before the last recorded time, which counts: {last}"
                ));
                Ok(last)
            }
            (Some(given), _) => Ok(given),
            (None, last) => {
                let now = clock::now_to_the_millisecond()?;
                Ok(last.map_or(now, |last| last.max(now)))
            }
        }
    }
}
