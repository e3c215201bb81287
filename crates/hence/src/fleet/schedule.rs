//! `hence queue schedule`: runs of a skill or a problem at the times of a cron expression.
//!
//! The document, its inputs and its capabilities are pinned when the schedule is made, in a run that is created and never driven: the
//! template. Each time gets a run of its own with the same documents, whose id follows from the schedule and the time.

use hence_fleet::{Cron, JobQueue, NewJob, Schedule, ScheduleName, Time, Zone};
use hence_store::{RunId, StoreHandle};
use serde::Deserialize;

use super::submit::enqueue;
use super::{queue_name, refused, time_text};
use crate::args::fleet::{QueueListArgs, QueueScheduleArgs, UnscheduleArgs};
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::target::Journal;
use crate::{clock, commands};

/// The document of a schedule.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    /// The run whose documents are used again.
    template: String,
    /// The priority of its runs.
    priority: i32,
}

/// The schedules of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SchedulesReport {
    /// The schedules by name.
    schedules: Vec<ScheduleRow>,
}

/// A schedule.
#[derive(Serialize, JsonSchema)]
struct ScheduleRow {
    /// The name.
    schedule: String,
    /// The cron expression.
    cron: String,
    /// The time zone.
    zone: String,
    /// The queue.
    queue: String,
    /// The run whose documents are used again.
    template: Option<String>,
    /// The next time.
    next_at: Option<String>,
    /// The last time that a run was submitted for.
    last_at: Option<String>,
    /// The reason for which the last submission failed; it is tried again.
    note: Option<String>,
    /// The time from which it is tried again.
    retry_at: Option<String>,
}

impl Text for SchedulesReport {
    fn text(&self) -> String {
        if self.schedules.is_empty() {
            return "no schedules\n".to_owned();
        }
        let head = ["SCHEDULE", "CRON", "ZONE", "QUEUE", "NEXT", "LAST", "NOTE"].map(str::to_owned);
        let row = |row: &ScheduleRow| {
            let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "-".to_owned());
            let note = row.note.as_deref().map(escape).unwrap_or_default();
            let names = [&row.schedule, &row.cron, &row.zone, &row.queue].map(|text| escape(text));
            let [schedule, cron, zone, queue] = names;
            [schedule, cron, zone, queue, time(&row.next_at), time(&row.last_at), note]
        };
        let rows: Vec<[String; 7]> = std::iter::once(head).chain(self.schedules.iter().map(row)).collect();
        table(&rows, &["LAST", "ZONE", "QUEUE"]).with_note()
    }
}

/// Makes or replaces a schedule.
pub(super) fn schedule(context: &Context, args: &QueueScheduleArgs) -> Result<Exit, CliError> {
    let wrong = |error: hence_fleet::CronError| CliError::from_error(Code::Schedule, error);
    let name = ScheduleName::new(&args.name).map_err(|error| CliError::from_error(Code::Schedule, error))?;
    let (cron, zone) = (Cron::parse(&args.cron).map_err(wrong)?, Zone::find(&args.zone).map_err(wrong)?);
    let queue_of = queue_name(&args.queue)?;
    let hand_over = |id: &RunId, _: std::collections::BTreeSet<std::sync::Arc<str>>| {
        let queue = context.place.queue()?;
        let journal = Journal::of_stored(context.store()?, id)?;
        if !matches!(journal.kind, hence_engine::RunKind::Skill | hence_engine::RunKind::Reason) {
            let message = format!("{}: only a skill or a problem can be scheduled", args.run.problem);
            return Err(CliError::new(Code::Schedule, message));
        }
        let payload = Payload { template: id.as_str().to_owned(), priority: args.priority };
        let payload =
            serde_json::to_string(&payload).map_err(|error| CliError::from_error(Code::Schedule, error))?;
        let next_at = cron.next(&zone, queue.now().map_err(refused)?);
        let schedule = Schedule {
            name: name.clone(),
            cron: args.cron.clone(),
            zone: args.zone.clone(),
            queue: queue_of.clone(),
            payload,
            next_at,
            last_at: None,
            paused_at: None,
            note: None,
            failures: 0,
            retry_at: None,
        };
        queue.put_schedule(&schedule).map_err(refused)?;
        show(context, &*queue)
    };
    commands::start_run(context, &args.run, Some(&hand_over))
}

/// Removes a schedule. Its template and the runs that it made stay.
pub(super) fn unschedule(context: &Context, args: &UnscheduleArgs) -> Result<Exit, CliError> {
    context.store()?;
    let queue = context.place.queue()?;
    let name = ScheduleName::new(&args.name).map_err(|error| CliError::from_error(Code::Schedule, error))?;
    queue.remove_schedule(&name).map_err(refused)?;
    show(context, &*queue)
}

/// Lists the schedules.
pub(super) fn schedules(context: &Context, _: &QueueListArgs) -> Result<Exit, CliError> {
    context.store()?;
    show(context, &*context.place.queue()?)
}

fn show(context: &Context, queue: &dyn JobQueue) -> Result<Exit, CliError> {
    let row = |schedule: &Schedule| ScheduleRow {
        schedule: schedule.name.to_string(),
        cron: schedule.cron.clone(),
        zone: schedule.zone.clone(),
        queue: schedule.queue.to_string(),
        template: serde_json::from_str::<Payload>(&schedule.payload).ok().map(|payload| payload.template),
        next_at: schedule.next_at.map(time_text),
        last_at: schedule.last_at.map(time_text),
        note: schedule.note.clone(),
        retry_at: schedule.retry_at.map(time_text),
    };
    let schedules = queue.schedules().map_err(refused)?.iter().map(row).collect();
    context.print(&SchedulesReport { schedules })?;
    Ok(Exit::Yes)
}

/// Creates and submits the run of a schedule for one of its times. Doing it again changes nothing.
pub(super) fn fire(
    context: &Context,
    store: &StoreHandle,
    schedule: &Schedule,
    due: Time,
) -> Result<(), CliError> {
    let unusable = |reason: String| {
        CliError::new(Code::Schedule, format!("schedule {} cannot be used: {reason}", schedule.name))
    };
    let payload: Payload =
        serde_json::from_str(&schedule.payload).map_err(|error| unusable(error.to_string()))?;
    let template = RunId::new(&payload.template).map_err(|error| unusable(error.to_string()))?;
    let instant = i64::try_from(due.millis()).ok().and_then(hence_canon::time::Instant::from_millis);
    let created_at =
        clock::second_of(instant.ok_or_else(|| unusable("its time is out of range".to_owned()))?)?;
    let id = RunId::new(&format!("{}-{}", schedule.name, created_at.as_str()))
        .map_err(|error| unusable(error.to_string()))?;
    let journal = Journal::of_stored(store.clone(), &template)?;
    // A schedule that came with somebody else's store starts nothing.
    if !journal.was_made_here()? {
        return Err(unusable(format!("run {template} was not made in this store")));
    }
    let job = NewJob { queue: schedule.queue.clone(), priority: payload.priority, ..NewJob::of(id.clone()) };
    let hand_over = |id: &RunId, callees: std::collections::BTreeSet<std::sync::Arc<str>>| {
        enqueue(&*context.place.queue()?, &job, id, &callees)?;
        Ok(Exit::Yes)
    };
    kind::open(&journal, &[], Purpose::Read)?
        .start_like(context, &journal, &id, &created_at, &hand_over)
        .map(|_| ())
}
