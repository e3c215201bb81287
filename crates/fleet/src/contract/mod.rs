//! Tests that every [`JobQueue`] must pass.
//!
//! An implementation provides a [`Place`] for queues of its kind and declares one test module:
//!
//! ```
//! # #[cfg(test)]
//! mod contract {
//!     hence_fleet::contract_tests!(hence_fleet::contract::MemoryPlace::new());
//! }
//! ```
//!
//! Each test asks for a fresh place, so tests may run at the same time. A test fails by panicking.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod claiming;
mod jobs;
mod operating;
mod workers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hence_store::RunId;

use crate::{
    Claim, ClaimRequest, Clock, FolderQueue, Job, JobQueue, MemoryQueue, Millis, NewJob, NewWorker,
    QueueName, Settlement, Time, WorkerId, WorkerName,
};

/// A place that holds one queue, can be opened any number of times, and has a clock that tests move.
pub trait Place: Sync {
    /// Opens the queue. Queues opened at one place share their content.
    fn open(&self) -> Box<dyn JobQueue>;

    /// Lets so much time pass by the queue's clock, or a little more.
    fn pass(&self, time: Millis);
}

/// A clock that stands still until a test moves it.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    /// Returns a clock that stands at an instant in November 2026.
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_795_000_000_000)))
    }

    /// Moves the clock forward.
    pub fn pass(&self, time: Millis) {
        self.0.fetch_add(time.get(), Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, time: Time) {
        self.0.store(time.millis(), Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A place in memory.
#[derive(Debug)]
pub struct MemoryPlace {
    queue: MemoryQueue,
    clock: TestClock,
}

impl MemoryPlace {
    /// Returns an empty place.
    pub fn new() -> Self {
        let clock = TestClock::new();
        Self { queue: MemoryQueue::with_clock(Arc::new(clock.clone())), clock }
    }
}

impl Default for MemoryPlace {
    fn default() -> Self {
        Self::new()
    }
}

impl Place for MemoryPlace {
    fn open(&self) -> Box<dyn JobQueue> {
        Box::new(self.queue.clone())
    }

    fn pass(&self, time: Millis) {
        self.clock.pass(time);
    }
}

/// A place in a folder.
#[derive(Debug)]
pub struct FolderPlace<P> {
    folder: P,
    clock: TestClock,
}

impl<P: AsRef<std::path::Path>> FolderPlace<P> {
    /// Returns the place in a folder that exists.
    pub fn new(folder: P) -> Self {
        Self { folder, clock: TestClock::new() }
    }
}

impl<P: AsRef<std::path::Path> + Sync> Place for FolderPlace<P> {
    fn open(&self) -> Box<dyn JobQueue> {
        Box::new(FolderQueue::with_clock(self.folder.as_ref().join("queue"), Arc::new(self.clock.clone())))
    }

    fn pass(&self, time: Millis) {
        self.clock.pass(time);
    }
}

/// One test of the contract.
pub type Test = fn(&dyn Place);

macro_rules! contract {
    ($($module:ident: $($name:ident),+;)+) => {
        /// Every test of the contract with its name.
        pub const ALL: &[(&str, Test)] = &[$($((stringify!($name), $module::$name)),+),+];

        $($(
            #[doc = concat!("See the test's name: ", stringify!($name), ".")]
            pub fn $name(place: &dyn Place) {
                $module::$name(place);
            }
        )+)+

        /// Declares a `#[test]` for each test of the contract. The argument creates a fresh [`Place`](crate::contract::Place).
        #[macro_export]
        macro_rules! contract_tests {
            ($place:expr) => {
                $($(
                    #[test]
                    fn $name() {
                        $crate::contract::$name(&$place);
                    }
                )+)+
            };
        }
    };
}

contract! {
    jobs:
        a_run_is_queued_once,
        a_settled_run_is_queued_afresh_unless_it_ended,
        a_parked_run_waits_until_it_is_woken,
        a_wake_during_a_drive_is_not_lost,
        a_parked_run_is_looked_at_now_and_then,
        a_timer_is_due_at_its_time,
        a_parent_is_ready_when_its_last_child_is_over,
        a_child_that_ends_before_its_parent_parks_is_noticed,
        cancelling_a_parent_cancels_what_it_waits_for,
        a_failed_drive_is_tried_again_later_and_later_until_it_is_dead,
        a_hopeless_run_is_dead_at_once,
        a_busy_run_is_tried_again_without_counting,
        a_run_that_a_worker_declined_goes_to_another,
        cancelling_a_waiting_job_ends_it,
        cancelling_a_claimed_job_asks_its_worker;
    claiming:
        the_highest_priority_comes_first_then_the_oldest,
        a_job_is_not_claimed_before_its_time,
        a_worker_claims_only_from_its_queues,
        a_paused_queue_keeps_its_jobs,
        a_queue_obeys_its_concurrency,
        each_group_obeys_its_own_concurrency,
        a_capability_obeys_its_concurrency,
        starts_of_a_queue_are_spaced,
        of_many_that_claim_each_job_goes_to_one,
        a_settled_claim_cannot_be_settled_again,
        jobs_are_listed_in_pages;
    workers:
        a_heartbeat_keeps_claims_alive,
        a_claim_that_is_not_renewed_goes_to_another_worker,
        a_run_that_kills_its_workers_is_quarantined,
        a_run_whose_worker_died_is_driven_alone,
        a_claim_whose_reply_was_lost_is_released_by_the_next_heartbeat,
        a_late_request_is_refused,
        two_live_workers_never_have_one_name,
        a_repeated_registration_is_the_same_one,
        a_worker_that_ends_releases_its_claims,
        a_worker_is_told_to_drain,
        a_restored_queue_knows_no_claims_and_no_workers,
        unreasonable_workers_are_refused;
    operating:
        unknown_queues_are_refused_by_name,
        a_queue_is_removed_when_nothing_uses_it,
        unreasonable_limits_are_refused,
        queues_report_their_jobs,
        a_schedule_fires_once_for_each_time,
        everything_is_there_when_the_queue_is_opened_again;
}

fn run(text: &str) -> RunId {
    RunId::new(text).expect("a valid run id")
}

fn queue_name(text: &str) -> QueueName {
    QueueName::new(text).expect("a valid name of a queue")
}

fn submit(queue: &dyn JobQueue, name: &str) {
    queue.submit(&NewJob::of(run(name))).expect("a job is queued");
}

fn job(queue: &dyn JobQueue, name: &str) -> Job {
    queue.job(&run(name)).expect("the queue is readable").expect("the run has a job")
}

fn word(queue: &dyn JobQueue, name: &str) -> &'static str {
    job(queue, name).state.word()
}

const LEASE: Millis = Millis::seconds(10);

/// A worker of a test, which numbers its requests.
struct TestWorker<'a> {
    queue: &'a dyn JobQueue,
    id: WorkerId,
    request: std::cell::Cell<u64>,
}

fn new_worker(name: &str, queues: &[&str], concurrency: u32) -> NewWorker {
    NewWorker {
        name: WorkerName::new(name).expect("a valid name of a worker"),
        about: format!("the test worker {name}"),
        queues: queues.iter().map(|name| queue_name(name)).collect(),
        concurrency,
        lease: LEASE,
        nonce: name.bytes().map(u64::from).sum(),
    }
}

fn worker<'a>(queue: &'a dyn JobQueue, name: &str) -> TestWorker<'a> {
    worker_of(queue, new_worker(name, &[], 100))
}

