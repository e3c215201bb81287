//! A worker with threads: one for the queue, one for each run that is driven.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hence_store::RunId;

use super::core::{Action, Reply, Request, WorkerCore, WorkerOptions};
use super::schedules::fire_due;
use crate::error::QueueError;
use crate::job::{Token, WorkerId};
use crate::names::{Millis, Time};
use crate::queue::JobQueue;
use crate::rows::Schedule;
use crate::state::{Claim, Settlement};

/// The time between two looks at the queue's version, which costs one look at memory or at a file, and at the wish to stop. It is part
/// of the time that a new job waits.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The time between two looks at the schedules.
const SCHEDULES_EVERY: Duration = Duration::from_secs(1);

/// The work of a worker.
pub trait Runner: Sync {
    /// Drives a run as far as it goes, or to the next safe point after `stop` is set, and returns how the claim ends.
    ///
    /// It never waits for a person or a long timer: it returns [`Settlement::Parked`].
    fn drive(&self, claim: &Claim, stop: &StopFlag) -> Settlement;

    /// Creates and submits the run of a schedule for one of its times. The id of the run follows from both, so doing it again changes
    /// nothing.
    ///
    /// # Errors
    /// The reason for which it is not possible.
    fn submit_scheduled(&self, schedule: &Schedule, due: Time) -> Result<(), String>;
}

