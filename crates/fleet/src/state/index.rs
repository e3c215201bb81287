//! Orders of the jobs, so that an operation costs what it changes. Everything here follows from the rows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hence_store::RunId;

use crate::job::{Job, JobState, Wait};
use crate::names::{QueueName, Time};
use crate::rows::Scope;

/// The order in which jobs are claimed: the highest priority, then the lowest number.
pub(super) type Rank = (Reverse<i32>, u64);

/// The orders.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// Jobs that can be claimed.
    pub(super) ready: BTreeMap<QueueName, BTreeMap<Rank, RunId>>,
    /// Jobs that can be claimed from an instant on.
    pub(super) timers: BTreeSet<(Time, RunId)>,
    /// Claimed jobs by the name of their worker.
    pub(super) claimed: BTreeMap<String, BTreeSet<RunId>>,
    /// The numbers of claimed jobs.
    pub(super) running: BTreeMap<Scope, u32>,
    /// Parked jobs by the run that they wait for.
    pub(super) parents: BTreeMap<RunId, BTreeSet<RunId>>,
    /// Ended jobs.
    pub(super) ended: BTreeSet<(Time, RunId)>,
    /// The time to which jobs were moved from the timers to the ready ones.
    promoted_to: Time,
}

/// Returns the rank of a job.
pub(super) fn rank(job: &Job) -> Rank {
    (Reverse(job.priority), job.number)
}

/// Returns the scopes that a job is counted in.
pub(super) fn scopes(job: &Job) -> impl Iterator<Item = Scope> + '_ {
    let group = job.group.iter().map(|group| Scope::Group(job.queue.clone(), group.clone()));
    let capabilities = job.capabilities.iter().cloned().map(Scope::Capability);
    std::iter::once(Scope::Queue(job.queue.clone())).chain(group).chain(capabilities)
}

impl Index {
    /// Adds a job.
    pub(super) fn add(&mut self, job: &Job) {
        if let Some(at) = job.due_at() {
            self.timers.insert((at, job.run.clone()));
        }
        match &job.state {
            JobState::Claimed(claim) => {
                let worker = claim.worker.name.as_str().to_owned();
                self.claimed.entry(worker).or_default().insert(job.run.clone());
                for scope in scopes(job) {
                    let count = self.running.entry(scope).or_default();
                    *count = count.saturating_add(1);
                }
            }
            JobState::Parked { wait: Wait::Children(children), .. } => {
                for child in children {
                    self.parents.entry(child.clone()).or_default().insert(job.run.clone());
                }
            }
            JobState::Ended { at, .. } => drop(self.ended.insert((*at, job.run.clone()))),
            _ => {}
        }
    }

    /// Removes a job that was added before.
    pub(super) fn remove(&mut self, job: &Job) {
        if let Some(at) = job.due_at() {
            self.timers.remove(&(at, job.run.clone()));
        }
        if let Some(ready) = self.ready.get_mut(&job.queue) {
            ready.remove(&rank(job));
            if ready.is_empty() {
                self.ready.remove(&job.queue);
            }
        }
        match &job.state {
            JobState::Claimed(claim) => {
                remove_from(&mut self.claimed, claim.worker.name.as_str(), &job.run);
                for scope in scopes(job) {
                    if let Some(count) = self.running.get_mut(&scope) {
                        *count = count.saturating_sub(1);
                        if *count == 0 {
                            self.running.remove(&scope);
                        }
                    }
                }
            }
            JobState::Parked { wait: Wait::Children(children), .. } => {
                for child in children {
                    remove_from(&mut self.parents, child, &job.run);
                }
            }
            JobState::Ended { at, .. } => drop(self.ended.remove(&(*at, job.run.clone()))),
            _ => {}
        }
    }

    /// Moves the jobs that are due to the ready ones.
    pub(super) fn promote(&mut self, now: Time, jobs: &BTreeMap<RunId, Job>) {
        if now < self.promoted_to {
            // The clock was set back: a job that was due by the other time may not be due by this one.
            let runs = std::mem::take(&mut self.ready).into_values().flat_map(BTreeMap::into_values);
            self.timers.extend(runs.filter_map(|run| Some((jobs.get(&run)?.due_at()?, run))));
        }
        self.promoted_to = now;
        while let Some((at, _)) = self.timers.first()
            && *at <= now
        {
            let Some((_, run)) = self.timers.pop_first() else { break };
            if let Some(job) = jobs.get(&run) {
                self.ready.entry(job.queue.clone()).or_default().insert(rank(job), run);
            }
        }
    }
}

fn remove_from<K, Q>(map: &mut BTreeMap<K, BTreeSet<RunId>>, key: &Q, run: &RunId)
where
    K: Ord + std::borrow::Borrow<Q>,
    Q: Ord + ?Sized,
{
    if let Some(runs) = map.get_mut(key) {
        runs.remove(run);
        if runs.is_empty() {
            map.remove(key);
        }
    }
}
