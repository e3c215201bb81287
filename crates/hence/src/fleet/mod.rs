//! The queue and the workers of a store, on the command line.
//!
//! The queue names runs and has no truth about them: `hence submit` creates a run as `hence run` does and enqueues it, and a worker
//! does what `hence resume` does. The rules are in `hence_fleet`.

mod cancel;
mod metrics;
mod observer;
mod overview;
mod queue_command;
mod runner;
mod schedule;
mod submit;
mod telemetry;
mod worker;

use hence_fleet::{Job, JobQueue, JobState, QueueError, QueueName, Refusal, Time, Wait};
use hence_store::RunId;

use crate::prelude::*;

pub(crate) use cancel::{CancelReport, cancel};
pub(crate) use overview::{FleetReport, fleet};
pub(crate) use queue_command::QueueCommand;
pub(crate) use submit::{SubmitReport, submit};
pub(crate) use telemetry::Collector;
pub(crate) use worker::{WorkerReport, worker};

/// The states of a job, as people name them.
pub(crate) const JOB_STATES: [&str; 7] =
    ["ready", "claimed", "parked", "ended", "dead", "quarantined", "cancelled"];

/// A job as it is reported.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobRow {
    /// The run.
    run: String,
    /// The queue.
    queue: String,
    /// `ready`, `claimed`, `parked`, `ended`, `dead`, `quarantined` or `cancelled`.
    state: &'static str,
    /// The state in a sentence.
    says: String,
    /// The priority: a higher one is claimed first.
    priority: i32,
    /// The group whose limit it obeys.
    group: Option<String>,
    /// The time of the submission.
    submitted_at: String,
    /// The time from which it can be claimed: the due time of a timer, of a retry, or of the next look at a parked run.
    due_at: Option<String>,
    /// The worker that drives it.
    worker: Option<String>,
    /// The end of the worker's lease, unless it is renewed.
    lease_until: Option<String>,
    /// The drives that stopped with an error since the submission.
    failures: u32,
    /// The workers that died while they drove it since the submission.
    crashes: u32,
    /// The reason of the last failure, crash or refusal.
    note: Option<String>,
    /// The workers that cannot drive it, each with the reason.
    declined: Vec<String>,
    /// The time since which its queue is paused, where that holds it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_since: Option<String>,
    /// The command that resumes a paused queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_queue: Option<String>,
}

impl JobRow {
    /// Describes a job.
    pub(crate) fn of(job: &Job) -> Self {
        let claim = job.claim();
        Self {
            run: job.run.as_str().to_owned(),
            queue: job.queue.to_string(),
            state: job.state.word(),
            says: says(job),
            priority: job.priority,
            group: job.group.as_ref().map(ToString::to_string),
            submitted_at: time_text(job.submitted_at),
            due_at: job.due_at().map(time_text),
            worker: claim.map(|claim| claim.worker.name.to_string()),
            lease_until: claim.map(|claim| time_text(claim.until)),
            failures: job.failures,
            crashes: job.crashes,
            note: job.note.clone(),
            declined: job.declined.values().map(|no| format!("{}: {}", no.worker, no.reason)).collect(),
            paused_since: None,
            resume_queue: None,
        }
    }

    /// Returns whether a worker will drive the run without anybody doing more.
    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.state, "ready" | "claimed" | "parked")
    }

    /// Describes a job, and says whether its queue is paused.
    ///
    /// # Errors
    /// [`CliError`] when the queue cannot be read.
    pub(crate) fn in_queue(context: &Context, queue: &dyn JobQueue, job: &Job) -> Result<Self, CliError> {
        let mut row = Self::of(job);
        if matches!(job.state, JobState::Ready { .. } | JobState::Parked { .. })
            && let Some(since) = queue.paused_since(&job.queue).map_err(refused)?
        {
            row.paused_since = Some(time_text(since));
            row.resume_queue = Some(hint::command(context, &["queue", "resume", job.queue.as_str()]));
        }
        Ok(row)
    }

    /// Returns the rows of a text.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows =
            vec![("queue", format!("{}, {}: {}", escape(&self.queue), self.state, escape(&self.says)))];
        if let (Some(since), Some(resume)) = (&self.paused_since, &self.resume_queue) {
            let queue = escape(&self.queue);
            rows.push((
                "paused",
                format!("no run of queue {queue} begins since {since}: {}", escape(resume)),
            ));
        }
        rows.extend(self.note.iter().map(|note| ("note", escape(note))));
        rows.extend(self.declined.iter().map(|no| ("declined", escape(no))));
        rows
    }
}

