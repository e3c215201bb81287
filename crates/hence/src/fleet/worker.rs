//! `hence worker`: drives the runs of the queues.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hence_fleet::{Millis, Mode, NewWorker, StopFlag, Worker, WorkerName, WorkerOptions};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::metrics::{Figures, MetricsServer};
use super::observer::{LogForm, WorkerObserver};
use super::runner::StoreRunner;
use super::telemetry::telemetry;
use super::{Queue, queue_name, refused};
use crate::args::fleet::WorkerArgs;
use crate::interrupt::INTERRUPTED_STATUS;
use crate::prelude::*;
use crate::skills::NestedRuns;

/// The longest time between two looks at the queue, if no change of it is noticed.
const POLL: Millis = Millis::seconds(1);

/// The work of a worker that has ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WorkerReport {
    /// The name of the worker.
    worker: String,
    /// The drives that ended.
    drives: u64,
    /// The runs that ended in them.
    ended: u64,
    /// The runs that were parked.
    parked: u64,
    /// The drives that failed.
    failed: u64,
}

impl Text for WorkerReport {
    fn text(&self) -> String {
        let (drives, ended) = (counted(self.drives, "drive"), counted(self.ended, "run"));
        pairs(&[
            ("worker", escape(&self.worker)),
            ("did", format!("{drives}: {ended} ended, {} parked, {} failed", self.parked, self.failed)),
        ])
    }
}

/// Runs the command.
pub(crate) fn worker(context: &Context, args: &WorkerArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let queue = context.place.queue()?;
    let name = args.name.clone().unwrap_or_else(own_name);
    let queues: BTreeSet<_> = args.queue.iter().map(|name| queue_name(name)).collect::<Result<_, _>>()?;
    let nonce = nonce();
    let new = NewWorker {
        name: WorkerName::new(&name).map_err(|error| CliError::from_error(Code::WorkerName, error))?,
        about: format!("process {} on {}", std::process::id(), host()),
        queues,
        concurrency: args.concurrency,
        lease: Millis::from(args.lease),
        nonce,
    };
    let mode = match (args.once, args.until_idle) {
        (true, _) => Mode::Once,
        (_, true) => Mode::UntilIdle,
        _ => Mode::Forever,
    };
    let server = args.metrics.map(MetricsServer::bind).transpose()?;
    let form = match (args.log.as_str(), context.is_quiet()) {
        ("json", _) => LogForm::Json,
        (_, true) => LogForm::Quiet,
        _ => LogForm::Text,
    };
    let nested = if args.share_nested { NestedRuns::Shared } else { NestedRuns::Inside };
    let collector = args.otlp.clone();
    let traces = collector.map(|collector| telemetry(collector, &name, &host(), nonce));
    let (telemetry, spans) = traces.unzip();
    let observer = WorkerObserver::new(&name, form, args.lease, telemetry);
    let runner = StoreRunner::new(context.place.clone(), store, nested);
    let stop = listen();
    let options = WorkerOptions { worker: new, mode, poll: POLL };
    let worker = Worker { queue: &*queue, runner: &runner, options, stop, observer: &observer };
    let is_over = AtomicBool::new(false);
    let figures = WorkerFigures { observer: &observer, queue: context.place.queue()? };
    let done = std::thread::scope(|threads| {
        if let Some(server) = &server {
            let address = server.address().map(|address| address.to_string()).unwrap_or_default();
            context
                .say(format_args!("metrics at http://{address}/metrics, health at http://{address}/health"));
            threads.spawn(|| server.serve(&figures, &is_over));
        }
        if let Some(spans) = spans {
            threads.spawn(|| observer.send_spans(spans));
        }
        let done = worker.run();
        observer.end_telemetry();
        is_over.store(true, Ordering::SeqCst);
        done
    });
    let done = done.map_err(refused)?;
    context.print(&WorkerReport {
        worker: name,
        drives: done.drives,
        ended: done.ended,
        parked: done.parked,
        failed: done.failed,
    })?;
    Ok(Exit::Yes)
}

struct WorkerFigures<'a> {
    observer: &'a WorkerObserver,
    queue: Queue,
}

impl Figures for WorkerFigures<'_> {
    fn metrics(&self) -> String {
        let queues = self.queue.queues().unwrap_or_default();
        let now = self.queue.now().map(|now| now.millis()).unwrap_or_default();
        self.observer.metrics(&queues, now)
    }

    fn is_healthy(&self) -> bool {
        self.observer.is_healthy()
    }
}

/// Starts to listen for signals. The first one is a request to end; the second ends the process.
fn listen() -> StopFlag {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters, as in `interrupt`. A handler that cannot be registered leaves a signal that kills, which a worker survives.
        let _ = flag::register_conditional_shutdown(signal, INTERRUPTED_STATUS, asked.clone());
        let _ = flag::register(signal, asked.clone());
    }
    StopFlag::sharing(asked)
}

/// Returns a name that no other live worker has: the host and the process.
fn own_name() -> String {
    format!("{}-{}", host(), std::process::id())
}

/// Returns the name of this machine, for people.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name.trim().chars().filter(|letter| !letter.is_control()).take(64).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

/// Returns a number that tells this process from others. It decides nothing but whether a registration is the same one.
fn nonce() -> u64 {
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}
