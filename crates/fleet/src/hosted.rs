//! Queues that are a [`QueueState`] and a place to store its rows.

use std::collections::BTreeSet;

use hence_store::RunId;

use crate::error::{QueueError, Refusal};
use crate::job::{Job, NewJob, Token, WorkerId};
use crate::names::{CapabilityName, QueueName, ScheduleName, Time, WorkerName};
use crate::queue::JobQueue;
use crate::rows::{Key, Limit, LimitScope, Schedule, WorkerRow};
use crate::state::{
    CancelReply, ClaimReply, ClaimRequest, Heartbeat, JobFilter, NewWorker, QueueReport, QueueState,
    Settlement, SubmitReply, WakeReply,
};

/// The promise that a change needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It survives power loss: a person was told about it.
    Synced,
    /// It survives the death of the process. Power loss ends the workers too, and then claims, heartbeats and reports of workers
    /// are worth nothing: the run is driven again, and its journal says how far it was.
    Buffered,
}

/// A place that stores the rows of a queue.
pub trait Host: Send + Sync {
    /// Returns the time by the queue's clock.
    ///
    /// # Errors
    /// [`QueueError`] when the place cannot be reached.
    fn now(&self) -> Result<Time, QueueError>;

    /// Returns a number that changes when the rows do.
    fn version(&self) -> u64;

    /// Returns what somebody should know since the last call.
    fn take_remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reads the state as it is stored now.
    ///
    /// # Errors
    /// [`QueueError`] when the place cannot be reached or read.
    fn read<T>(&self, look: impl FnOnce(&QueueState) -> T) -> Result<T, QueueError>;

    /// Changes the state and stores the rows that changed, all or none.
    ///
    /// # Errors
    /// [`QueueError::Refused`] when the edit is refused; any other error leaves open whether the rows are stored.
    fn change<T>(
        &self,
        promise: Promise,
        edit: impl FnOnce(&mut QueueState, Time) -> Result<T, Refusal>,
    ) -> Result<T, QueueError>;

    /// Reads the state as [`read`](Self::read) does, for a look that needs only the rows of these keys. A place from which reading
    /// everything is slow reads only them.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn read_rows<T>(&self, keys: &[Key], look: impl FnOnce(&QueueState) -> T) -> Result<T, QueueError> {
        let _ = keys;
        self.read(look)
    }

    /// Changes the state as [`change`](Self::change) does, by an edit that reads and changes only the rows of these keys unless it
    /// refuses. It may be called twice: a refusal is decided with all rows.
    ///
    /// # Errors
    /// As for [`change`](Self::change).
    fn change_rows<T>(
        &self,
        promise: Promise,
        keys: &[Key],
        edit: impl Fn(&mut QueueState, Time) -> Result<T, Refusal>,
    ) -> Result<T, QueueError> {
        let _ = keys;
        self.change(promise, edit)
    }
}

/// A queue that applies its rules in this process and stores rows in a place of its own.
#[derive(Debug)]
pub struct HostedQueue<H>(pub(crate) H);

impl<H> HostedQueue<H> {
    /// Makes the queue of a place.
    pub fn at_host(host: H) -> Self {
        Self(host)
    }
}

impl<H: Host> JobQueue for HostedQueue<H> {
    fn now(&self) -> Result<Time, QueueError> {
        self.0.now()
    }

    fn version(&self) -> u64 {
        self.0.version()
    }

    fn take_remarks(&self) -> Vec<String> {
        self.0.take_remarks()
    }

    fn submit(&self, new: &NewJob) -> Result<SubmitReply, QueueError> {
        let keys = [Key::Job(new.run.clone()), Key::Queue(new.queue.clone()), Key::Counters];
        self.0.change_rows(Promise::Synced, &keys, |state, now| state.submit(new, now))
    }

    fn claim(&self, request: &ClaimRequest) -> Result<ClaimReply, QueueError> {
        self.0.change(Promise::Buffered, |state, now| state.claim(request, now))
    }

