//! A job: the place of one run in a queue.

use std::collections::{BTreeMap, BTreeSet};

use hence_store::RunId;
use serde::{Deserialize, Serialize};

use crate::names::{CapabilityName, GroupName, QueueName, Time, WorkerName};
use crate::wire;

/// The most capabilities that a job names.
pub const CAPABILITIES_MAX: usize = 256;

/// The most children that a parked job waits for.
pub const CHILDREN_MAX: usize = 10_000;

/// The longest reason that is stored, in bytes; the rest is cut off.
pub const REASON_BYTES_MAX: usize = 2000;

/// The most workers whose refusal of a job is remembered; the oldest is forgotten first.
pub const DECLINED_MAX: usize = 64;

/// A job to enqueue. It names a run that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The run.
    pub run: RunId,
    /// The queue.
    pub queue: QueueName,
    /// The priority: a higher one is claimed first.
    pub priority: i32,
    /// The instant before which the job is not claimed.
    pub not_before: Option<Time>,
    /// The group whose limit the job obeys.
    pub group: Option<GroupName>,
    /// The capabilities that the run may call, for their limits.
    pub capabilities: BTreeSet<CapabilityName>,
}

impl NewJob {
    /// Returns a job of the default queue with nothing else set.
    pub fn of(run: RunId) -> Self {
        Self {
            run,
            queue: QueueName::default_queue(),
            priority: 0,
            not_before: None,
            group: None,
            capabilities: BTreeSet::new(),
        }
    }
}

/// The place of one run in a queue. The run's journal, not the job, says how far the run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The run.
    #[serde(with = "wire::run")]
    pub run: RunId,
    /// The queue.
    pub queue: QueueName,
    /// The priority: a higher one is claimed first.
    pub priority: i32,
    /// The number of the submission: of equal priority the lower one is claimed first.
    pub number: u64,
    /// The group whose limit the job obeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The capabilities that the run may call.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<CapabilityName>,
    /// The time of the submission.
    pub submitted_at: Time,
    /// The state.
    pub state: JobState,
    /// The drives that stopped with an error since the last submission.
    pub failures: u32,
    /// The claims whose worker died or lost its connection since the last submission.
    pub crashes: u32,
    /// The times in a row that somebody else was writing the run when a worker wanted to drive it.
    pub busy: u32,
    /// The time since which the run waits for a person or its children, across the times it was driven to look again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<Time>,
    /// Whether the run was woken while a worker drove it: it is then driven again instead of being parked.
    pub wake_wanted: bool,
    /// Whether the job is to be cancelled as soon as its worker stops.
    pub cancel_wanted: bool,
    /// The reason of the last failure, crash or refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The instances of workers that cannot drive the run, with their reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub declined: BTreeMap<u64, Declined>,
}

/// The refusal of one worker to drive a run, such as a missing capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declined {
    /// The worker.
    pub worker: WorkerName,
    /// The reason.
    pub reason: String,
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JobState {
    /// It can be claimed from an instant on.
    Ready {
        /// The instant.
        at: Time,
    },
    /// A worker drives the run.
    Claimed(ClaimRow),
    /// The run waits, and no thread waits with it.
    Parked {
        /// The event the run waits for.
        wait: Wait,
        /// The instant at which the run is driven again in any case: the due time of a timer, or a look whether a wake was lost.
        look_at: Time,
    },
    /// The run ended.
    Ended {
        /// The status of the run.
        status: String,
        /// The time.
        at: Time,
    },
    /// Driving the run failed too often, or in a way that another try cannot change.
    Dead {
        /// The time.
        at: Time,
    },
    /// The run's workers died too often while they drove it.
    Quarantined {
        /// The time.
        at: Time,
    },
    /// A person cancelled the job.
    Cancelled {
        /// The time.
        at: Time,
    },
}

/// The event that a parked run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wait {
    /// The answer or decision of a person, with the place in the run that asked.
    Person(String),
    /// An instant.
    Until(Time),
    /// The end of other runs.
    Children(#[serde(with = "wire::runs")] BTreeSet<RunId>),
}

/// A claim as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRow {
    /// The worker.
    pub worker: WorkerId,
    /// The number of the claim. No two claims have the same.
    pub token: Token,
    /// The time of the claim.
    pub since: Time,
    /// The instant at which the claim expires unless the worker renews it.
    pub until: Time,
    /// The duration of the claim after each renewal.
    pub lease: crate::names::Millis,
}

/// The number of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u64);

/// One life of a worker: two processes that use a name one after the other are two instances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerId {
    /// The name.
    pub name: WorkerName,
    /// The number of the instance.
    pub instance: u64,
}

impl Job {
    /// Returns the claim, if a worker drives the run.
    pub fn claim(&self) -> Option<&ClaimRow> {
        match &self.state {
            JobState::Claimed(claim) => Some(claim),
            _ => None,
        }
    }

    /// Returns the instant from which the job can be claimed, if it is waiting for one.
    pub fn due_at(&self) -> Option<Time> {
        match &self.state {
            JobState::Ready { at } => Some(*at),
            JobState::Parked { look_at, .. } => Some(*look_at),
            _ => None,
        }
    }

    /// Returns the instant from which the job waits for a worker: its time, or that of its timer. A run that waits for a person or other
    /// runs waits for no worker, although one looks at it now and then.
    pub fn waits_for_worker_from(&self) -> Option<Time> {
        match &self.state {
            JobState::Parked { wait: Wait::Person(_) | Wait::Children(_), .. } => None,
            _ => self.due_at(),
        }
    }

    /// Returns whether a worker died while it drove the run: such a run is driven alone.
    pub fn is_suspect(&self) -> bool {
        self.crashes > 0
    }

    /// Returns whether nothing more happens to the job by itself.
    pub fn is_settled(&self) -> bool {
        self.state.settled_at().is_some()
    }
}

impl JobState {
    /// Returns the time since which nothing more happens to the job by itself.
    pub fn settled_at(&self) -> Option<Time> {
        match self {
            Self::Ended { at, .. }
            | Self::Dead { at }
            | Self::Quarantined { at }
            | Self::Cancelled { at } => Some(*at),
            Self::Ready { .. } | Self::Claimed(_) | Self::Parked { .. } => None,
        }
    }

    /// Returns the word for the state.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ready { .. } => "ready",
            Self::Claimed(_) => "claimed",
            Self::Parked { .. } => "parked",
            Self::Ended { .. } => "ended",
            Self::Dead { .. } => "dead",
            Self::Quarantined { .. } => "quarantined",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}

/// Cuts a reason to [`REASON_BYTES_MAX`] at a character.
pub(crate) fn cut_reason(reason: &str) -> String {
    let mut end = reason.len().min(REASON_BYTES_MAX);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_between_characters() {
        let long = format!("{}é", "x".repeat(REASON_BYTES_MAX - 1));
        assert_eq!(cut_reason(&long), "x".repeat(REASON_BYTES_MAX - 1));
        assert_eq!(cut_reason(&"x".repeat(REASON_BYTES_MAX)).len(), REASON_BYTES_MAX);
    }
}
