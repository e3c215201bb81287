//! The contract of a queue.

use std::collections::BTreeSet;

use hence_store::RunId;

use crate::error::QueueError;
use crate::job::{Job, NewJob, Token, WorkerId};
use crate::names::{CapabilityName, QueueName, ScheduleName, Time, WorkerName};
use crate::rows::{Limit, LimitScope, Schedule, WorkerRow};
use crate::state::{
    CancelReply, ClaimReply, ClaimRequest, Heartbeat, JobFilter, NewWorker, QueueReport, Settlement,
    SubmitReply, WakeReply,
};

/// A queue of jobs that many processes share.
///
/// # Contract
/// 1. **A queue names runs and holds no truth about them.** Losing the queue loses no run: submitting a run again enqueues it.
/// 2. **Each operation takes effect whole or not at all**, also when the process dies. After [`QueueError::Refused`] nothing changed;
///    after any other error it is not known, and every operation can be repeated.
/// 3. **One claim per run.** A claim holds until it is settled, released or not renewed for its lease, by the queue's own clock. Its token
///    is never given again, also not after [`restored`](Self::restored), and an operation with an old token is refused.
/// 4. **Order.** Of the jobs that a worker may claim, the one with the highest priority is claimed first, then the oldest. Pauses, times
///    and limits are obeyed at each claim.
/// 5. **No wake is lost.** A wake that comes while a worker drives the run leads to another drive.
/// 6. **A worker has one life per registration.** Two live workers never have one name, and late requests of a worker are refused.
///
/// Operations read and change few rows, so a database can implement each as one transaction.
pub trait JobQueue: Send + Sync {
    /// Returns the time by the queue's clock.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be reached.
    fn now(&self) -> Result<Time, QueueError>;

    /// Returns a number that changes when something happened that may concern workers. Cheap; it may change without need.
    fn version(&self) -> u64;

    /// Returns what somebody should know since the last call, such as an unfinished change that was cut off.
    fn take_remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Enqueues a run, once.
    ///
    /// # Errors
    /// As for [`QueueState::submit`](crate::QueueState::submit).
    fn submit(&self, new: &NewJob) -> Result<SubmitReply, QueueError>;

    /// Claims jobs for a worker.
    ///
    /// # Errors
    /// As for [`QueueState::claim`](crate::QueueState::claim).
    fn claim(&self, request: &ClaimRequest) -> Result<ClaimReply, QueueError>;

    /// Renews a worker and the claims that it knows; claims that it does not know are released.
    ///
    /// # Errors
    /// As for [`QueueState::heartbeat`](crate::QueueState::heartbeat).
    fn heartbeat(&self, id: &WorkerId, request: u64, held: &BTreeSet<Token>)
    -> Result<Heartbeat, QueueError>;

    /// Ends a claim and returns the job as it is then.
    ///
    /// # Errors
    /// As for [`QueueState::settle`](crate::QueueState::settle).
    fn settle(&self, run: &RunId, token: Token, settlement: &Settlement) -> Result<Job, QueueError>;

    /// Wakes a parked run. Waking a run that is in no queue is no error.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be changed.
    fn wake(&self, run: &RunId) -> Result<WakeReply, QueueError>;

    /// Cancels a job; its run stays as it is.
    ///
    /// # Errors
    /// As for [`QueueState::cancel`](crate::QueueState::cancel).
    fn cancel(&self, run: &RunId) -> Result<CancelReply, QueueError>;

    /// Returns the job of a run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn job(&self, run: &RunId) -> Result<Option<Job>, QueueError>;

    /// Returns whether a queue exists.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn has_queue(&self, queue: &QueueName) -> Result<bool, QueueError>;

    /// Returns the time since which a queue is paused; `None` if it is not.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn paused_since(&self, queue: &QueueName) -> Result<Option<Time>, QueueError>;

    /// Lists jobs in the order of run ids.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn jobs(&self, filter: &JobFilter) -> Result<Vec<Job>, QueueError>;

    /// Returns the queues with the numbers of their jobs.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn queues(&self) -> Result<Vec<QueueReport>, QueueError>;

    /// Makes a queue. Making it again changes nothing.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be changed.
    fn add_queue(&self, queue: &QueueName) -> Result<(), QueueError>;

    /// Removes a queue that nothing uses.
    ///
    /// # Errors
    /// As for [`QueueState::remove_queue`](crate::QueueState::remove_queue).
    fn remove_queue(&self, queue: &QueueName) -> Result<(), QueueError>;

    /// Pauses a queue.
    ///
    /// # Errors
    /// As for [`QueueState::pause`](crate::QueueState::pause).
    fn pause(&self, queue: &QueueName) -> Result<(), QueueError>;

    /// Resumes a paused queue.
    ///
    /// # Errors
    /// As for [`QueueState::resume`](crate::QueueState::resume).
    fn resume(&self, queue: &QueueName) -> Result<(), QueueError>;

    /// Sets a limit; an empty one removes it.
    ///
    /// # Errors
    /// As for [`QueueState::set_limit`](crate::QueueState::set_limit).
    fn set_limit(&self, scope: &LimitScope, limit: Limit) -> Result<(), QueueError>;

    /// Returns the limits of capabilities.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn capability_limits(&self) -> Result<Vec<(CapabilityName, Limit)>, QueueError>;

    /// Registers a worker.
    ///
    /// # Errors
    /// As for [`QueueState::register`](crate::QueueState::register).
    fn register(&self, new: &NewWorker) -> Result<WorkerId, QueueError>;

    /// Ends a worker and releases its claims.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be changed.
    fn unregister(&self, id: &WorkerId) -> Result<(), QueueError>;

    /// Makes a queue usable that was put back to a backup: every claim ends and every worker has to register again.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be changed.
    fn restored(&self) -> Result<(), QueueError>;

    /// Returns the workers by name, also those that died in the last hour.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn workers(&self) -> Result<Vec<WorkerRow>, QueueError>;

    /// Asks a worker to end as soon as its runs are at a safe point.
    ///
    /// # Errors
    /// As for [`QueueState::drain`](crate::QueueState::drain).
    fn drain(&self, name: &WorkerName) -> Result<(), QueueError>;

    /// Stores a schedule, replacing one of that name.
    ///
    /// # Errors
    /// As for [`QueueState::put_schedule`](crate::QueueState::put_schedule).
    fn put_schedule(&self, schedule: &Schedule) -> Result<(), QueueError>;

    /// Removes a schedule.
    ///
    /// # Errors
    /// As for [`QueueState::remove_schedule`](crate::QueueState::remove_schedule).
    fn remove_schedule(&self, name: &ScheduleName) -> Result<(), QueueError>;

    /// Returns all schedules by name.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn schedules(&self) -> Result<Vec<Schedule>, QueueError>;

    /// Returns the schedules that are due.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be read.
    fn due_schedules(&self) -> Result<Vec<Schedule>, QueueError>;

    /// Notes the outcome of a due time, which is the time that got a run or the reason for which none did, and sets the next time; once
    /// for each due time.
    ///
    /// # Errors
    /// [`QueueError`] when the queue cannot be changed.
    fn fired(
        &self,
        name: &ScheduleName,
        due: Time,
        next_at: Option<Time>,
        outcome: Result<Time, &str>,
    ) -> Result<(), QueueError>;
}
