//! The rules of claims, written again in the simplest way, to judge the queue by.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hence_fleet::{GroupName, Job, JobState, Limit, Millis, QueueName, Time, WorkerRow};
use hence_store::RunId;

/// The limits of a simulated fleet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    pub(crate) queue: BTreeMap<QueueName, Limit>,
    pub(crate) groups: BTreeMap<QueueName, Limit>,
}

/// Everything that a claim is judged by.
pub(crate) struct Claiming<'a> {
    pub(crate) before: &'a [Job],
    pub(crate) paused: &'a BTreeSet<QueueName>,
    pub(crate) limits: &'a Limits,
    pub(crate) starts: &'a mut BTreeMap<QueueName, Time>,
    /// Whether the clock was moved. The queue forgets starts that no longer matter, and a clock that shows a time again must not
    /// make them matter; so spacing is not judged then.
    pub(crate) is_clock_moved: bool,
    pub(crate) worker: &'a WorkerRow,
    pub(crate) now: Time,
}

/// A job that could be claimed, as far as its own row says.
fn is_due(job: &Job, now: Time) -> bool {
    match &job.state {
        JobState::Ready { at } => *at <= now,
        JobState::Parked { look_at, .. } => *look_at <= now,
        // Its worker is dead: it is ready again, unless it is quarantined.
        JobState::Claimed(claim) => {
            claim.until <= now && !job.cancel_wanted && job.crashes + 1 < hence_fleet::CRASHES_MAX
        }
        _ => false,
    }
}

fn is_running(job: &Job, now: Time) -> bool {
    job.claim().is_some_and(|claim| claim.until > now)
}

impl Claiming<'_> {
    /// Judges the claims that a worker got, in their order.
    pub(crate) fn judge(&mut self, claimed: &[RunId]) -> Result<(), String> {
        let mut running: Vec<&Job> = self.before.iter().filter(|job| is_running(job, self.now)).collect();
        let mut taken: BTreeSet<&RunId> = BTreeSet::new();
        for run in claimed {
            let job = self
                .before
                .iter()
                .find(|job| job.run == *run)
                .ok_or(format!("run {run}: claimed without a job"))?;
            if !is_due(job, self.now) {
                return Err(format!("run {run}: claimed although it is {:?} at {:?}", job.state, self.now));
            }
            if !self.may_claim(job, &running) {
                return Err(format!("run {run}: claimed beyond a limit, a pause or a refusal"));
            }
            for better in
                self.before.iter().filter(|other| !taken.contains(&other.run) && is_due(other, self.now))
            {
                let rank = |job: &Job| (Reverse(job.priority), job.number);
                let is_unsure = self.is_clock_moved
                    && self.limits.queue.get(&better.queue).is_some_and(|limit| limit.spacing.is_some());
                let is_better = rank(better) < rank(job) && !is_suspect(better) && !is_unsure;
                if is_better && self.may_claim(better, &running) {
                    return Err(format!("run {run}: claimed before run {}, whose turn it was", better.run));
                }
            }
            if is_suspect(job) && (claimed.len() > 1 || self.held(&running) > 0) {
                return Err(format!("run {run}: killed a worker before, and is not driven alone"));
            }
            taken.insert(run);
            running.push(job);
            self.starts.insert(job.queue.clone(), self.now);
        }
        Ok(())
    }

    fn held(&self, running: &[&Job]) -> usize {
        let is_ours = |job: &&&Job| job.claim().is_some_and(|claim| claim.worker == self.worker.id);
        running.iter().filter(is_ours).count()
    }

    fn may_claim(&self, job: &Job, running: &[&Job]) -> bool {
        let serves = self.worker.queues.is_empty() || self.worker.queues.contains(&job.queue);
        let declined = job.declined.contains_key(&self.worker.id.instance);
        let count = |group: Option<&GroupName>| {
            let fits = |other: &&&Job| {
                other.queue == job.queue && group.is_none_or(|group| other.group.as_ref() == Some(group))
            };
            u32::try_from(running.iter().filter(fits).count()).expect("few jobs")
        };
        let limit = self.limits.queue.get(&job.queue).copied().unwrap_or_default();
        let has_slot = limit.concurrency.is_none_or(|most| count(None) < most);
        let spaced = |spacing: Millis| {
            self.starts
                .get(&job.queue)
                .is_none_or(|last| self.now.since(*last) >= spacing || *last > self.now.plus(spacing))
        };
        let has_time = self.is_clock_moved || limit.spacing.is_none_or(spaced);
        let group_limit = self.limits.groups.get(&job.queue).and_then(|limit| limit.concurrency);
        let group_fits = match (&job.group, group_limit) {
            (Some(group), Some(most)) => count(Some(group)) < most,
            _ => true,
        };
        serves && !declined && !self.paused.contains(&job.queue) && has_slot && has_time && group_fits
    }
}

fn is_suspect(job: &Job) -> bool {
    // A claimed job that is due is one whose worker just died.
    job.is_suspect() || job.claim().is_some()
}
