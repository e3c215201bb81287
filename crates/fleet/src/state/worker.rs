//! Workers: registration, heartbeats, expiry.

use std::collections::BTreeSet;

use hence_store::RunId;

use super::QueueState;
use crate::error::Refusal;
use crate::job::{Job, JobState, Token, WorkerId, cut_reason};
use crate::names::{Millis, QueueName, Time, WorkerName};
use crate::rows::{Counters, Key, Row, WorkerRow};

/// The shortest lease of a claim: below it, a slow disk looks like a dead worker.
pub const LEASE_MIN: Millis = Millis::seconds(1);

/// The longest lease of a claim: a run of a dead worker waits that long.
pub const LEASE_MAX: Millis = Millis::seconds(60 * 60);

/// The most runs that one worker drives at the same time.
pub const CONCURRENCY_MAX: u32 = 1000;

/// The number of workers that a run may take down with it before it is quarantined.
pub const CRASHES_MAX: u32 = 5;

/// The time for which a dead worker is still listed.
pub const DEAD_WORKER_LISTED: Millis = Millis::seconds(60 * 60);

/// The numbers that a restored queue skips: more than are given between two backups.
const RESTORE_SKIP: u64 = 1_000_000_000;

/// A worker that registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorker {
    /// The name, which no other live worker has.
    pub name: WorkerName,
    /// A text about its process for people.
    pub about: String,
    /// The queues that it serves; all if there are none.
    pub queues: BTreeSet<QueueName>,
    /// The most runs that it drives at the same time.
    pub concurrency: u32,
    /// The duration of its claims after each renewal.
    pub lease: Millis,
    /// A number that tells the process from others. Registering again with the same number is the same registration, so a reply that
    /// was lost does not lock a worker out.
    pub nonce: u64,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// The claims that the worker no longer holds.
    pub lost: BTreeSet<Token>,
    /// The claims whose job is to be cancelled.
    pub cancelled: BTreeSet<Token>,
    /// Whether the worker is to end as soon as its runs are at a safe point.
    pub drain: bool,
}

impl QueueState {
    /// Registers a worker and returns its id.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`] by a live worker, [`Refusal::NoSuchQueue`], [`Refusal::OutOfRange`].
    pub fn register(&mut self, new: &NewWorker, now: Time) -> Result<WorkerId, Refusal> {
        for queue in &new.queues {
            self.check_queue(queue)?;
        }
        if !(LEASE_MIN..=LEASE_MAX).contains(&new.lease) {
            let what = "the lease in milliseconds";
            return Err(Refusal::OutOfRange { what, found: new.lease.get(), expected: "1000 to 3600000" });
        }
        if !(1..=CONCURRENCY_MAX).contains(&new.concurrency) {
            let (what, found) = ("the concurrency", new.concurrency.into());
            return Err(Refusal::OutOfRange { what, found, expected: "1 to 1000" });
        }
        self.expire(now);
        if let Some(row) = self.workers.get(&new.name).filter(|row| is_live(row, now)) {
            if row.nonce == new.nonce {
                return Ok(row.id.clone());
            }
            return Err(Refusal::NameTaken { name: new.name.clone(), about: row.about.clone() });
        }
        // The claims of the instance before die with it.
        self.lose_claims_of(&new.name, now);
        let instance = self.count(|counters| &mut counters.instance);
        let id = WorkerId { name: new.name.clone(), instance };
        self.change(Row::Worker(WorkerRow {
            id: id.clone(),
            about: cut_reason(&new.about),
            queues: new.queues.clone(),
            concurrency: new.concurrency,
            lease: new.lease,
            since: now,
            until: now.plus(new.lease),
            nonce: new.nonce,
            request: 0,
            drain_wanted: false,
        }));
        Ok(id)
    }

    /// Ends a worker. Claims that it still has are released without being counted as crashes.
    pub fn unregister(&mut self, id: &WorkerId, now: Time) {
        if self.workers.get(&id.name).is_some_and(|row| row.id == *id) {
            for run in self.claimed_by(&id.name) {
                self.release(&run, now);
            }
            self.change(Row::Gone(Key::Worker(id.name.clone())));
        }
    }

    /// Renews a worker and its claims.
    ///
    /// The worker names the claims it knows. A claim that it does not know is one whose reply was lost; it is released, and the crash
    /// counter of its run does not move.
    ///
    /// # Errors
    /// [`Refusal::UnknownWorker`], [`Refusal::LateRequest`].
    pub fn heartbeat(
        &mut self,
        id: &WorkerId,
        request: u64,
        held: &BTreeSet<Token>,
        now: Time,
    ) -> Result<Heartbeat, Refusal> {
        let row = self.admit(id, request)?;
        let mut answer = Heartbeat { drain: row.drain_wanted, lost: held.clone(), ..Heartbeat::default() };
        self.renew(row, request, now);
        for run in self.claimed_by(&id.name) {
            let Some(job) = self.jobs.get(&run) else { continue };
            let Some(claim) = job.claim().filter(|claim| claim.worker == *id) else { continue };
            let token = claim.token;
            if !held.contains(&token) {
                self.release(&run, now);
                continue;
            }
            answer.lost.remove(&token);
            if job.cancel_wanted {
                answer.cancelled.insert(token);
            }
            self.change_job(&run, |job| {
                if let JobState::Claimed(claim) = &mut job.state {
                    claim.until = now.plus(claim.lease);
                }
            });
        }
        Ok(answer)
    }

