//! `hence queue`: the queues of a store, their jobs, pauses and limits.

use hence_fleet::{CapabilityName, JobFilter, JobKind, Limit, LimitScope, Millis};

use super::observer::kind_word;
use super::overview::{QueueRow, queue_rows, queues_text};
use super::submit::check_queue;
use super::{JobRow, Queue, queue_name, refused, say_remarks, schedule};
use crate::args::fleet::{
    QueueJobsArgs, QueueLimitArgs, QueueListArgs, QueueNameArgs, QueueScheduleArgs, UnscheduleArgs,
};
use crate::commands::commands;
use crate::prelude::*;

commands! { QueueCommand {
    /// List the queues with their jobs, lags and limits
    #[command(after_help = "Example: hence queue list")]
    List(QueueListArgs) => list, "queue-list": QueueListReport;
    /// List jobs
    Jobs(QueueJobsArgs) => jobs, "queue-jobs": QueueJobsReport;
    /// Make a queue
    #[command(after_help = "Example: hence queue add night")]
    Add(QueueNameArgs) => add;
    /// Remove a queue that nothing uses
    #[command(after_help = "Example: hence queue remove night")]
    Remove(QueueNameArgs) => remove;
    /// Let no more runs of a queue begin; those that are driven continue
    #[command(after_help = "Example: hence queue pause night")]
    Pause(QueueNameArgs) => pause;
    /// Let runs of a paused queue begin again
    #[command(after_help = "Example: hence queue resume night")]
    Resume(QueueNameArgs) => resume;
    /// Limit how many runs are driven at the same time, or how fast they begin
    Limit(QueueLimitArgs) => limit;
    /// Submit runs of a skill at the times of a cron expression; the skill and its inputs are pinned now
    Schedule(QueueScheduleArgs) => schedule::schedule, "queue-schedules": schedule::SchedulesReport;
    /// Remove a schedule; the runs that it made stay
    #[command(after_help = "Example: hence queue unschedule nightly")]
    Unschedule(UnscheduleArgs) => schedule::unschedule;
    /// List the schedules
    #[command(after_help = "Example: hence queue schedules")]
    Schedules(QueueListArgs) => schedule::schedules;
    /// Make the queue usable after the store was put back to a backup: every claim ends, every worker registers again
    #[command(after_help = "Example: hence queue restored")]
    Restored(QueueListArgs) => restored;
} }

/// The queues of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueueListReport {
    /// The queues.
    queues: Vec<QueueRow>,
    /// The limits of capabilities.
    capabilities: Vec<CapabilityLimit>,
}

/// The limit of a capability.
#[derive(Serialize, JsonSchema)]
struct CapabilityLimit {
    /// The capability.
    capability: String,
    /// The most runs that may call it and are driven at the same time.
    concurrency: Option<u32>,
    /// The least milliseconds between two starts of such runs.
    spacing_ms: Option<u64>,
}

impl Text for QueueListReport {
    fn text(&self) -> String {
        let mut text = queues_text(&self.queues);
        for limit in &self.capabilities {
            let most = limit.concurrency.map(|most| format!(", {most} at a time")).unwrap_or_default();
            let spacing =
                limit.spacing_ms.map(|spacing| format!(", starts {spacing} ms apart")).unwrap_or_default();
            text.push_str(&format!("capability {}{most}{spacing}\n", escape(&limit.capability)));
        }
        text
    }
}

/// The jobs of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueueJobsReport {
    /// The jobs in the order of their runs.
    jobs: Vec<JobRow>,
}

impl Text for QueueJobsReport {
    fn text(&self) -> String {
        if self.jobs.is_empty() {
            return "no jobs\n".to_owned();
        }
        let head = ["RUN", "QUEUE", "PRIORITY", "STATE", "SAYS"].map(str::to_owned);
        let row = |job: &JobRow| {
            let (run, queue) = (escape(&job.run), escape(&job.queue));
            [run, queue, job.priority.to_string(), job.state.to_owned(), escape(&job.says)]
        };
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(self.jobs.iter().map(row)).collect();
        table(&rows, &["PRIORITY", "QUEUE"]).with_note()
    }
}

/// Opens the queue of a store, which must exist.
fn open(context: &Context) -> Result<Queue, CliError> {
    context.store()?;
    Ok(context.place.queue()?)
}

/// Prints the queues as they are now.
fn show(context: &Context, queue: &Queue) -> Result<Exit, CliError> {
    say_remarks(context, &**queue);
    let (queues, now) = (queue.queues().map_err(refused)?, queue.now().map_err(refused)?);
    let limit = |(capability, limit): (CapabilityName, Limit)| CapabilityLimit {
        capability: capability.to_string(),
        concurrency: limit.concurrency,
        spacing_ms: limit.spacing.map(Millis::get),
    };
    let capabilities = queue.capability_limits().map_err(refused)?.into_iter().map(limit).collect();
    context.print(&QueueListReport { queues: queue_rows(&queues, now), capabilities })?;
    Ok(Exit::Yes)
}

