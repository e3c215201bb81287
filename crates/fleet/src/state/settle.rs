//! The end of a claim, and what people ask of a job.

use std::collections::BTreeSet;

use hence_store::RunId;

use super::QueueState;
use super::worker::clear_requests;
use crate::error::Refusal;
use crate::job::{DECLINED_MAX, Declined, Job, JobState, Token, Wait, cut_reason};
use crate::names::{Millis, Time};

/// The number of failed drives after which a job is dead.
pub const FAILURES_MAX: u32 = 8;

/// The wait after the first failure; it doubles with each further one.
pub const BACKOFF_FIRST: Millis = Millis::seconds(1);

/// The longest wait between two tries.
pub const BACKOFF_MAX: Millis = Millis::seconds(5 * 60);

/// The longest wait while somebody else writes the run.
const BUSY_WAIT_MAX: Millis = Millis::seconds(30);

/// The shortest time after which a parked run is driven to see whether a wake was lost.
pub const LOOK_MIN: Millis = Millis::seconds(60);

/// The longest such time.
pub const LOOK_MAX: Millis = Millis::seconds(6 * 60 * 60);

/// The end of a claim, as its worker reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The run ended.
    Ended {
        /// The status of the run.
        status: String,
    },
    /// The run waits.
    Parked(Wait),
    /// Driving stopped with an error that another try may not meet.
    Failed {
        /// The reason.
        reason: String,
    },
    /// Driving stopped with an error that stays until a person acts.
    Hopeless {
        /// The reason.
        reason: String,
    },
    /// The worker stopped at a safe point, because it ends or was asked to.
    Released,
    /// Somebody else writes the run.
    Busy {
        /// The holder of the run's lease, as far as it is known.
        holder: String,
    },
    /// This worker cannot drive the run; another one may.
    Declined {
        /// The reason, such as a missing capability.
        reason: String,
    },
}

/// The result of waking a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeReply {
    /// The run was parked and is ready now.
    Woken,
    /// A worker drives the run; it is driven again afterwards.
    Noted,
    /// Nothing had to change: the run is ready, settled or in no queue.
    Nothing,
}

/// The result of cancelling a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelReply {
    /// The job is cancelled.
    Cancelled(Job),
    /// A worker drives the run; the job is cancelled when it stops.
    Asked(Job),
    /// The job was settled before. Nothing changed.
    Settled(Job),
}

/// Returns the wait after `tries` tries, which doubles up to `most`.
pub fn backoff(tries: u32, most: Millis) -> Millis {
    let doublings = tries.saturating_sub(1).min(32);
    let wait = BACKOFF_FIRST.get().saturating_mul(1 << doublings);
    Millis::new(wait.min(most.get()))
}

impl QueueState {
    /// Ends a claim.
    ///
    /// # Errors
    /// [`Refusal::ClaimLost`] when it is no longer held: it expired, or an earlier report arrived although its reply did not.
    pub fn settle(
        &mut self,
        run: &RunId,
        token: Token,
        settlement: &Settlement,
        now: Time,
    ) -> Result<Job, Refusal> {
        let job = self.jobs.get(run).filter(|job| job.claim().is_some_and(|claim| claim.token == token));
        let mut job = job.cloned().ok_or_else(|| Refusal::ClaimLost(run.clone()))?;
        self.conclude(&mut job, settlement, now);
        clear_requests(&mut job);
        self.change(crate::rows::Row::Job(job.clone()));
        self.after_settling(run, now);
        if let (JobState::Cancelled { .. }, Settlement::Parked(Wait::Children(children))) =
            (&job.state, settlement)
        {
            self.cancel_children(children, now);
        }
        Ok(job)
    }

    /// Wakes the parents of a job that is settled, and forgets the oldest ended jobs.
    pub(super) fn after_settling(&mut self, run: &RunId, now: Time) {
        if self.jobs.get(run).is_some_and(Job::is_settled) {
            self.wake_parents(run, now);
            self.forget_ended();
        }
    }

    fn conclude(&self, job: &mut Job, settlement: &Settlement, now: Time) {
        let instance = job.claim().map(|claim| claim.worker.clone());
        if !matches!(settlement, Settlement::Busy { .. }) {
            job.busy = 0;
        }
        if !matches!(settlement, Settlement::Parked(Wait::Person(_) | Wait::Children(_))) {
            job.waiting_since = None;
        }
        job.state = match settlement {
            Settlement::Ended { status } => JobState::Ended { status: cut_reason(status), at: now },
            // Nothing more happens to a cancelled job, unless its run has ended.
            _ if job.cancel_wanted => JobState::Cancelled { at: now },
            Settlement::Parked(wait) => {
                // A drive that got to a wait shows that the run does not kill its worker.
                job.crashes = 0;
                self.park(job, wait, now)
            }
            Settlement::Failed { reason } => {
                job.failures = job.failures.saturating_add(1);
                job.note = Some(cut_reason(reason));
                match job.failures {
                    FAILURES_MAX.. => JobState::Dead { at: now },
                    failures => JobState::Ready { at: now.plus(backoff(failures, BACKOFF_MAX)) },
                }
            }
            Settlement::Hopeless { reason } => {
                job.note = Some(cut_reason(reason));
                JobState::Dead { at: now }
            }
            Settlement::Released => JobState::Ready { at: now },
            Settlement::Busy { holder } => {
                job.busy = job.busy.saturating_add(1);
                job.note = Some(cut_reason(&format!("the run was being written by {holder}")));
                JobState::Ready { at: now.plus(backoff(job.busy, BUSY_WAIT_MAX)) }
            }
            Settlement::Declined { reason } => {
                job.note = Some(cut_reason(reason));
                if let Some(id) = instance {
                    job.declined
                        .insert(id.instance, Declined { worker: id.name, reason: cut_reason(reason) });
                }
                while job.declined.len() > DECLINED_MAX {
                    job.declined.pop_first();
                }
                JobState::Ready { at: now }
            }
        };
    }

