//! The logical clock of a run: the same inputs make the same times.

use crate::Timestamp;

/// The seconds that one mutation adds to a ticking clock.
pub const TICK_SECONDS: u64 = 1;

/// A deterministic clock. Mutation `k` of a run happens at `at(k)`; 0 is the run's creation.
///
/// Because time is a function of the mutation's number, a run that is resumed or replayed sees the times it would
/// have seen undisturbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The same time for every mutation, as in the compat profile.
    Frozen(Timestamp),
    /// The start plus [`TICK_SECONDS`] for each mutation.
    Ticking(Timestamp),
    /// Times listed by the caller, in increasing order.
    Given(Vec<Timestamp>),
}

/// A clock that has no time for a mutation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The listed times are used up.
    #[error("the clock was given {given} times, mutation {mutation} needs one more")]
    Exhausted {
        /// The number of listed times.
        given: usize,
        /// The mutation that has no time.
        mutation: u64,
    },
    /// The calendar ends at 9999-12-31.
    #[error("mutation {mutation} after {start} lies beyond the year 9999")]
    OutOfRange {
        /// The first time of the clock.
        start: Timestamp,
        /// The mutation that has no time.
        mutation: u64,
    },
    /// The listed times do not increase.
    #[error("the clock's times must increase: {later} does not come after {earlier}")]
    NotIncreasing {
        /// The time before.
        earlier: Timestamp,
        /// The time that should come after it.
        later: Timestamp,
    },
}

impl Clock {
    /// Creates a clock that never moves.
    pub fn frozen(at: Timestamp) -> Self {
        Self::Frozen(at)
    }

    /// Creates a clock that moves by [`TICK_SECONDS`] per mutation.
    pub fn ticking(start: Timestamp) -> Self {
        Self::Ticking(start)
    }

    /// Creates a clock from a list of times.
    ///
    /// # Errors
    /// [`ClockError::NotIncreasing`] when a time does not come after the one before.
    pub fn given(times: Vec<Timestamp>) -> Result<Self, ClockError> {
        for pair in times.windows(2) {
            if let [earlier, later] = pair
                && !later.is_after(earlier)
            {
                return Err(ClockError::NotIncreasing { earlier: earlier.clone(), later: later.clone() });
            }
        }
        Ok(Self::Given(times))
    }

    /// Returns the time of a mutation.
    ///
    /// # Errors
    /// [`ClockError`] when the list or the calendar ends before it.
    pub fn at(&self, mutation: u64) -> Result<Timestamp, ClockError> {
        match self {
            Self::Frozen(at) => Ok(at.clone()),
            Self::Ticking(start) if mutation == 0 => Ok(start.clone()),
            Self::Ticking(start) => mutation
                .checked_mul(TICK_SECONDS)
                .and_then(|seconds| start.plus_seconds(seconds))
                .ok_or_else(|| ClockError::OutOfRange { start: start.clone(), mutation }),
            Self::Given(times) => usize::try_from(mutation)
                .ok()
                .and_then(|position| times.get(position))
                .cloned()
                .ok_or(ClockError::Exhausted { given: times.len(), mutation }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: u8) -> Timestamp {
        Timestamp::parse(&format!("2026-01-01T00:00:{second:02}Z")).unwrap()
    }

    #[test]
    fn time_is_a_function_of_the_mutation() {
        assert_eq!(Clock::ticking(time(0)).at(5), Ok(time(5)));
        assert_eq!(Clock::frozen(time(0)).at(5), Ok(time(0)));
        let given = Clock::given(vec![time(1), time(4)]).unwrap();
        assert_eq!(given.at(1), Ok(time(4)));
        assert_eq!(given.at(2), Err(ClockError::Exhausted { given: 2, mutation: 2 }));
    }

    #[test]
    fn given_times_must_increase() {
        assert!(Clock::given(vec![time(1), time(1)]).is_err());
        assert!(Clock::given(vec![time(2), time(1)]).is_err());
    }
}
