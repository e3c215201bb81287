//! Measured times: when steps, calls and waits really happened, and how long they took.
//!
//! Records have logical times, because a record must not depend on a clock. What a clock says is written next to the
//! journal, as lines of a time log that no hash covers (`docs/format.md` describes it). This crate reads no clock: a
//! [`Meter`] gives it the time and stores what is measured.

mod line;
mod times;

use std::sync::Arc;
use std::time::Duration;

use hence_canon::Digest;
use hence_canon::time::Instant;
use hence_cognition::budget::Usage;
use hence_journal::RecordIndex;

pub use times::{CallTimes, MeasuredTimes, RecordTimes, TIME_LINE_BYTES_MAX, TimedRecord, WaitTimes};

/// One reading of the clocks of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The time of day, in UTC.
    pub wall: Instant,
    /// The time since some start, by a clock that never goes back. Only differences mean anything.
    pub monotonic: Duration,
}

/// Something that took time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The start, by the time of day.
    pub started_at: Instant,
    /// The end, by the time of day. It is before the start when somebody set the clock back in between.
    pub ended_at: Instant,
    /// The duration, by a clock that never goes back.
    pub duration_ms: u64,
}

impl Span {
    /// Returns the time between two readings in one process.
    pub fn between(started: Moment, ended: Moment) -> Self {
        let duration = ended.monotonic.saturating_sub(started.monotonic);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(line::DURATION_MS_MAX);
        Self { started_at: started.wall, ended_at: ended.wall, duration_ms }
    }
}

/// One measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Measured {
    /// The execution that gave a step its outcome.
    Step {
        /// The step.
        step: Arc<str>,
        /// The time it took.
        span: Span,
    },
    /// A call that was made: one attempt, for one item of a loop.
    Call {
        /// The step that made the call.
        step: Arc<str>,
        /// The call.
        call: CallTimes,
    },
    /// The question of a run to a person.
    Asked {
        /// The step that asks.
        step: Arc<str>,
        /// The key of the call that waits for the answer.
        key: Arc<str>,
        /// The time of the question.
        at: Instant,
    },
    /// The answer of a person.
    Answered {
        /// The step that asked.
        step: Arc<str>,
        /// The key of the call that waited for the answer.
        key: Arc<str>,
        /// The time of the answer.
        at: Instant,
    },
    /// A record that was appended. It takes in the measurements of its step that came before.
    Record {
        /// The record.
        index: RecordIndex,
        /// Its hash, by which a line about another record is found out.
        hash: Digest,
        /// The step, where the record is the result of one.
        step: Option<Arc<str>>,
        /// The time at which it was appended.
        at: Instant,
    },
}

/// The source of time, and the store of what is measured.
pub trait Meter: Send + Sync {
    /// Reads the clocks; `None` when nothing is measured.
    fn now(&self) -> Option<Moment>;

    /// Takes a measurement. It never fails: a measurement that cannot be stored is lost, and the run continues.
    fn note(&self, measured: Measured);

    /// Hears what happens at this moment, for whoever watches. Nothing of it is stored.
    fn watch(&self, _: Watched<'_>) {}
}

/// Something that begins or ends while a run is driven.
#[derive(Clone, Debug)]
pub enum Watched<'a> {
    /// A step is executed.
    StepBegan {
        /// The step.
        step: &'a str,
        /// The number of items it goes through, if it is a loop over items.
        items: Option<usize>,
    },
    /// The step has an outcome, or waits.
    StepEnded {
        /// The step.
        step: &'a str,
    },
    /// A call leaves.
    CallBegan {
        /// The step that calls.
        step: &'a str,
        /// The item it calls for, from 0.
        item: u64,
        /// The attempt, from 1.
        attempt: u64,
    },
    /// A reply came, or the call failed.
    CallEnded {
        /// The tokens and the cost that the provider reports.
        used: &'a Usage,
    },
}

/// A meter that measures nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn now(&self) -> Option<Moment> {
        None
    }

    fn note(&self, _: Measured) {}
}

impl dyn Meter + '_ {
    /// Returns the time since an earlier reading.
    pub fn since(&self, started: Option<Moment>) -> Option<Span> {
        Some(Span::between(started?, self.now()?))
    }
}
