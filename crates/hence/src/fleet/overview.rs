//! `hence fleet`: queues, lags, workers, leases, and runs that are stuck, with the reason and the command.

use std::collections::BTreeMap;

use hence_fleet::{
    Job, JobFilter, JobKind, JobQueue, JobState, QueueReport, Schedule, Time, Wait, WorkerName, WorkerRow,
};

use super::observer::kind_word;
use super::{refused, time_text};
use crate::args::fleet::FleetArgs;
use crate::prelude::*;

/// The state of queues and workers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetReport {
    /// The queues.
    pub(super) queues: Vec<QueueRow>,
    /// The workers that are alive, and those that died in the last hour.
    workers: Vec<FleetWorker>,
    /// The runs that need somebody.
    stuck: Vec<StuckRow>,
    /// Whether there are more such runs than were asked for.
    more_stuck: bool,
    /// The schedules whose last submission failed.
    failing_schedules: Vec<FailingSchedule>,
}

/// A schedule whose last submission failed.
#[derive(Serialize, JsonSchema)]
struct FailingSchedule {
    /// The name.
    schedule: String,
    /// The reason.
    reason: String,
    /// The submissions that failed one after the other.
    failures: u32,
    /// The time from which it is tried again.
    retry_at: Option<String>,
    /// The command that shows the schedule.
    command: String,
}

/// A queue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueueRow {
    /// The name.
    pub(super) queue: String,
    /// The time since which it is paused.
    paused_since: Option<String>,
    /// The numbers of jobs by state.
    jobs: BTreeMap<&'static str, u64>,
    /// The milliseconds for which the longest waiting job could be claimed.
    lag_ms: u64,
    /// The most runs that are driven at the same time.
    concurrency: Option<u32>,
    /// The least milliseconds between two starts.
    spacing_ms: Option<u64>,
    /// The most runs of each group that are driven at the same time.
    group_concurrency: Option<u32>,
    /// The least milliseconds between two starts of each group.
    group_spacing_ms: Option<u64>,
}

/// A worker.
#[derive(Serialize, JsonSchema)]
struct FleetWorker {
    /// The name.
    worker: String,
    /// `alive`, `draining` or `dead`.
    state: &'static str,
    /// The process.
    about: String,
    /// The queues that it serves; all if there are none.
    queues: Vec<String>,
    /// The most runs that it drives at the same time.
    concurrency: u32,
    /// The runs that it drives.
    runs: Vec<String>,
    /// The time of its registration.
    since: String,
    /// The end of its lease, unless it renews it.
    lease_until: String,
}

/// A run that needs somebody.
#[derive(Serialize, JsonSchema)]
struct StuckRow {
    /// The run.
    run: String,
    /// The state of its job.
    state: &'static str,
    /// The reason.
    reason: String,
    /// The command that helps.
    command: String,
}

impl Text for FleetReport {
    fn text(&self) -> String {
        let mut text = queues_text(&self.queues);
        if self.workers.is_empty() {
            text.push_str("\nno workers\n");
        } else {
            let head = ["WORKER", "STATE", "RUNS", "LEASE UNTIL", "ABOUT"].map(str::to_owned);
            let row = |worker: &FleetWorker| {
                let runs = format!("{} of {}", worker.runs.len(), worker.concurrency);
                let (name, about) = (escape(&worker.worker), escape(&worker.about));
                [name, worker.state.to_owned(), runs, worker.lease_until.clone(), about]
            };
            let rows: Vec<[String; 5]> = std::iter::once(head).chain(self.workers.iter().map(row)).collect();
            text.push_str(&format!("\n{}", table(&rows, &["LEASE UNTIL"]).with_note()));
        }
        if !self.stuck.is_empty() {
            let head = ["RUN", "STATE", "REASON", "NEXT"].map(str::to_owned);
            let row = |stuck: &StuckRow| {
                let (run, reason) = (escape(&stuck.run), one_line(&stuck.reason, REASON_CHARACTERS_MAX));
                [run, stuck.state.to_owned(), reason, escape(&stuck.command)]
            };
            let rows: Vec<[String; 4]> = std::iter::once(head).chain(self.stuck.iter().map(row)).collect();
            text.push_str(&format!("\n{}", columns(&rows)));
            if self.more_stuck {
                text.push_str("… and more; --limit shows them\n");
            }
        }
        if !self.failing_schedules.is_empty() {
            let head = ["SCHEDULE", "FAILED", "REASON", "NEXT"].map(str::to_owned);
            let row = |failing: &FailingSchedule| {
                let reason = one_line(&failing.reason, REASON_CHARACTERS_MAX);
                let failed = format!("{} times", failing.failures);
                [escape(&failing.schedule), failed, reason, escape(&failing.command)]
            };
            let rows: Vec<[String; 4]> =
                std::iter::once(head).chain(self.failing_schedules.iter().map(row)).collect();
            text.push_str(&format!("\n{}", columns(&rows)));
        }
        text
    }
}

/// The longest reason in a table.
const REASON_CHARACTERS_MAX: usize = 60;

/// Lays out queues.
pub(super) fn queues_text(queues: &[QueueRow]) -> String {
    let head = ["QUEUE", "READY", "CLAIMED", "PARKED", "STUCK", "LAG", "LIMITS"].map(str::to_owned);
    let row = |queue: &QueueRow| {
        let count = |word: &str| queue.jobs.get(word).copied().unwrap_or_default();
        let stuck = count("dead") + count("quarantined");
        let lag = format!("{}.{} s", queue.lag_ms / 1000, queue.lag_ms % 1000 / 100);
        let counts =
            [count("ready"), count("claimed"), count("parked"), stuck].map(|count| count.to_string());
        let [ready, claimed, parked, stuck] = counts;
        [escape(&queue.queue), ready, claimed, parked, stuck, lag, limits_text(queue)]
    };
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(queues.iter().map(row)).collect();
    columns(&rows)
}