fn worker_of(queue: &dyn JobQueue, new: NewWorker) -> TestWorker<'_> {
    let id = queue.register(&new).expect("a new name is registered");
    TestWorker { queue, id, request: std::cell::Cell::new(0) }
}

impl TestWorker<'_> {
    fn number(&self) -> u64 {
        self.request.set(self.request.get() + 1);
        self.request.get()
    }

    fn claim(&self, max: u32) -> Vec<Claim> {
        let request = ClaimRequest { worker: self.id.clone(), request: self.number(), max };
        self.queue.claim(&request).expect("a registered worker claims").claims
    }

    fn claim_one(&self) -> Claim {
        self.claim(1).pop().expect("a job is ready")
    }

    fn runs(&self, max: u32) -> Vec<String> {
        self.claim(max).iter().map(|claim| claim.run.to_string()).collect()
    }

    fn settle(&self, claim: &Claim, settlement: Settlement) -> Job {
        self.queue.settle(&claim.run, claim.token, &settlement).expect("the claim is held")
    }

    fn end(&self, claim: &Claim) {
        self.settle(claim, Settlement::Ended { status: "completed".to_owned() });
    }

    fn beat(&self, held: &[&Claim]) -> crate::Heartbeat {
        let held: BTreeSet<_> = held.iter().map(|claim| claim.token).collect();
        self.queue.heartbeat(&self.id, self.number(), &held).expect("a registered worker renews")
    }
}
