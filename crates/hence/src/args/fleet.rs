//! The arguments of the queue and of workers.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::{RunArgs, RunRef};
use crate::fleet::Collector;

#[derive(ClapArgs)]
#[command(after_help = "Example: hence submit refund.yaml --input order=4711 --key order-4711\n\n\
    The run is created as `hence run` creates it, and a worker drives it. Submitting again with the same --key or --run-id changes nothing, \
    so a command whose answer was lost can be repeated.")]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) place: SubmitPlace,
    /// A text that names this submission for ever: its run has the id key-TEXT
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["run_id", "fresh"])]
    pub(crate) key: Option<String>,
}

/// The place of a job in the queues.
#[derive(ClapArgs)]
#[command(next_help_heading = "Options for the queue")]
pub(crate) struct SubmitPlace {
    /// The queue
    #[arg(long, value_name = "QUEUE", default_value = hence_fleet::DEFAULT_QUEUE)]
    pub(crate) queue: String,
    /// The priority: a higher one is claimed first
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: i32,
    /// Claim it from this time on, as 2026-02-09T10:00:00Z, or after 90s, 30m, 12h, 7d or 4w
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// The group whose limit it obeys, such as a customer
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence worker --queue night --concurrency 8\n\n\
    The first SIGTERM or Ctrl-C lets running calls finish, releases the runs and ends; the second ends at once. A worker that is killed is \
    replaced by any other one as soon as its lease is over.")]
pub(crate) struct WorkerArgs {
    /// Serve only this queue; may be repeated [default: all]
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Vec<String>,
    /// The most runs that are driven at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(crate) concurrency: u32,
    /// The name of the worker, which no other live worker has [default: the host and the process]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Drive one run and end
    #[arg(long, conflicts_with = "until_idle")]
    pub(crate) once: bool,
    /// End when nothing is driven and no run is ready
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// The seconds after which another worker may take over what this one drives, if it does not report
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = super::skill::seconds)]
    pub(crate) lease: Duration,
    /// Hand nested skills to all workers as runs of their own, instead of running them inside the step that uses them
    #[arg(long)]
    pub(crate) share_nested: bool,
    /// Serve metrics and health over HTTP at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Send traces of this worker to an OpenTelemetry collector over HTTP; without an address to that of OTEL_EXPORTER_OTLP_ENDPOINT, else
    /// to http://127.0.0.1:4318
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "", value_parser = Collector::parse)]
    pub(crate) otlp: Option<Collector>,
    /// The form of the messages
    #[arg(long, value_name = "text|json", default_value = "text", value_parser = ["text", "json"])]
    pub(crate) log: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence cancel refund-42\n\n\
    The run keeps its records; `hence submit` or `hence resume` continues it. A worker that drives it stops at the next safe point.")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence fleet")]
pub(crate) struct FleetArgs {
    /// List at most this many stuck runs
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Ask a worker to end as soon as its runs are at a safe point
    #[arg(long, value_name = "WORKER")]
    pub(crate) drain: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct QueueListArgs {}

#[derive(ClapArgs)]
pub(crate) struct QueueNameArgs {
    /// The queue
    pub(crate) queue: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence queue jobs --state dead")]
pub(crate) struct QueueJobsArgs {
    /// List only jobs of this queue
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<String>,
    /// List only jobs in this state; may be repeated
    #[arg(long, value_name = "STATE", value_parser = crate::fleet::JOB_STATES)]
    pub(crate) state: Vec<String>,
    /// List at most this many jobs
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence queue limit default --concurrency 20 --rate 100/1m\n         \
    hence queue limit default --each-group --concurrency 1\n         hence queue limit --capability mail.send --rate 10/1s\n\n\
    Each start counts: the first, a retry, and the one after a wait. Starts are spaced: 10/1m means at least 6 s apart. Without --concurrency \
    and --rate the limit is removed.")]
pub(crate) struct QueueLimitArgs {
    /// The queue to limit
    #[arg(required_unless_present = "capability")]
    pub(crate) queue: Option<String>,
    /// Limit the runs that may call this capability, in all queues
    #[arg(long, value_name = "ID", conflicts_with_all = ["queue", "each_group"])]
    pub(crate) capability: Option<String>,
    /// Limit each group of the queue on its own
    #[arg(long)]
    pub(crate) each_group: bool,
    /// The most runs that are driven at the same time
    #[arg(long, value_name = "NUMBER")]
    pub(crate) concurrency: Option<u32>,
    /// The most starts in a time, as 10/1s, 100/1m or 5/1h
    #[arg(long, value_name = "NUMBER/TIME")]
    pub(crate) rate: Option<String>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence queue schedule nightly \"0 2 * * *\" report.yaml --zone Europe/Berlin\n\n\
    Of times that were missed while no worker ran, only the last gets a run. A local time that a change of the clocks skips counts after the gap, \
    one that happens twice counts once."
)]
pub(crate) struct QueueScheduleArgs {
    /// The name of the schedule; one that exists is replaced
    pub(crate) name: String,
    /// The times: minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly
    pub(crate) cron: String,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// The time zone
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub(crate) zone: String,
    /// The queue
    #[arg(long, value_name = "QUEUE", default_value = hence_fleet::DEFAULT_QUEUE)]
    pub(crate) queue: String,
    /// The priority of its runs
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: i32,
}

#[derive(ClapArgs)]
pub(crate) struct UnscheduleArgs {
    /// The schedule
    pub(crate) name: String,
}
