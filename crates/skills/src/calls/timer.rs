//! Durable timers: calls that wait for a time instead of a person.
//!
//! A timer is a question that the clock answers. Its due time is logged with the question, so a run that is resumed waits for the same
//! time, and nobody has to wait with it. The answer is the due time: a recorded input like any other answer.

use hence_canon::Value;
use hence_canon::time::Instant;
use hence_engine::SinkError;
use hence_journal::Durability;

use super::entry::{Answer, CallName, Entry};
use super::history::CallHistory;
use super::log::CallLog;

/// The id of the capability that waits for a number of seconds.
pub const WAIT_FOR: &str = "wait.for";

/// The id of the capability that waits until a time.
pub const WAIT_UNTIL: &str = "wait.until";

/// The name under which the clock answers.
const CLOCK: &str = "clock";

/// Returns whether a capability waits for a time.
pub fn is_timer(capability: &str) -> bool {
    [WAIT_FOR, WAIT_UNTIL].contains(&capability)
}

/// The questions that a run waits for, by who answers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenTimers {
    /// There is no timer.
    None,
    /// Nothing but timers; the first is due at this time.
    Only(Instant),
    /// Timers and questions to people; the first timer is due at this time.
    AndPeople(Instant),
}

impl CallHistory {
    /// Iterates over the timers that are not over, with their due times.
    fn timers(&self) -> impl Iterator<Item = (&CallName, Instant)> {
        self.questions().filter_map(|(call, question)| {
            let due = question.reason.as_deref().filter(|_| is_timer(&call.capability))?;
            Some((call, due.parse().ok()?))
        })
    }

    /// Returns the timers that the run waits for.
    pub fn open_timers(&self) -> OpenTimers {
        let Some(first) = self.timers().map(|(_, due)| due).min() else { return OpenTimers::None };
        match self.questions().count() > self.timers().count() {
            true => OpenTimers::AndPeople(first),
            false => OpenTimers::Only(first),
        }
    }
}

impl CallLog<'_> {
    /// Answers the timers that are due, and returns how many.
    ///
    /// # Errors
    /// [`SinkError`] when the log could not be written.
    pub fn answer_timers(&self, now: Instant) -> Result<usize, SinkError> {
        let history = self.history();
        let due: Vec<_> = history.timers().filter(|(_, due)| *due <= now).collect();
        for (call, at) in &due {
            let answer = Answer::Value(Value::from(at.to_string()));
            self.note(
                Entry::Answer { key: call.key.clone(), answer, by: Some(CLOCK.into()) },
                Durability::Synced,
            )?;
        }
        Ok(due.len())
    }
}
