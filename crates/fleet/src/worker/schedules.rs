//! Schedules that are due: their runs are submitted by whichever worker looks first.

use crate::cron::{Cron, Zone};
use crate::error::QueueError;
use crate::names::Time;
use crate::queue::JobQueue;
use crate::rows::Schedule;

/// The most missed times that are skipped one by one: two months of an expression that fires each minute.
const MISSED_MAX: u32 = 100_000;

/// Fires the schedules that are due: the last of the times that have passed, once; the ones before it are skipped.
///
/// A run's id follows from the name and the time, so two workers that fire the same schedule submit the same run, and a worker that
/// dies after the submission leaves it to be repeated without effect.
pub(super) fn fire_due(
    queue: &dyn JobQueue,
    mut submit: impl FnMut(&Schedule, Time) -> Result<(), String>,
) -> Result<(), QueueError> {
    for schedule in queue.due_schedules()? {
        let Some(stored) = schedule.next_at else { continue };
        let fired = match times(&schedule, stored, queue.now()?) {
            Ok((due, next)) => submit(&schedule, due).map(|()| (due, next)),
            Err(reason) => Err(reason),
        };
        match fired {
            Ok((due, next)) => queue.fired(&schedule.name, stored, next, Ok(due))?,
            // The same time is tried again, until a person changes the schedule or its cause.
            Err(reason) => queue.fired(&schedule.name, stored, Some(stored), Err(&reason))?,
        }
    }
    Ok(())
}

/// Returns the last time that has passed and the one after it.
fn times(schedule: &Schedule, stored: Time, now: Time) -> Result<(Time, Option<Time>), String> {
    let cron = Cron::parse(&schedule.cron).map_err(|error| error.to_string())?;
    let zone = Zone::find(&schedule.zone).map_err(|error| error.to_string())?;
    let mut due = stored;
    for _ in 0..MISSED_MAX {
        match cron.next(&zone, due) {
            Some(next) if next <= now => due = next,
            next => return Ok((due, next)),
        }
    }
    // The schedule slept for longer than that: it starts from now.
    Ok((due, cron.next(&zone, now)))
}