    /// Returns the state of a run that waits. A wake that came while the run was driven is not lost, nor is the end of its last child.
    fn park(&self, job: &mut Job, wait: &Wait, now: Time) -> JobState {
        let since = job.claim().map_or(now, |claim| claim.since);
        let missed = |children: &BTreeSet<RunId>| {
            let settled = |child: &RunId| self.jobs.get(child).and_then(|child| child.state.settled_at());
            let is_recent = children.iter().filter_map(settled).any(|at| at >= since);
            is_recent && children.iter().all(|child| self.is_over(child))
        };
        let (wait, look_at) = match wait {
            _ if job.wake_wanted => return JobState::Ready { at: now },
            Wait::Until(at) => (Wait::Until(*at), *at),
            Wait::Person(place) => (Wait::Person(cut_reason(place)), next_look(job, now)),
            Wait::Children(children) if missed(children) => return JobState::Ready { at: now },
            Wait::Children(children) => (Wait::Children(children.clone()), next_look(job, now)),
        };
        JobState::Parked { wait, look_at }
    }

    /// Returns whether the queue does nothing more with a child.
    fn is_over(&self, child: &RunId) -> bool {
        self.jobs.get(child).is_none_or(Job::is_settled)
    }

    fn wake_parents(&mut self, child: &RunId, now: Time) {
        let parents: Vec<RunId> = self.index.parents.get(child).into_iter().flatten().cloned().collect();
        for parent in parents {
            let is_due = match self.jobs.get(&parent).map(|job| &job.state) {
                Some(JobState::Parked { wait: Wait::Children(children), .. }) => {
                    children.iter().all(|child| self.is_over(child))
                }
                _ => false,
            };
            if is_due {
                self.change_job(&parent, |job| job.state = JobState::Ready { at: now });
            }
        }
    }

    /// Wakes a run: what it waits for happened.
    pub fn wake(&mut self, run: &RunId, now: Time) -> WakeReply {
        match self.jobs.get(run).map(|job| &job.state) {
            Some(JobState::Parked { .. }) => {
                self.change_job(run, |job| job.state = JobState::Ready { at: now });
                WakeReply::Woken
            }
            Some(JobState::Claimed(_)) => {
                self.change_job(run, |job| job.wake_wanted = true);
                WakeReply::Noted
            }
            _ => WakeReply::Nothing,
        }
    }

    /// Cancels jobs that a cancelled job waited for, and those that they wait for.
    fn cancel_children(&mut self, children: &BTreeSet<RunId>, now: Time) {
        for child in children {
            // A child in no queue needs nothing.
            let _ = self.cancel(child, now);
        }
    }

    /// Cancels a job, and the jobs of the nested runs that it waits for. The runs stay as they are; submitting the job again continues
    /// them.
    ///
    /// # Errors
    /// [`Refusal::NoSuchJob`].
    pub fn cancel(&mut self, run: &RunId, now: Time) -> Result<CancelReply, Refusal> {
        let job = self.jobs.get(run).ok_or_else(|| Refusal::NoSuchJob(run.clone()))?;
        let is_claimed = job.claim().is_some();
        // A job that is stuck needs somebody; cancelling it says that nobody will come, also where its run is gone.
        let is_stuck = matches!(job.state, JobState::Dead { .. } | JobState::Quarantined { .. });
        if job.is_settled() && !is_stuck {
            return Ok(CancelReply::Settled(job.clone()));
        }
        let children = match &job.state {
            JobState::Parked { wait: Wait::Children(children), .. } => children.clone(),
            _ => BTreeSet::new(),
        };
        self.change_job(run, |job| match is_claimed {
            true => job.cancel_wanted = true,
            false => job.state = JobState::Cancelled { at: now },
        });
        self.after_settling(run, now);
        self.cancel_children(&children, now);
        let job = self.jobs.get(run).cloned().ok_or_else(|| Refusal::NoSuchJob(run.clone()))?;
        Ok(if is_claimed { CancelReply::Asked(job) } else { CancelReply::Cancelled(job) })
    }
}

/// Returns when to look whether a wake was lost: after a minute, then each time after as long again as the run has waited.
fn next_look(job: &mut Job, now: Time) -> Time {
    let since = *job.waiting_since.get_or_insert(now);
    let waited = now.since(since).get().clamp(LOOK_MIN.get(), LOOK_MAX.get());
    now.plus(Millis::new(waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_limit() {
        let waits: Vec<u64> = (1..=11).map(|tries| backoff(tries, BACKOFF_MAX).get() / 1000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(backoff(u32::MAX, BACKOFF_MAX), BACKOFF_MAX);
    }
}