/// A wish to stop that threads share.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Returns a flag that shares an atomic, such as one that a signal sets.
    pub fn sharing(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Sets the wish.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns whether somebody wants to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// An event in the life of a worker, for logs and metrics.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// It registered.
    Registered(&'a WorkerId),
    /// It claimed a run.
    Claimed(&'a Claim),
    /// It renewed its claims.
    Renewed,
    /// A drive ended.
    Driven {
        /// The claim.
        claim: &'a Claim,
        /// The end.
        settlement: &'a Settlement,
        /// The time it took.
        took: Duration,
    },
    /// It asked a drive to stop.
    Stopping(Token),
    /// The queue answered a request, or did not.
    Requested(&'a RequestReport<'a>),
    /// The queue did not do what was asked.
    QueueFailed(&'a QueueError),
    /// The queue has something to say, such as an unfinished change that was cut off.
    Remark(&'a str),
    /// It was asked to end.
    Draining,
}

/// A request to the queue and its outcome.
#[derive(Debug)]
pub struct RequestReport<'a> {
    /// The name of the request: `register`, `claim`, `heartbeat`, `settle` or `unregister`.
    pub request: &'static str,
    /// The run and the claim that the request is about, if it is about one.
    pub claim: Option<(&'a RunId, Token)>,
    /// The number of claims that the answer gives.
    pub claimed: usize,
    /// The reason for which the request failed.
    pub error: Option<&'a QueueError>,
    /// The time until the answer came.
    pub took: Duration,
}

/// Somebody who hears of the events of a worker.
pub trait Observer: Sync {
    /// Hears of an event.
    fn hear(&self, event: &WorkerEvent<'_>);
}

/// Somebody who hears nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn hear(&self, _: &WorkerEvent<'_>) {}
}

/// The work that a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// The drives that ended.
    pub drives: u64,
    /// The runs that ended in them.
    pub ended: u64,
    /// The runs that were parked.
    pub parked: u64,
    /// The drives that failed.
    pub failed: u64,
}

/// A worker that drives runs on threads.
pub struct Worker<'a> {
    /// The queue.
    pub queue: &'a dyn JobQueue,
    /// The work.
    pub runner: &'a dyn Runner,
    /// The settings.
    pub options: WorkerOptions,
    /// The wish to end.
    pub stop: StopFlag,
    /// Somebody who hears of events.
    pub observer: &'a dyn Observer,
}

struct DriveEnd {
    claim: Claim,
    settlement: Settlement,
    took: Duration,
}

impl Worker<'_> {
    /// Works until it is asked to end, or until its mode says so. Claims are released or settled then.
    ///
    /// # Errors
    /// [`QueueError`] when it cannot register. While it works, errors of the queue are reported to the observer and tried again.
    pub fn run(&self) -> Result<Summary, QueueError> {
        let (sender, receiver) = channel();
        let mut shift = Shift {
            worker: self,
            core: WorkerCore::new(self.options.clone()),
            start: Instant::now(),
            stops: BTreeMap::new(),
            summary: Summary::default(),
            version: self.queue.version(),
            schedules_at: None,
        };
        // A schedule that is due is work, too: a worker that ends when it is idle has to know of it before it asks for the first job.
        shift.look();
        std::thread::scope(|scope| {
            loop {
                while let Some(action) = shift.next_action() {
                    match action {
                        Action::Send(request) => shift.send(request),
                        Action::Stop(token) => shift.stop(token),
                        Action::Exit(end) => return end.map(|()| shift.summary),
                        Action::Drive(claim) => {
                            let (flag, sender, runner) = (shift.begin(&claim), sender.clone(), self.runner);
                            scope.spawn(move || drop(sender.send(drive(runner, claim, &flag))));
                        }
                    }
                }
                shift.wait(&receiver);
                shift.look();
            }
        })
    }
}

/// Drives a run. A panic of the runner is a failure of this drive, not of the worker.
fn drive(runner: &dyn Runner, claim: Claim, stop: &StopFlag) -> DriveEnd {
    let start = Instant::now();
    let settlement = catch_unwind(AssertUnwindSafe(|| runner.drive(&claim, stop))).unwrap_or_else(|_| {
        Settlement::Failed { reason: "the program stopped with an internal error (panic)".to_owned() }
    });
    DriveEnd { claim, settlement, took: start.elapsed() }
}

/// The state of a worker while it runs.
struct Shift<'w, 'a> {
    worker: &'w Worker<'a>,
    core: WorkerCore,
    start: Instant,
    stops: BTreeMap<Token, StopFlag>,
    summary: Summary,
    version: u64,
    schedules_at: Option<Instant>,
}

impl Shift<'_, '_> {
    fn now(&self) -> Millis {
        self.start.elapsed().into()
    }

    fn next_action(&mut self) -> Option<Action> {
        let now = self.now();
        self.core.poll(now)
    }

    fn hear(&self, event: &WorkerEvent<'_>) {
        self.worker.observer.hear(event);
    }

    fn begin(&mut self, claim: &Claim) -> StopFlag {
        self.hear(&WorkerEvent::Claimed(claim));
        let flag = StopFlag::default();
        self.stops.insert(claim.token, flag.clone());
        flag
    }

    fn stop(&mut self, token: Token) {
        self.hear(&WorkerEvent::Stopping(token));
        if let Some(flag) = self.stops.get(&token) {
            flag.set();
        }
    }

    /// Sends a request and gives its reply to the core.
    fn send(&mut self, request: Request) {
        let (queue, sent_at) = (self.worker.queue, Instant::now());
        let reply = match &request {
            Request::Register(new) => Reply::Registered(queue.register(new)),
            Request::Claim(request) => Reply::Claimed(queue.claim(request)),
            Request::Heartbeat { id, request, held } => Reply::Renewed(queue.heartbeat(id, *request, held)),
            Request::Settle { run, token, settlement } => {
                Reply::Settled(queue.settle(run, *token, settlement))
            }
            Request::Unregister(id) => Reply::Unregistered(queue.unregister(id)),
        };
        let took = sent_at.elapsed();
        let error = reply.error();
        let (claim, claimed) = match (&request, &reply) {
            (Request::Settle { run, token, .. }, _) => (Some((run, *token)), 0),
            (_, Reply::Claimed(Ok(reply))) => (None, reply.claims.len()),
            _ => (None, 0),
        };
        self.hear(&WorkerEvent::Requested(&RequestReport {
            request: request.name(),
            claim,
            claimed,
            error,
            took,
        }));
        match &reply {
            Reply::Registered(Ok(id)) => self.hear(&WorkerEvent::Registered(id)),
            Reply::Renewed(Ok(_)) => self.hear(&WorkerEvent::Renewed),
            _ => {}
        }
        if let Some(error) = error {
            self.hear(&WorkerEvent::QueueFailed(error));
        }
        self.core.reply(self.now(), reply);
    }

    /// Waits for the end of a drive, the next deadline or the next look.
    fn wait(&mut self, ends: &Receiver<DriveEnd>) {
        let left = self.core.deadline().map(|at| at.duration().saturating_sub(self.start.elapsed()));
        // Never without a pause: a deadline that has just passed is at most a millisecond away.
        let pause = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY)).max(Duration::from_millis(1));
        let mut next = ends.recv_timeout(pause);
        // The sender is alive as long as this worker, so an error means that nothing ended yet.
        while let Ok(DriveEnd { claim, settlement, took }) = next {
            self.stops.remove(&claim.token);
            self.hear(&WorkerEvent::Driven { claim: &claim, settlement: &settlement, took });
            self.count(&settlement);
            self.core.driven_to(self.now(), claim.token, settlement);
            next = ends.try_recv().map_err(|_| RecvTimeoutError::Timeout);
        }
    }

    fn count(&mut self, settlement: &Settlement) {
        let summary = &mut self.summary;
        summary.drives += 1;
        match settlement {
            Settlement::Ended { .. } => summary.ended += 1,
            Settlement::Parked(_) => summary.parked += 1,
            Settlement::Failed { .. } | Settlement::Hopeless { .. } => summary.failed += 1,
            Settlement::Released | Settlement::Busy { .. } | Settlement::Declined { .. } => {}
        }
    }

    /// Looks for news of the queue, for schedules and for the wish to end.
    fn look(&mut self) {
        let (worker, now) = (self.worker, self.now());
        if worker.stop.is_set() && self.core.drain() {
            self.hear(&WorkerEvent::Draining);
        }
        for remark in worker.queue.take_remarks() {
            self.hear(&WorkerEvent::Remark(&remark));
        }
        let version = worker.queue.version();
        if version != self.version {
            self.version = version;
            self.core.news(now);
        }
        if self.schedules_at.is_none_or(|at| at.elapsed() >= SCHEDULES_EVERY) && !worker.stop.is_set() {
            self.schedules_at = Some(Instant::now());
            if let Err(error) =
                fire_due(worker.queue, |schedule, due| worker.runner.submit_scheduled(schedule, due))
            {
                self.hear(&WorkerEvent::QueueFailed(&error));
            }
        }
    }
}