fn list(context: &Context, _: &QueueListArgs) -> Result<Exit, CliError> {
    show(context, &open(context)?)
}

fn jobs(context: &Context, args: &QueueJobsArgs) -> Result<Exit, CliError> {
    let queue = open(context)?;
    let kinds = [
        JobKind::Ready,
        JobKind::Claimed,
        JobKind::Parked,
        JobKind::Ended,
        JobKind::Dead,
        JobKind::Quarantined,
        JobKind::Cancelled,
    ];
    let kinds =
        kinds.into_iter().filter(|kind| args.state.iter().any(|word| word == kind_word(*kind))).collect();
    let of = args.queue.as_deref().map(queue_name).transpose()?;
    if let Some(name) = &of {
        check_queue(&*queue, name)?;
    }
    let mut found = Vec::new();
    let mut filter = JobFilter { queue: of, kinds, after: None, limit: args.limit };
    // A page has a limit of its own.
    while filter.limit > 0 {
        let page = queue.jobs(&filter).map_err(refused)?;
        let Some(last) = page.last() else { break };
        filter.after = Some(last.run.clone());
        filter.limit = filter.limit.saturating_sub(page.len());
        found.extend(page.iter().map(JobRow::of));
    }
    context.print_paged(&QueueJobsReport { jobs: found })?;
    Ok(Exit::Yes)
}

fn add(context: &Context, args: &QueueNameArgs) -> Result<Exit, CliError> {
    context.store_or_new()?;
    let queue = context.place.queue()?;
    queue.add_queue(&queue_name(&args.queue)?).map_err(refused)?;
    show(context, &queue)
}

fn remove(context: &Context, args: &QueueNameArgs) -> Result<Exit, CliError> {
    let queue = open(context)?;
    queue.remove_queue(&queue_name(&args.queue)?).map_err(refused)?;
    show(context, &queue)
}

fn pause(context: &Context, args: &QueueNameArgs) -> Result<Exit, CliError> {
    let queue = open(context)?;
    queue.pause(&queue_name(&args.queue)?).map_err(refused)?;
    show(context, &queue)
}

fn resume(context: &Context, args: &QueueNameArgs) -> Result<Exit, CliError> {
    let queue = open(context)?;
    queue.resume(&queue_name(&args.queue)?).map_err(refused)?;
    show(context, &queue)
}

fn restored(context: &Context, _: &QueueListArgs) -> Result<Exit, CliError> {
    let queue = open(context)?;
    queue.restored().map_err(refused)?;
    show(context, &queue)
}

fn limit(context: &Context, args: &QueueLimitArgs) -> Result<Exit, CliError> {
    let queue = open(context)?;
    let scope = match (&args.queue, &args.capability) {
        (_, Some(capability)) => {
            let name = CapabilityName::new(capability);
            LimitScope::Capability(name.map_err(|error| CliError::from_error(Code::QueueRefused, error))?)
        }
        (Some(name), None) if args.each_group => LimitScope::GroupsOf(queue_name(name)?),
        (Some(name), None) => LimitScope::Queue(queue_name(name)?),
        (None, None) => return Err(CliError::new(Code::NoSuchQueue, "expected a queue or --capability")),
    };
    let limit =
        Limit { concurrency: args.concurrency, spacing: args.rate.as_deref().map(spacing).transpose()? };
    queue.set_limit(&scope, limit).map_err(refused)?;
    show(context, &queue)
}

/// Reads a rate as the time between two starts, rounded up.
fn spacing(text: &str) -> Result<Millis, CliError> {
    let wrong = || {
        let message = format!("expected a rate as 10/1s, 100/1m or 5/1h, found {text:?}");
        CliError::new(Code::QueueRefused, message).with_hint(hint::queue::GIVE_RATE)
    };
    let (count, time) = text.split_once('/').ok_or_else(wrong)?;
    let count: u64 = count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
    let unit = time.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 =
        time.trim_end_matches(unit).parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let millis =
        number.checked_mul(seconds).and_then(|seconds| seconds.checked_mul(1000)).ok_or_else(wrong)?;
    Ok(Millis::new(millis.div_ceil(count)))
}

#[cfg(test)]
mod tests {
    use super::spacing;

    #[test]
    fn a_rate_is_a_time_between_starts() {
        let millis = |text: &str| spacing(text).map(hence_fleet::Millis::get).ok();
        assert_eq!(millis("10/1s"), Some(100));
        assert_eq!(millis("100/1m"), Some(600));
        assert_eq!(millis("7/1s"), Some(143), "never more than asked for");
        for wrong in ["10", "0/1s", "10/0s", "10/1", "x/1s", "10/1w", "10/-1s", ""] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }
}
