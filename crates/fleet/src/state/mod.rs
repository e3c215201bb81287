//! The state of a queue and its operations, without a clock and without I/O.
//!
//! The state is a set of rows ([`Row`]). An operation reads the rows, decides, and changes them; the time is an argument.
//! [`QueueState::changes`] gives the rows that operations changed, for whoever stores them, and
//! [`QueueState::put`] takes stored rows back without deciding anything. So a log of rows that an older program wrote means the
//! same to a newer one, whatever the newer one would decide, and a database can hold the same rows in tables.

mod claim;
mod index;
mod report;
mod schedule;
mod settle;
mod submit;
mod worker;

use std::collections::BTreeMap;

use hence_store::RunId;

use crate::error::Refusal;
use crate::job::{Job, JobState};
use crate::names::{QueueName, ScheduleName, Time, WorkerName};
use crate::rows::{Counters, Key, Limit, LimitScope, QueueRow, Row, Schedule, Scope, WorkerRow};
use index::Index;

pub use claim::{Claim, ClaimReply, ClaimRequest, SUSPECT_PATIENCE};
pub use report::{JobFilter, JobKind, PAGE_MAX, QueueReport};
pub use schedule::SCHEDULES_MAX;
pub use settle::{
    BACKOFF_FIRST, BACKOFF_MAX, CancelReply, FAILURES_MAX, LOOK_MAX, LOOK_MIN, Settlement, WakeReply, backoff,
};
pub use submit::{SPACING_MAX, SubmitReply};
pub use worker::{
    CONCURRENCY_MAX, CRASHES_MAX, DEAD_WORKER_LISTED, Heartbeat, LEASE_MAX, LEASE_MIN, NewWorker,
};

/// The most jobs of a queue, settled ones included: some gigabytes of rows.
pub const JOBS_MAX: usize = 1_000_000;

/// The most ended jobs that are still listed. The run has the truth, so nothing depends on them.
pub const ENDED_JOBS_MAX: usize = 1000;

/// The rows of a queue.
#[derive(Debug, Clone, Default)]
pub struct QueueState {
    jobs: BTreeMap<RunId, Job>,
    queues: BTreeMap<QueueName, QueueRow>,
    limits: BTreeMap<LimitScope, Limit>,
    starts: BTreeMap<Scope, Time>,
    workers: BTreeMap<WorkerName, WorkerRow>,
    schedules: BTreeMap<ScheduleName, Schedule>,
    counters: Counters,
    index: Index,
    /// The rows as they were before the changes that are not accepted yet, oldest first.
    undo: Vec<Row>,
}

impl QueueState {
    /// Returns a queue without jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a stored row in its place, or removes the one whose key is gone.
    pub fn put(&mut self, row: Row) {
        self.replace(row);
    }

    /// Returns the rows that operations changed since the last [`commit`](Self::commit), each once, as they are now.
    pub fn changes(&self) -> Vec<Row> {
        let mut keys: Vec<Key> = self.undo.iter().map(Row::key).collect();
        keys.sort();
        keys.dedup();
        keys.iter().map(|key| self.row(key)).collect()
    }

    /// Accepts the changes: they are stored.
    pub fn commit(&mut self) {
        self.undo.clear();
    }

    /// Undoes the changes that were not accepted.
    pub fn undo(&mut self) {
        for row in std::mem::take(&mut self.undo).into_iter().rev() {
            self.replace(row);
        }
    }

