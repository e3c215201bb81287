//! Submitting a job, and the queues it can be submitted to.

use super::{ENDED_JOBS_MAX, JOBS_MAX, QueueState};
use crate::error::Refusal;
use crate::job::{CAPABILITIES_MAX, Job, JobState, NewJob};
use crate::names::{Millis, QueueName, Time};
use crate::rows::{Key, Limit, LimitScope, QueueRow, Row};

/// The longest time between two starts of a limit.
pub const SPACING_MAX: Millis = Millis::seconds(24 * 60 * 60);

/// The result of submitting a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitReply {
    /// The job is new.
    Queued(Job),
    /// The job was dead, quarantined or cancelled, and starts afresh.
    QueuedAgain(Job),
    /// The run is queued already. Nothing changed.
    AlreadyQueued(Job),
    /// The run ended already. Nothing changed.
    AlreadyEnded(Job),
}

impl SubmitReply {
    /// Returns the job.
    pub fn job(&self) -> &Job {
        match self {
            Self::Queued(job)
            | Self::QueuedAgain(job)
            | Self::AlreadyQueued(job)
            | Self::AlreadyEnded(job) => job,
        }
    }
}

impl QueueState {
    /// Enqueues a run, once: a run that is queued already stays as it is.
    ///
    /// # Errors
    /// [`Refusal::NoSuchQueue`], [`Refusal::Full`], [`Refusal::OutOfRange`].
    pub fn submit(&mut self, new: &NewJob, now: Time) -> Result<SubmitReply, Refusal> {
        self.check_queue(&new.queue)?;
        if new.capabilities.len() > CAPABILITIES_MAX {
            let found = u64::try_from(new.capabilities.len()).unwrap_or(u64::MAX);
            return Err(Refusal::OutOfRange {
                what: "the number of capabilities",
                found,
                expected: "at most 256",
            });
        }
        let before = self.jobs.get(&new.run);
        let is_again = match before {
            Some(job) if matches!(job.state, JobState::Ended { .. }) => {
                return Ok(SubmitReply::AlreadyEnded(job.clone()));
            }
            Some(job) if !job.is_settled() => return Ok(SubmitReply::AlreadyQueued(job.clone())),
            Some(_) => true,
            None if self.jobs.len() >= JOBS_MAX => return Err(Refusal::Full(JOBS_MAX)),
            None => false,
        };
        let number = self.count(|counters| &mut counters.job);
        let job = fresh(new, number, now);
        self.change(Row::Job(job.clone()));
        Ok(if is_again { SubmitReply::QueuedAgain(job) } else { SubmitReply::Queued(job) })
    }

    /// Makes a queue. Making it again changes nothing.
    pub fn add_queue(&mut self, queue: &QueueName) {
        if !self.queues.contains_key(queue) {
            self.change(Row::Queue(QueueRow { name: queue.clone(), paused_at: None }));
        }
    }

    /// Removes a queue that nothing uses, with its limits.
    ///
    /// # Errors
    /// [`Refusal::NoSuchQueue`], [`Refusal::DefaultQueue`], [`Refusal::QueueInUse`].
    pub fn remove_queue(&mut self, queue: &QueueName) -> Result<(), Refusal> {
        self.check_queue(queue)?;
        if *queue == QueueName::default_queue() {
            return Err(Refusal::DefaultQueue);
        }
        let jobs = self.jobs.values().filter(|job| job.queue == *queue && !job.is_settled()).count();
        let schedules = self.schedules.values().filter(|schedule| schedule.queue == *queue).count();
        if jobs + schedules > 0 {
            return Err(Refusal::QueueInUse { queue: queue.clone(), jobs, schedules });
        }
        for scope in [LimitScope::Queue(queue.clone()), LimitScope::GroupsOf(queue.clone())] {
            self.change(Row::Gone(Key::Limit(scope)));
        }
        self.change(Row::Gone(Key::Queue(queue.clone())));
        Ok(())
    }

    /// Pauses a queue: its jobs stay, and none of them is claimed. Pausing again changes nothing.
    ///
    /// # Errors
    /// [`Refusal::NoSuchQueue`].
    pub fn pause(&mut self, queue: &QueueName, now: Time) -> Result<(), Refusal> {
        self.check_queue(queue)?;
        if self.paused_at(queue).is_none() {
            self.change(Row::Queue(QueueRow { name: queue.clone(), paused_at: Some(now) }));
        }
        Ok(())
    }

    /// Resumes a paused queue.
    ///
    /// # Errors
    /// [`Refusal::NoSuchQueue`].
    pub fn resume(&mut self, queue: &QueueName) -> Result<(), Refusal> {
        self.check_queue(queue)?;
        if self.paused_at(queue).is_some() {
            self.change(Row::Queue(QueueRow { name: queue.clone(), paused_at: None }));
        }
        Ok(())
    }

    /// Returns the time since which a queue is paused.
    pub fn paused_at(&self, queue: &QueueName) -> Option<Time> {
        self.queues.get(queue).and_then(|queue| queue.paused_at)
    }

    /// Sets a limit; an empty one removes it.
    ///
    /// # Errors
    /// [`Refusal::NoSuchQueue`], [`Refusal::OutOfRange`] for a concurrency of 0 (pause the queue instead) and a spacing over a day.
    pub fn set_limit(&mut self, scope: &LimitScope, limit: Limit) -> Result<(), Refusal> {
        if let LimitScope::Queue(queue) | LimitScope::GroupsOf(queue) = scope {
            self.check_queue(queue)?;
        }
        if limit.concurrency == Some(0) {
            return Err(Refusal::OutOfRange { what: "the concurrency", found: 0, expected: "at least 1" });
        }
        if let Some(spacing) = limit.spacing.filter(|spacing| *spacing > SPACING_MAX || spacing.get() == 0) {
            let what = "the time between two starts in milliseconds";
            return Err(Refusal::OutOfRange { what, found: spacing.get(), expected: "1 to 86400000" });
        }
        match limit == Limit::default() {
            true => self.change(Row::Gone(Key::Limit(scope.clone()))),
            false => self.change(Row::Limit(scope.clone(), limit)),
        }
        Ok(())
    }

    /// Forgets the oldest ended jobs above [`ENDED_JOBS_MAX`].
    pub(super) fn forget_ended(&mut self) {
        while self.index.ended.len() > ENDED_JOBS_MAX
            && let Some((_, run)) = self.index.ended.first().cloned()
        {
            self.change(Row::Gone(Key::Job(run)));
        }
    }
}

fn fresh(new: &NewJob, number: u64, now: Time) -> Job {
    Job {
        run: new.run.clone(),
        queue: new.queue.clone(),
        priority: new.priority,
        number,
        group: new.group.clone(),
        capabilities: new.capabilities.clone(),
        submitted_at: now,
        // A time that has passed makes the job due now: it did not wait before it was submitted.
        state: JobState::Ready { at: new.not_before.map_or(now, |at| at.max(now)) },
        failures: 0,
        crashes: 0,
        busy: 0,
        waiting_since: None,
        wake_wanted: false,
        cancel_wanted: false,
        note: None,
        declined: Default::default(),
    }
}