    /// Asks a worker to end as soon as its runs are at a safe point.
    ///
    /// # Errors
    /// [`Refusal::NoSuchWorker`].
    pub fn drain(&mut self, name: &WorkerName) -> Result<(), Refusal> {
        let Some(row) = self.workers.get(name) else { return Err(Refusal::NoSuchWorker(name.clone())) };
        let row = WorkerRow { drain_wanted: true, ..row.clone() };
        self.change(Row::Worker(row));
        Ok(())
    }

    /// Makes a queue usable that was put back to a backup.
    ///
    /// Workers that were alive then may report about records that are lost, with claims and numbers that would be given again. So every
    /// claim ends, every worker is forgotten, and numbers begin far above those that were given since the backup.
    pub fn restored(&mut self, now: Time) {
        let claimed: Vec<RunId> = self.index.claimed.values().flatten().cloned().collect();
        for run in claimed {
            self.release(&run, now);
        }
        for name in self.workers.keys().cloned().collect::<Vec<_>>() {
            self.change(Row::Gone(Key::Worker(name)));
        }
        let skip = |number: u64| number.saturating_add(RESTORE_SKIP);
        let Counters { job, claim, instance } = self.counters;
        let counters = Counters { job, claim: skip(claim), instance: skip(instance) };
        self.change(Row::Counters(counters));
    }

    /// Returns the row of a worker that sends a request.
    pub(super) fn admit(&self, id: &WorkerId, request: u64) -> Result<WorkerRow, Refusal> {
        let row = self.workers.get(&id.name).filter(|row| row.id == *id);
        let row = row.ok_or_else(|| Refusal::UnknownWorker(id.name.clone()))?;
        if request <= row.request {
            return Err(Refusal::LateRequest { name: id.name.clone(), found: request, seen: row.request });
        }
        Ok(row.clone())
    }

    /// Notes a request of a worker: it is alive.
    pub(super) fn renew(&mut self, row: WorkerRow, request: u64, now: Time) {
        self.change(Row::Worker(WorkerRow { until: now.plus(row.lease), request, ..row }));
    }

    /// Ends the claims that nobody renewed in time, and forgets workers that died long ago.
    pub(super) fn expire(&mut self, now: Time) {
        let claims = self.index.claimed.values().flatten().filter_map(|run| self.jobs.get(run));
        let mut expired = Vec::new();
        let mut ahead = Vec::new();
        for (job, claim) in claims.filter_map(|job| Some((job, job.claim()?))) {
            if claim.until <= now {
                expired.push(job.run.clone());
            } else if claim.until > now.plus(claim.lease) {
                ahead.push(job.run.clone());
            }
        }
        for run in expired {
            self.lose_claim(&run, now);
        }
        // The clock was set back since the claim was renewed. It counts as renewed now, or a dead worker would hold it for as long
        // as the clock was wrong.
        for run in ahead {
            self.change_job(&run, |job| {
                if let JobState::Claimed(claim) = &mut job.state {
                    claim.until = now.plus(claim.lease);
                }
            });
        }
        let is_ahead = |row: &&WorkerRow| row.until > now.plus(row.lease);
        let ahead: Vec<WorkerRow> = self.workers.values().filter(is_ahead).cloned().collect();
        for row in ahead {
            self.change(Row::Worker(WorkerRow { until: now.plus(row.lease), ..row }));
        }
        let is_gone = |row: &&WorkerRow| now.since(row.until) > DEAD_WORKER_LISTED;
        let gone: Vec<WorkerName> =
            self.workers.values().filter(is_gone).map(|row| row.id.name.clone()).collect();
        for name in gone {
            self.change(Row::Gone(Key::Worker(name)));
        }
    }

    /// Returns the runs that a worker has claimed.
    pub(super) fn claimed_by(&self, name: &WorkerName) -> Vec<RunId> {
        self.index.claimed.get(name.as_str()).into_iter().flatten().cloned().collect()
    }

    fn lose_claims_of(&mut self, name: &WorkerName, now: Time) {
        for run in self.claimed_by(name) {
            self.lose_claim(&run, now);
        }
    }

    /// Ends a claim whose worker died: the run is ready again, or quarantined when it took down too many.
    fn lose_claim(&mut self, run: &RunId, now: Time) {
        self.change_job(run, |job| {
            let worker = job.claim().map(|claim| claim.worker.name.to_string()).unwrap_or_default();
            job.crashes = job.crashes.saturating_add(1);
            job.note = Some(format!("worker {worker} died or lost its connection while it drove the run"));
            job.state = match job.crashes {
                _ if job.cancel_wanted => JobState::Cancelled { at: now },
                CRASHES_MAX.. => JobState::Quarantined { at: now },
                _ => JobState::Ready { at: now },
            };
            clear_requests(job);
        });
        self.after_settling(run, now);
    }

    /// Ends a claim without counting a crash.
    pub(super) fn release(&mut self, run: &RunId, now: Time) {
        self.change_job(run, |job| {
            job.state = match job.cancel_wanted {
                true => JobState::Cancelled { at: now },
                false => JobState::Ready { at: now },
            };
            clear_requests(job);
        });
        self.after_settling(run, now);
    }
}

/// Forgets what was asked of a job while it was claimed. A job that is ready needs no wake.
pub(super) fn clear_requests(job: &mut Job) {
    job.wake_wanted = false;
    job.cancel_wanted = false;
}

/// Returns whether a worker renewed in time.
pub(super) fn is_live(row: &WorkerRow, now: Time) -> bool {
    row.until > now
}