    /// Returns all rows.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let queues = self.queues.values().cloned().map(Row::Queue);
        let limits = self.limits.iter().map(|(scope, limit)| Row::Limit(scope.clone(), *limit));
        let starts = self.starts.iter().map(|(scope, at)| Row::Start(scope.clone(), *at));
        let workers = self.workers.values().cloned().map(Row::Worker);
        let schedules = self.schedules.values().cloned().map(Row::Schedule);
        let jobs = self.jobs.values().cloned().map(Row::Job);
        let counters = std::iter::once(Row::Counters(self.counters));
        counters.chain(queues).chain(limits).chain(starts).chain(workers).chain(schedules).chain(jobs)
    }

    /// Returns the row of a key as it is now.
    fn row(&self, key: &Key) -> Row {
        let found = match key {
            Key::Job(run) => self.jobs.get(run).cloned().map(Row::Job),
            Key::Queue(name) => self.queues.get(name).cloned().map(Row::Queue),
            Key::Limit(scope) => self.limits.get(scope).map(|limit| Row::Limit(scope.clone(), *limit)),
            Key::Start(scope) => self.starts.get(scope).map(|at| Row::Start(scope.clone(), *at)),
            Key::Worker(name) => self.workers.get(name).cloned().map(Row::Worker),
            Key::Schedule(name) => self.schedules.get(name).cloned().map(Row::Schedule),
            Key::Counters => Some(Row::Counters(self.counters)),
        };
        found.unwrap_or_else(|| Row::Gone(key.clone()))
    }

    /// Changes a row and remembers the one before.
    fn change(&mut self, row: Row) {
        let before = self.row(&row.key());
        self.undo.push(before);
        self.replace(row);
    }

    fn replace(&mut self, row: Row) {
        match row {
            Row::Job(job) => {
                if let Some(before) = self.jobs.get(&job.run) {
                    self.index.remove(before);
                }
                self.index.add(&job);
                self.jobs.insert(job.run.clone(), job);
            }
            Row::Queue(queue) => drop(self.queues.insert(queue.name.clone(), queue)),
            Row::Limit(scope, limit) => drop(self.limits.insert(scope, limit)),
            Row::Start(scope, at) => drop(self.starts.insert(scope, at)),
            Row::Worker(worker) => drop(self.workers.insert(worker.id.name.clone(), worker)),
            Row::Schedule(schedule) => drop(self.schedules.insert(schedule.name.clone(), schedule)),
            Row::Counters(counters) => self.counters = counters,
            Row::Gone(key) => self.forget(&key),
        }
    }

    fn forget(&mut self, key: &Key) {
        match key {
            Key::Job(run) => {
                if let Some(before) = self.jobs.remove(run) {
                    self.index.remove(&before);
                }
            }
            Key::Queue(name) => drop(self.queues.remove(name)),
            Key::Limit(scope) => drop(self.limits.remove(scope)),
            Key::Start(scope) => drop(self.starts.remove(scope)),
            Key::Worker(name) => drop(self.workers.remove(name)),
            Key::Schedule(name) => drop(self.schedules.remove(name)),
            Key::Counters => self.counters = Counters::default(),
        }
    }

    /// Changes one job.
    fn change_job(&mut self, run: &RunId, edit: impl FnOnce(&mut Job)) {
        if let Some(job) = self.jobs.get(run) {
            let mut job = job.clone();
            edit(&mut job);
            self.change(Row::Job(job));
        }
    }

    /// Returns the next number of a counter.
    fn count(&mut self, counter: impl FnOnce(&mut Counters) -> &mut u64) -> u64 {
        let mut counters = self.counters;
        let number = counter(&mut counters);
        let given = *number;
        *number = given.saturating_add(1);
        self.change(Row::Counters(counters));
        given
    }

    /// Returns whether a queue exists. The default one always does.
    pub fn has_queue(&self, queue: &QueueName) -> bool {
        *queue == QueueName::default_queue() || self.queues.contains_key(queue)
    }

    /// Returns whether the changes since the last [`commit`](Self::commit) may let a worker claim a job that it could not claim before.
    pub fn may_be_news(&self) -> bool {
        let has_limits = !self.limits.is_empty();
        self.changes().iter().any(|row| match row {
            Row::Job(job) => match job.state {
                JobState::Ready { .. } => true,
                // Its end makes room under a limit.
                JobState::Claimed(_) => false,
                _ => has_limits,
            },
            Row::Queue(_) | Row::Limit(..) | Row::Gone(Key::Limit(_)) => true,
            _ => false,
        })
    }

    /// Refuses a queue that does not exist.
    fn check_queue(&self, queue: &QueueName) -> Result<(), Refusal> {
        if self.has_queue(queue) {
            return Ok(());
        }
        let mut known: Vec<&str> = self.queues.keys().map(QueueName::as_str).collect();
        if !known.contains(&crate::names::DEFAULT_QUEUE) {
            known.insert(0, crate::names::DEFAULT_QUEUE);
        }
        Err(Refusal::NoSuchQueue { queue: queue.clone(), known: known.join(", ") })
    }
}
