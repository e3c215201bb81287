//! `hence submit`: creates a run as `hence run` does, and leaves driving it to a worker.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_fleet::{CAPABILITIES_MAX, CapabilityName, GroupName, NewJob, QueueName, SubmitReply, Time};
use hence_store::RunId;

use super::{JobRow, queue_name, refused, say_remarks};
use crate::args::fleet::{SubmitArgs, SubmitPlace};
use crate::prelude::*;
use crate::{clock, commands};

/// A run that was submitted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SubmitReport {
    /// The run.
    pub(super) run: String,
    /// `queued`, `queued_again` (it was dead, quarantined or cancelled), `already_queued` or `already_ended`.
    outcome: &'static str,
    /// The job.
    job: JobRow,
    /// The commands to continue with.
    next: Vec<String>,
}

impl Text for SubmitReport {
    fn text(&self) -> String {
        let outcome = self.outcome.replace('_', " ");
        let mut rows = vec![("run", escape(&self.run)), ("submitted", outcome)];
        rows.extend(self.job.rows());
        rows.extend(self.next.iter().map(|command| ("next", escape(command))));
        pairs(&rows)
    }
}

/// Runs the command.
pub(crate) fn submit(context: &Context, args: &SubmitArgs) -> Result<Exit, CliError> {
    let unused = [
        ("--journal", args.run.journal.is_some()),
        ("--deadline", args.run.skill.deadline.deadline.is_some()),
    ];
    if let Some((option, _)) = unused.into_iter().find(|(_, given)| *given) {
        let message = format!("{option} is about a run that is driven here, and a submitted one is not");
        return Err(CliError::new(Code::Argument, message).with_hint(hint::queue::NOT_SUBMITTED));
    }
    // Everything about the queue is checked before the run is created.
    let job = template(&args.place)?;
    let queue = context.place.queue()?;
    check_queue(&*queue, &job.queue)?;
    let mut run = args.run.clone();
    if let Some(key) = &args.key {
        if key.trim().is_empty() {
            let message = format!("--key is the name of one order or event, found {key:?}");
            return Err(CliError::new(Code::Refused, message).with_hint(hint::queue::GIVE_KEY));
        }
        run.run_id = Some(format!("key-{key}"));
    }
    let hand_over = |id: &RunId, callees: BTreeSet<Arc<str>>| {
        let queue = context.place.queue()?;
        let reply = enqueue(&*queue, &job, id, &callees)?;
        say_remarks(context, &*queue);
        context.print(&report(context, &*queue, id, &reply)?)?;
        Ok(Exit::Yes)
    };
    commands::start_run(context, &run, Some(&hand_over))
}

/// Enqueues a run that exists.
pub(super) fn enqueue(
    queue: &dyn hence_fleet::JobQueue,
    job: &NewJob,
    run: &RunId,
    callees: &BTreeSet<Arc<str>>,
) -> Result<SubmitReply, CliError> {
    // A name that is too long for a limit cannot have one.
    let capabilities =
        callees.iter().filter_map(|id| CapabilityName::new(id).ok()).take(CAPABILITIES_MAX).collect();
    queue.submit(&NewJob { run: run.clone(), capabilities, ..job.clone() }).map_err(refused)
}

/// Refuses a queue that does not exist.
pub(super) fn check_queue(queue: &dyn hence_fleet::JobQueue, name: &QueueName) -> Result<(), CliError> {
    if queue.has_queue(name).map_err(refused)? {
        return Ok(());
    }
    let queues = queue.queues().map_err(refused)?;
    let known: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
    let meant = hence_canon::did_you_mean(name.as_str(), known.iter().copied());
    let message = format!("there is no queue {name}{meant}; the queues are {}", known.join(", "));
    Err(CliError::new(Code::NoSuchQueue, message))
}

/// Reads the place of a job; its run is filled in when it exists.
fn template(place: &SubmitPlace) -> Result<NewJob, CliError> {
    let nobody = RunId::new("?").map_err(|error| CliError::from_error(Code::Refused, error))?;
    let group = place.group.as_deref().map(GroupName::new).transpose();
    Ok(NewJob {
        queue: queue_name(&place.queue)?,
        priority: place.priority,
        not_before: place.at.as_deref().map(later).transpose()?,
        group: group.map_err(|error| CliError::from_error(Code::QueueRefused, error))?,
        ..NewJob::of(nobody)
    })
}

/// Reads a time that is to come.
fn later(text: &str) -> Result<Time, CliError> {
    let instant = clock::later(text)?;
    let millis = u64::try_from(instant.as_millis()).unwrap_or_default();
    Ok(Time::from_millis(millis))
}

fn report(
    context: &Context,
    queue: &dyn hence_fleet::JobQueue,
    run: &RunId,
    reply: &SubmitReply,
) -> Result<SubmitReport, CliError> {
    let outcome = match reply {
        SubmitReply::Queued(_) => "queued",
        SubmitReply::QueuedAgain(_) => "queued_again",
        SubmitReply::AlreadyQueued(_) => "already_queued",
        SubmitReply::AlreadyEnded(_) => "already_ended",
    };
    let next = match reply {
        SubmitReply::AlreadyEnded(_) => vec![hint::command(context, &["why", run.as_str()])],
        _ => vec![hint::queue::start_worker(context), hint::command(context, &["why", run.as_str()])],
    };
    let job = JobRow::in_queue(context, queue, reply.job())?;
    Ok(SubmitReport { run: run.as_str().to_owned(), outcome, job, next })
}
