//! Schedules. The next time of a schedule is computed by the caller, who knows time zones.

use super::QueueState;
use super::settle::{BACKOFF_MAX, backoff};
use crate::error::Refusal;
use crate::job::cut_reason;
use crate::names::{ScheduleName, Time};
use crate::rows::{Key, PAYLOAD_BYTES_MAX, Row, Schedule};

/// The most schedules of a queue.
pub const SCHEDULES_MAX: usize = 10_000;

impl QueueState {
    /// Stores a schedule, replacing one of that name.
    ///
    /// # Errors
    /// [`Refusal::NoSuchQueue`], [`Refusal::OutOfRange`] for a payload over [`PAYLOAD_BYTES_MAX`] and too many schedules.
    pub fn put_schedule(&mut self, schedule: Schedule) -> Result<(), Refusal> {
        self.check_queue(&schedule.queue)?;
        if schedule.payload.len() > PAYLOAD_BYTES_MAX {
            let found = u64::try_from(schedule.payload.len()).unwrap_or(u64::MAX);
            let what = "the size of the document in bytes";
            return Err(Refusal::OutOfRange { what, found, expected: "at most 4194304" });
        }
        if self.schedules.len() >= SCHEDULES_MAX && !self.schedules.contains_key(&schedule.name) {
            let found = u64::try_from(self.schedules.len()).unwrap_or(u64::MAX).saturating_add(1);
            return Err(Refusal::OutOfRange {
                what: "the number of schedules",
                found,
                expected: "at most 10000",
            });
        }
        self.change(Row::Schedule(schedule));
        Ok(())
    }

    /// Removes a schedule.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSchedule`].
    pub fn remove_schedule(&mut self, name: &ScheduleName) -> Result<(), Refusal> {
        if !self.schedules.contains_key(name) {
            return Err(Refusal::NoSuchSchedule(name.clone()));
        }
        self.change(Row::Gone(Key::Schedule(name.clone())));
        Ok(())
    }

    /// Returns the schedules that are due.
    pub fn due_schedules(&self, now: Time) -> Vec<Schedule> {
        let is_due = |schedule: &&Schedule| {
            schedule.paused_at.is_none()
                && schedule.next_at.is_some_and(|at| at <= now)
                && schedule.retry_at.is_none_or(|at| at <= now)
        };
        self.schedules.values().filter(is_due).cloned().collect()
    }

    /// Notes the outcome of `due`, and sets the next time. The outcome is the time that got a run, which is later than `due` where times
    /// were missed, or the reason for which none did. A submission that failed is tried again after a wait that grows. A schedule that
    /// another worker moved on meanwhile, or that no longer exists, stays as it is.
    pub fn fired(
        &mut self,
        name: &ScheduleName,
        due: Time,
        next_at: Option<Time>,
        outcome: Result<Time, &str>,
        now: Time,
    ) {
        let Some(schedule) = self.schedules.get(name).filter(|schedule| schedule.next_at == Some(due)) else {
            return;
        };
        let schedule = match outcome {
            Ok(submitted) => Schedule {
                next_at,
                last_at: Some(submitted),
                note: None,
                failures: 0,
                retry_at: None,
                ..schedule.clone()
            },
            Err(reason) => {
                let failures = schedule.failures.saturating_add(1);
                let retry_at = Some(now.plus(backoff(failures, BACKOFF_MAX)));
                Schedule { next_at, note: Some(cut_reason(reason)), failures, retry_at, ..schedule.clone() }
            }
        };
        self.change(Row::Schedule(schedule));
    }

    /// Returns all schedules by name.
    pub fn schedules(&self) -> Vec<Schedule> {
        self.schedules.values().cloned().collect()
    }
}
