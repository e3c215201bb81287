//! Claiming jobs: the highest priority first, then the oldest, within the limits.

use std::collections::BTreeSet;

use hence_store::RunId;

use super::QueueState;
use super::index::{Rank, scopes};
use crate::error::Refusal;
use crate::job::{ClaimRow, Job, JobState, Token, WorkerId};
use crate::names::{Millis, QueueName, Time};
use crate::rows::{Key, Row, Scope, WorkerRow};

/// The time that a run which may kill its worker waits for a worker with nothing else to do. After it, workers take no more runs
/// until one of them is free for it.
pub const SUSPECT_PATIENCE: Millis = Millis::seconds(30);

/// The most starts of groups that one claim forgets, so that no claim is slow.
const FORGOTTEN_STARTS_MAX: usize = 4;

/// A request for jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The worker.
    pub worker: WorkerId,
    /// The number of the request: higher than that of each request of the worker before.
    pub request: u64,
    /// The most jobs to claim.
    pub max: u32,
}

/// A claim that a worker got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The run to drive.
    pub run: RunId,
    /// The number of the claim.
    pub token: Token,
    /// The duration for which it holds after each renewal.
    pub lease: Millis,
    /// The queue.
    pub queue: QueueName,
    /// The time between the instant at which the job could be claimed and the claim.
    pub lag: Millis,
}

/// The answer to a request for jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimReply {
    /// The claims.
    pub claims: Vec<Claim>,
    /// The time until the next job is due, as far as it is known; at least that long nothing happens by itself.
    pub next_in: Option<Millis>,
}

impl QueueState {
    /// Claims jobs for a worker.
    ///
    /// # Errors
    /// [`Refusal::UnknownWorker`], [`Refusal::LateRequest`].
    pub fn claim(&mut self, request: &ClaimRequest, now: Time) -> Result<ClaimReply, Refusal> {
        let worker = self.admit(&request.worker, request.request)?;
        self.expire(now);
        self.index.promote(now, &self.jobs);
        let held = self.claimed_by(&worker.id.name);
        let mut count = u32::try_from(held.len()).unwrap_or(u32::MAX);
        let mut has_suspect = held.iter().filter_map(|run| self.jobs.get(run)).any(Job::is_suspect);
        let mut reply = ClaimReply::default();
        let most = request.max.min(worker.concurrency.saturating_sub(count));
        for _ in 0..most {
            if has_suspect {
                break;
            }
            let Some(run) = self.best(&worker, count, now) else { break };
            has_suspect = self.jobs.get(&run).is_some_and(Job::is_suspect);
            reply.claims.extend(self.take(&run, &worker, now));
            count = count.saturating_add(1);
        }
        // A claim that finds nothing changes nothing, so that idle workers write nothing and do not wake each other.
        if !reply.claims.is_empty() {
            self.renew(worker, request.request, now);
            self.forget_starts(now);
        }
        let due = self.index.timers.first().map(|(at, _)| at.since(now));
        let soon = self.next_start(now);
        let expiry = self.index.claimed.values().flatten().filter_map(|run| self.jobs.get(run)?.claim());
        let expiry = expiry.map(|claim| claim.until.since(now)).min();
        reply.next_in = [due, soon, expiry].into_iter().flatten().min();
        Ok(reply)
    }

    /// Returns the run to claim next, if there is one for this worker.
    fn best(&self, worker: &WorkerRow, held: u32, now: Time) -> Option<RunId> {
        let serves = |queue: &QueueName| worker.queues.is_empty() || worker.queues.contains(queue);
        let mut best: Option<(Rank, &RunId)> = None;
        for (queue, ready) in &self.index.ready {
            let is_open = serves(queue) && self.paused_at(queue).is_none();
            if !is_open || !self.has_room(&Scope::Queue(queue.clone()), now) {
                continue;
            }
            for (rank, run) in ready {
                if best.is_some_and(|(best, _)| best < *rank) {
                    break;
                }
                let Some(job) = self.jobs.get(run) else { continue };
                if !self.fits(job, worker, now) {
                    continue;
                }
                if job.is_suspect() && held > 0 {
                    let ready_for = job.due_at().map(|at| now.since(at)).unwrap_or_default();
                    if ready_for > SUSPECT_PATIENCE {
                        return None;
                    }
                    continue;
                }
                best = Some((*rank, run));
                break;
            }
        }
        best.map(|(_, run)| run.clone())
    }

    /// Returns whether a worker can drive a run now: it did not decline it, and no limit of its group or capabilities is reached.
    fn fits(&self, job: &Job, worker: &WorkerRow, now: Time) -> bool {
        !job.declined.contains_key(&worker.id.instance)
            && scopes(job).skip(1).all(|scope| self.has_room(&scope, now))
    }

    /// Returns whether one more job of a scope can start now.
    fn has_room(&self, scope: &Scope, now: Time) -> bool {
        let Some(limit) = self.limits.get(&scope.limit()) else { return true };
        let running = self.index.running.get(scope).copied().unwrap_or_default();
        let has_slot = limit.concurrency.is_none_or(|most| running < most);
        // A start that a clock noted which was ahead does not block for longer than the spacing.
        let is_spaced = limit.spacing.is_none_or(|spacing| {
            self.starts.get(scope).is_none_or(|last| now >= last.plus(spacing) || now.plus(spacing) < *last)
        });
        has_slot && is_spaced
    }

    fn take(&mut self, run: &RunId, worker: &WorkerRow, now: Time) -> Option<Claim> {
        let token = Token(self.count(|counters| &mut counters.claim));
        let job = self.jobs.get(run)?;
        let lag = job.waits_for_worker_from().map(|at| now.since(at)).unwrap_or_default();
        let queue = job.queue.clone();
        let starts: Vec<Scope> = scopes(job)
            .filter(|scope| self.limits.get(&scope.limit()).is_some_and(|l| l.spacing.is_some()))
            .collect();
        for scope in starts {
            self.change(Row::Start(scope, now));
        }
        self.change_job(run, |job| {
            job.state = JobState::Claimed(ClaimRow {
                worker: worker.id.clone(),
                token,
                since: now,
                until: now.plus(worker.lease),
                lease: worker.lease,
            });
        });
        Some(Claim { run: run.clone(), token, lease: worker.lease, queue, lag })
    }

    /// Returns the time until a spaced scope with ready jobs may start its next one.
    fn next_start(&self, now: Time) -> Option<Millis> {
        let waits = self.starts.iter().filter_map(|(scope, last)| {
            let spacing = self.limits.get(&scope.limit())?.spacing?;
            let next = last.plus(spacing);
            (next > now).then(|| next.since(now))
        });
        if self.index.ready.is_empty() { None } else { waits.min() }
    }

    /// Forgets starts that no longer hold anything up.
    fn forget_starts(&mut self, now: Time) {
        let is_over = |(scope, last): &(&Scope, &Time)| {
            let spacing = self.limits.get(&scope.limit()).and_then(|limit| limit.spacing);
            spacing.is_none_or(|spacing| now >= last.plus(spacing))
        };
        let over: BTreeSet<Scope> = self
            .starts
            .iter()
            .filter(is_over)
            .map(|(scope, _)| scope.clone())
            .take(FORGOTTEN_STARTS_MAX)
            .collect();
        for scope in over {
            self.change(Row::Gone(Key::Start(scope)));
        }
    }
}
