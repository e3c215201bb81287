//! Refusals and failures of a queue.

use std::path::PathBuf;
use std::sync::Arc;

use hence_store::RunId;

use crate::names::{QueueName, ScheduleName, WorkerName};

/// An operation that the rules of a queue do not allow. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue does not exist.
    #[error("there is no queue {queue}; the queues are {known}")]
    NoSuchQueue {
        /// The queue.
        queue: QueueName,
        /// The queues that exist, joined by commas.
        known: String,
    },
    /// The queue still has jobs or schedules.
    #[error("queue {queue} is in use: {jobs} jobs and {schedules} schedules")]
    QueueInUse {
        /// The queue.
        queue: QueueName,
        /// Its jobs that are not settled.
        jobs: usize,
        /// Its schedules.
        schedules: usize,
    },
    /// The default queue cannot be removed.
    #[error("the queue default always exists")]
    DefaultQueue,
    /// The run is in no queue.
    #[error("run {0} is in no queue")]
    NoSuchJob(RunId),
    /// The schedule does not exist.
    #[error("there is no schedule {0}")]
    NoSuchSchedule(ScheduleName),
    /// The claim expired, was released or was settled before.
    #[error("the claim on run {0} is no longer held")]
    ClaimLost(RunId),
    /// A worker with that name is alive.
    #[error("a worker named {name} is alive: {about}")]
    NameTaken {
        /// The name.
        name: WorkerName,
        /// The text about its process.
        about: String,
    },
    /// The worker is not registered, or another one has its name by now.
    #[error("worker {0} is not registered")]
    UnknownWorker(WorkerName),
    /// The worker does not exist.
    #[error("there is no worker {0}")]
    NoSuchWorker(WorkerName),
    /// A later request of the worker was answered before this one arrived.
    #[error("request {found} of worker {name} came after its request {seen}")]
    LateRequest {
        /// The worker.
        name: WorkerName,
        /// The number of the request.
        found: u64,
        /// The number of the last request.
        seen: u64,
    },
    /// A number is outside its limits.
    #[error("{what} is {found}, expected {expected}")]
    OutOfRange {
        /// The thing that is counted.
        what: &'static str,
        /// The number.
        found: u64,
        /// The limits.
        expected: &'static str,
    },
    /// The queue holds as many jobs as it can.
    #[error("the queue holds {0} jobs, which is its limit")]
    Full(usize),
}

/// An operation on a queue that did not succeed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The rules do not allow it. Nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The queue could not be reached or did not answer in time: whether the operation took effect is not known.
    #[error("the queue cannot be reached: {0}")]
    Unavailable(String),
    /// The place of the queue does not allow it, such as a role that may only read. Trying again changes nothing.
    #[error("the queue cannot be used: {0}")]
    Forbidden(String),
    /// Another process holds the lock for longer than operations take.
    #[error("the lock {path} is held for more than {seconds} s; is a process stopped that uses the queue?")]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The time that was waited.
        seconds: u64,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    Disk {
        /// The action.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// A file is not what this program writes.
    #[error("{path}, line {line}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The reason.
        reason: String,
    },
    /// A row of a database is not what this program writes.
    #[error("the queue cannot be read: {row}: {reason}")]
    DamagedRow {
        /// The row, and the run it is about as far as that can be read.
        row: String,
        /// The reason.
        reason: String,
    },
}

impl QueueError {
    /// Returns whether what is stored is damaged, so that trying again reads the same.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::DamagedRow { .. })
    }

    /// Returns the refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