    fn heartbeat(
        &self,
        id: &WorkerId,
        request: u64,
        held: &BTreeSet<Token>,
    ) -> Result<Heartbeat, QueueError> {
        self.0.change(Promise::Buffered, |state, now| state.heartbeat(id, request, held, now))
    }

    fn settle(&self, run: &RunId, token: Token, settlement: &Settlement) -> Result<Job, QueueError> {
        self.0.change(Promise::Buffered, |state, now| state.settle(run, token, settlement, now))
    }

    fn wake(&self, run: &RunId) -> Result<WakeReply, QueueError> {
        self.0.change_rows(Promise::Synced, &[Key::Job(run.clone())], |state, now| Ok(state.wake(run, now)))
    }

    fn cancel(&self, run: &RunId) -> Result<CancelReply, QueueError> {
        self.0.change(Promise::Synced, |state, now| state.cancel(run, now))
    }

    fn job(&self, run: &RunId) -> Result<Option<Job>, QueueError> {
        self.0.read_rows(&[Key::Job(run.clone())], |state| state.job(run).cloned())
    }

    fn has_queue(&self, queue: &QueueName) -> Result<bool, QueueError> {
        self.0.read_rows(&[Key::Queue(queue.clone())], |state| state.has_queue(queue))
    }

    fn paused_since(&self, queue: &QueueName) -> Result<Option<Time>, QueueError> {
        self.0.read_rows(&[Key::Queue(queue.clone())], |state| state.paused_at(queue))
    }

    fn jobs(&self, filter: &JobFilter) -> Result<Vec<Job>, QueueError> {
        self.0.read(|state| state.jobs(filter))
    }

    fn queues(&self) -> Result<Vec<QueueReport>, QueueError> {
        let now = self.0.now()?;
        self.0.read(|state| state.queues(now))
    }

    fn add_queue(&self, queue: &QueueName) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| {
            state.add_queue(queue);
            Ok(())
        })
    }

    fn remove_queue(&self, queue: &QueueName) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| state.remove_queue(queue))
    }

    fn pause(&self, queue: &QueueName) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, now| state.pause(queue, now))
    }

    fn resume(&self, queue: &QueueName) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| state.resume(queue))
    }

    fn set_limit(&self, scope: &LimitScope, limit: Limit) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| state.set_limit(scope, limit))
    }

    fn capability_limits(&self) -> Result<Vec<(CapabilityName, Limit)>, QueueError> {
        self.0.read(QueueState::capability_limits)
    }

    fn register(&self, new: &NewWorker) -> Result<WorkerId, QueueError> {
        self.0.change(Promise::Buffered, |state, now| state.register(new, now))
    }

    fn unregister(&self, id: &WorkerId) -> Result<(), QueueError> {
        self.0.change(Promise::Buffered, |state, now| {
            state.unregister(id, now);
            Ok(())
        })
    }

    fn restored(&self) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, now| {
            state.restored(now);
            Ok(())
        })
    }

    fn workers(&self) -> Result<Vec<WorkerRow>, QueueError> {
        self.0.read(QueueState::workers)
    }

    fn drain(&self, name: &WorkerName) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| state.drain(name))
    }

    fn put_schedule(&self, schedule: &Schedule) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| state.put_schedule(schedule.clone()))
    }

    fn remove_schedule(&self, name: &ScheduleName) -> Result<(), QueueError> {
        self.0.change(Promise::Synced, |state, _| state.remove_schedule(name))
    }

    fn schedules(&self) -> Result<Vec<Schedule>, QueueError> {
        self.0.read(QueueState::schedules)
    }

    fn due_schedules(&self) -> Result<Vec<Schedule>, QueueError> {
        let now = self.0.now()?;
        self.0.read(|state| state.due_schedules(now))
    }

    fn fired(
        &self,
        name: &ScheduleName,
        due: Time,
        next_at: Option<Time>,
        outcome: Result<Time, &str>,
    ) -> Result<(), QueueError> {
        // Synced: a schedule that fires again because this was lost submits a run that exists, which changes nothing, but the
        // run's job may be forgotten by then.
        self.0.change(Promise::Synced, |state, now| {
            state.fired(name, due, next_at, outcome, now);
            Ok(())
        })
    }
}