/// Describes the state of a job in a sentence.
fn says(job: &Job) -> String {
    let counts = match (job.failures, job.crashes) {
        (0, 0) => String::new(),
        (failures, 0) => format!(" after {}", counted(failures.into(), "failure")),
        (0, crashes) => format!(
            " after {}",
            counted(crashes.into(), "crash of its worker")
                .replace("crash of its workers", "crashes of its workers")
        ),
        (failures, crashes) => {
            format!(" after {} and {crashes} crashed workers", counted(failures.into(), "failure"))
        }
    };
    match &job.state {
        JobState::Ready { at } => format!("it can be claimed from {}{counts}", time_text(*at)),
        JobState::Claimed(claim) => {
            let asked = if job.cancel_wanted { ", and is asked to stop" } else { "" };
            format!("worker {} drives it, lease until {}{asked}", claim.worker.name, time_text(claim.until))
        }
        JobState::Parked { wait: Wait::Person(place), .. } => format!("it waits for a person: {place}"),
        JobState::Parked { wait: Wait::Until(at), .. } => format!("it waits until {}", time_text(*at)),
        JobState::Parked { wait: Wait::Children(runs), .. } => {
            format!("it waits for {}", counted(u64::try_from(runs.len()).unwrap_or(u64::MAX), "run"))
        }
        JobState::Ended { status, at } => format!("its run is {status}, since {}", time_text(*at)),
        JobState::Dead { at } => format!("nobody drives it since {}{counts}", time_text(*at)),
        JobState::Quarantined { at } => {
            format!("it may kill its worker; nobody drives it since {}{counts}", time_text(*at))
        }
        JobState::Cancelled { at } => format!("somebody cancelled it at {}", time_text(*at)),
    }
}

/// Returns an instant in the spelling of reports.
pub(crate) fn time_text(time: Time) -> String {
    let millis = i64::try_from(time.millis()).ok();
    let instant = millis.and_then(hence_canon::time::Instant::from_millis);
    instant.map_or_else(|| "never".to_owned(), hence_canon::time::Instant::to_millis_text)
}

/// Returns the job of a run; `None` when it is in no queue.
///
/// # Errors
/// [`CliError`] when the queue cannot be read.
pub(crate) fn job_of(context: &Context, run: &RunId) -> Result<Option<JobRow>, CliError> {
    let queue = context.place.queue()?;
    let job = queue.job(run).map_err(refused)?;
    job.map(|job| JobRow::in_queue(context, &*queue, &job)).transpose()
}

/// Wakes the job of a run: what the run waits for may have happened. A run that is in no queue needs nothing.
pub(crate) fn wake(context: &Context, run: &RunId) {
    let woken = || -> Result<(), CliError> {
        let queue = context.place.queue()?;
        match queue.job(run).map_err(refused)? {
            Some(job) if !job.is_settled() => queue.wake(run).map(drop).map_err(refused),
            _ => Ok(()),
        }
    };
    if let Err(error) = woken() {
        // The answer is stored, and a worker looks at parked runs now and then.
        context.say(format_args!("run {run}: a worker is not told at once: {error}"));
    }
}

/// Says what somebody should know about the queue, such as an unfinished change that was cut off.
fn say_remarks(context: &Context, queue: &dyn JobQueue) {
    for remark in queue.take_remarks() {
        context.say(remark);
    }
}

/// Reads the name of a queue.
fn queue_name(text: &str) -> Result<QueueName, CliError> {
    QueueName::new(text).map_err(|error| CliError::from_error(Code::NoSuchQueue, error))
}

/// Turns an error of the queue into one that names the next thing to do.
pub(crate) fn refused(error: QueueError) -> CliError {
    let code = match &error {
        QueueError::Refused(Refusal::NoSuchQueue { .. }) => Code::NoSuchQueue,
        QueueError::Refused(Refusal::NameTaken { .. }) => Code::WorkerName,
        QueueError::Refused(_) => Code::QueueRefused,
        _ => Code::QueueUnusable,
    };
    CliError::from_error(code, error)
}

/// The queue of a store.
pub(crate) type Queue = Box<dyn JobQueue>;