fn limits_text(queue: &QueueRow) -> String {
    let seconds = |millis: u64| format!("{}.{:03} s", millis / 1000, millis % 1000);
    let mut words = Vec::new();
    words.extend(queue.paused_since.as_ref().map(|since| format!("paused since {since}")));
    words.extend(queue.concurrency.map(|most| format!("{most} at a time")));
    words.extend(queue.spacing_ms.map(|spacing| format!("starts {} apart", seconds(spacing))));
    words.extend(queue.group_concurrency.map(|most| format!("{most} of each group at a time")));
    words.extend(
        queue.group_spacing_ms.map(|spacing| format!("starts of each group {} apart", seconds(spacing))),
    );
    words.join(", ")
}

/// Runs the command.
pub(crate) fn fleet(context: &Context, args: &FleetArgs) -> Result<Exit, CliError> {
    context.store()?;
    let queue = context.place.queue()?;
    if let Some(name) = &args.drain {
        let name = WorkerName::new(name).map_err(|error| CliError::from_error(Code::WorkerName, error))?;
        queue.drain(&name).map_err(refused)?;
        context.say(format_args!("worker {name} ends as soon as its runs are at a safe point"));
    }
    context.print(&look(context, &*queue, args.limit).map_err(refused)?)?;
    Ok(Exit::Yes)
}

fn look(
    context: &Context,
    queue: &dyn JobQueue,
    limit: usize,
) -> Result<FleetReport, hence_fleet::QueueError> {
    let now = queue.now()?;
    let claimed = all_jobs(queue, JobKind::Claimed)?;
    let workers = queue.workers()?.iter().map(|row| worker_row(row, &claimed, now)).collect();
    let mut stuck: Vec<StuckRow> = Vec::new();
    for kind in [JobKind::Quarantined, JobKind::Dead, JobKind::Parked, JobKind::Ready] {
        stuck.extend(all_jobs(queue, kind)?.iter().filter_map(|job| stuck_row(context, job)));
    }
    let more_stuck = stuck.len() > limit;
    stuck.truncate(limit);
    let failing = |schedule: &Schedule| {
        let reason = schedule.note.clone()?;
        let command = hint::command(context, &["queue", "schedules"]);
        let retry_at = schedule.retry_at.map(time_text);
        let (schedule, failures) = (schedule.name.to_string(), schedule.failures);
        Some(FailingSchedule { schedule, reason, failures, retry_at, command })
    };
    let failing_schedules = queue.schedules()?.iter().filter_map(failing).collect();
    let queues = queue_rows(&queue.queues()?, now);
    Ok(FleetReport { queues, workers, stuck, more_stuck, failing_schedules })
}

/// Describes queues.
pub(super) fn queue_rows(queues: &[QueueReport], now: Time) -> Vec<QueueRow> {
    let row = |queue: &QueueReport| QueueRow {
        queue: queue.name.to_string(),
        paused_since: queue.paused_at.map(time_text),
        jobs: queue.jobs.iter().map(|(kind, count)| (kind_word(*kind), *count)).collect(),
        lag_ms: queue.ready_since.map(|since| now.since(since).get()).unwrap_or_default(),
        concurrency: queue.limit.concurrency,
        spacing_ms: queue.limit.spacing.map(hence_fleet::Millis::get),
        group_concurrency: queue.group_limit.concurrency,
        group_spacing_ms: queue.group_limit.spacing.map(hence_fleet::Millis::get),
    };
    queues.iter().map(row).collect()
}

/// Returns the first page of the jobs in a state: a report for people is not longer.
fn all_jobs(queue: &dyn JobQueue, kind: JobKind) -> Result<Vec<Job>, hence_fleet::QueueError> {
    queue.jobs(&JobFilter { kinds: [kind].into(), limit: hence_fleet::PAGE_MAX, ..JobFilter::default() })
}

fn worker_row(row: &WorkerRow, claimed: &[Job], now: Time) -> FleetWorker {
    let is_its = |job: &&Job| job.claim().is_some_and(|claim| claim.worker == row.id);
    FleetWorker {
        worker: row.id.name.to_string(),
        state: match (row.until > now, row.drain_wanted) {
            (false, _) => "dead",
            (true, true) => "draining",
            (true, false) => "alive",
        },
        about: row.about.clone(),
        queues: row.queues.iter().map(ToString::to_string).collect(),
        concurrency: row.concurrency,
        runs: claimed.iter().filter(is_its).map(|job| job.run.as_str().to_owned()).collect(),
        since: time_text(row.since),
        lease_until: time_text(row.until),
    }
}

/// Describes a run that needs somebody; `None` for one that continues by itself.
fn stuck_row(context: &Context, job: &Job) -> Option<StuckRow> {
    let run = job.run.as_str();
    let command = |words: &[&str]| hint::command(context, words);
    let note = || job.note.clone().unwrap_or_default();
    let (reason, command) = match &job.state {
        JobState::Quarantined { .. } => (note(), command(&["why", run])),
        JobState::Dead { .. } => (note(), command(&["why", run])),
        JobState::Parked { wait: Wait::Person(place), .. } => {
            (format!("waits for a person: {place}"), command(&["why", run]))
        }
        JobState::Ready { .. } if !job.declined.is_empty() => {
            let reasons: Vec<String> =
                job.declined.values().map(|no| format!("{}: {}", no.worker, no.reason)).collect();
            (reasons.join("; "), command(&["why", run]))
        }
        _ => return None,
    };
    Some(StuckRow { run: run.to_owned(), state: job.state.word(), reason, command })
}
