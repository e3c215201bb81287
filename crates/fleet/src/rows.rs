//! The rows of a queue: everything that is stored.

use std::collections::BTreeSet;

use hence_store::RunId;
use serde::{Deserialize, Serialize};

use crate::job::{Job, WorkerId};
use crate::names::{CapabilityName, GroupName, Millis, QueueName, ScheduleName, Time, WorkerName};
use crate::wire;

/// The longest payload of a schedule, in bytes: a skill and its input, not a library.
pub const PAYLOAD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The jobs that a limit applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// All jobs of a queue together.
    Queue(QueueName),
    /// The jobs of each group of a queue.
    GroupsOf(QueueName),
    /// All jobs whose run may call a capability.
    Capability(CapabilityName),
}

/// The jobs that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The jobs of a queue.
    Queue(QueueName),
    /// The jobs of one group of a queue.
    Group(QueueName, GroupName),
    /// The jobs whose run may call a capability.
    Capability(CapabilityName),
}

impl Scope {
    /// Returns the limit that applies to the jobs.
    pub(crate) fn limit(&self) -> LimitScope {
        match self {
            Self::Queue(queue) => LimitScope::Queue(queue.clone()),
            Self::Group(queue, _) => LimitScope::GroupsOf(queue.clone()),
            Self::Capability(capability) => LimitScope::Capability(capability.clone()),
        }
    }
}

/// A limit. Each start of a drive counts: the first, a retry, and the one after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The most jobs that are claimed at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The least time between two starts: 10 a minute are at least 6 s apart, so that no window of a minute has more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Millis>,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueRow {
    /// The name.
    pub name: QueueName,
    /// The time since which no job of it is claimed, if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<Time>,
}

/// A worker that is alive, or was a short time ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerRow {
    /// The worker.
    pub id: WorkerId,
    /// A text about its process for people, such as `host a, process 4711`.
    pub about: String,
    /// The queues that it serves; all if there are none.
    pub queues: BTreeSet<QueueName>,
    /// The most runs that it drives at the same time.
    pub concurrency: u32,
    /// The duration of its claims after each renewal.
    pub lease: Millis,
    /// The time of its registration.
    pub since: Time,
    /// The instant at which it counts as dead unless it renews.
    pub until: Time,
    /// The number that tells its process from others.
    pub nonce: u64,
    /// The number of its last request; a lower one is late and is refused.
    pub request: u64,
    /// Whether it is to end as soon as its runs are at a safe point.
    pub drain_wanted: bool,
}

/// A schedule: submissions at the times that a cron expression names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The name.
    pub name: ScheduleName,
    /// The cron expression.
    pub cron: String,
    /// The time zone, such as `Europe/Berlin`.
    pub zone: String,
    /// The queue that the runs are submitted to.
    pub queue: QueueName,
    /// The document to submit, which the queue does not read.
    pub payload: String,
    /// The next time; none when the expression names no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Time>,
    /// The last time a run was submitted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Time>,
    /// The time since which it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<Time>,
    /// The reason for which the last submission failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The submissions of the next time that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// The instant before which a submission that failed is not tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The numbers that are given next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// The number of the next submission.
    pub job: u64,
    /// The number of the next claim.
    pub claim: u64,
    /// The number of the next instance of a worker.
    pub instance: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { job: 1, claim: 1, instance: 1 }
    }
}

/// One row as it is stored. The queue is its rows: nothing else is stored, and the last row of a key is the one that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// A job.
    Job(Job),
    /// A queue.
    Queue(QueueRow),
    /// A limit.
    Limit(LimitScope, Limit),
    /// The last start in a scope whose starts are spaced.
    Start(Scope, Time),
    /// A worker.
    Worker(WorkerRow),
    /// A schedule.
    Schedule(Schedule),
    /// The counters.
    Counters(Counters),
    /// A row that no longer exists.
    Gone(Key),
}

/// The key of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// A job.
    Job(#[serde(with = "wire::run")] RunId),
    /// A queue.
    Queue(QueueName),
    /// A limit.
    Limit(LimitScope),
    /// A start.
    Start(Scope),
    /// A worker.
    Worker(WorkerName),
    /// A schedule.
    Schedule(ScheduleName),
    /// The counters.
    Counters,
}

impl Row {
    /// Returns the key of the row.
    pub fn key(&self) -> Key {
        match self {
            Self::Job(job) => Key::Job(job.run.clone()),
            Self::Queue(queue) => Key::Queue(queue.name.clone()),
            Self::Limit(scope, _) => Key::Limit(scope.clone()),
            Self::Start(scope, _) => Key::Start(scope.clone()),
            Self::Worker(worker) => Key::Worker(worker.id.name.clone()),
            Self::Schedule(schedule) => Key::Schedule(schedule.name.clone()),
            Self::Counters(_) => Key::Counters,
            Self::Gone(key) => key.clone(),
        }
    }
}
