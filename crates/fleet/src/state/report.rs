//! Reading a queue.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hence_store::RunId;

use super::QueueState;
use crate::job::{Job, JobState};
use crate::names::{CapabilityName, QueueName, Time};
use crate::rows::{Limit, LimitScope, WorkerRow};

/// The most jobs that one page of a list has.
pub const PAGE_MAX: usize = 1000;

/// The kinds of states of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobKind {
    /// Ready, now or later.
    Ready,
    /// Claimed by a worker.
    Claimed,
    /// Waiting.
    Parked,
    /// Ended.
    Ended,
    /// Dead.
    Dead,
    /// Quarantined.
    Quarantined,
    /// Cancelled.
    Cancelled,
}

impl JobKind {
    /// Returns the kind of a state.
    pub fn of(state: &JobState) -> Self {
        match state {
            JobState::Ready { .. } => Self::Ready,
            JobState::Claimed(_) => Self::Claimed,
            JobState::Parked { .. } => Self::Parked,
            JobState::Ended { .. } => Self::Ended,
            JobState::Dead { .. } => Self::Dead,
            JobState::Quarantined { .. } => Self::Quarantined,
            JobState::Cancelled { .. } => Self::Cancelled,
        }
    }
}

/// The jobs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// Only jobs of this queue.
    pub queue: Option<QueueName>,
    /// Only jobs in these states; all if there are none.
    pub kinds: BTreeSet<JobKind>,
    /// Only jobs of runs after this one, in the order of run ids.
    pub after: Option<RunId>,
    /// The most jobs; at most [`PAGE_MAX`].
    pub limit: usize,
}

/// A queue with the numbers of its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueReport {
    /// The name.
    pub name: QueueName,
    /// The time since which it is paused.
    pub paused_at: Option<Time>,
    /// The limit of the queue.
    pub limit: Limit,
    /// The limit of each group.
    pub group_limit: Limit,
    /// The numbers of jobs by state.
    pub jobs: BTreeMap<JobKind, u64>,
    /// The instant since which the longest waiting job could be claimed, if one can.
    pub ready_since: Option<Time>,
}

impl QueueState {
    /// Returns the job of a run.
    pub fn job(&self, run: &RunId) -> Option<&Job> {
        self.jobs.get(run)
    }

    /// Lists jobs in the order of run ids.
    pub fn jobs(&self, filter: &JobFilter) -> Vec<Job> {
        let after = match &filter.after {
            Some(run) => Bound::Excluded(run.clone()),
            None => Bound::Unbounded,
        };
        let fits = |job: &&Job| {
            filter.queue.as_ref().is_none_or(|queue| *queue == job.queue)
                && (filter.kinds.is_empty() || filter.kinds.contains(&JobKind::of(&job.state)))
        };
        let jobs = self.jobs.range((after, Bound::Unbounded)).map(|(_, job)| job);
        jobs.filter(fits).take(filter.limit.min(PAGE_MAX)).cloned().collect()
    }

    /// Returns the queues with the numbers of their jobs.
    pub fn queues(&self, now: Time) -> Vec<QueueReport> {
        let limit = |scope: LimitScope| self.limits.get(&scope).copied().unwrap_or_default();
        let mut names: BTreeSet<&QueueName> = self.queues.keys().collect();
        let default = QueueName::default_queue();
        names.insert(&default);
        let report = |name: &QueueName| QueueReport {
            name: name.clone(),
            paused_at: self.paused_at(name),
            limit: limit(LimitScope::Queue(name.clone())),
            group_limit: limit(LimitScope::GroupsOf(name.clone())),
            jobs: BTreeMap::new(),
            ready_since: None,
        };
        let mut reports: BTreeMap<QueueName, QueueReport> =
            names.into_iter().map(|name| (name.clone(), report(name))).collect();
        for job in self.jobs.values() {
            let queue = reports.entry(job.queue.clone()).or_insert_with(|| report(&job.queue));
            let count = queue.jobs.entry(JobKind::of(&job.state)).or_default();
            *count = count.saturating_add(1);
            if let Some(at) = job.waits_for_worker_from().filter(|at| *at <= now) {
                queue.ready_since = Some(queue.ready_since.map_or(at, |since| since.min(at)));
            }
        }
        reports.into_values().collect()
    }

    /// Returns the limits of capabilities.
    pub fn capability_limits(&self) -> Vec<(CapabilityName, Limit)> {
        let of_capability = |(scope, limit): (&LimitScope, &Limit)| match scope {
            LimitScope::Capability(name) => Some((name.clone(), *limit)),
            LimitScope::Queue(_) | LimitScope::GroupsOf(_) => None,
        };
        self.limits.iter().filter_map(of_capability).collect()
    }

    /// Returns the workers by name, also those that died in the last hour.
    pub fn workers(&self) -> Vec<WorkerRow> {
        self.workers.values().cloned().collect()
    }
}
