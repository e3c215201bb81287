//! Many runs, many workers: a queue that names runs, and workers that drive them.
//!
//! A queue holds no truth about runs. A job names a run of a store; a worker claims it and drives the run as `hence resume`
//! does. The run's own lease and fence in the store keep two workers from appending; the claim only decides who tries.
//!
//! [`QueueState`] is the rules, without a clock and without I/O. [`JobQueue`] is the contract of a queue that processes share;
//! [`FolderQueue`] and [`MemoryQueue`] implement it, and the module `contract` (feature `contract`) tests any implementation.
//! [`WorkerCore`] decides what a worker does next; [`Worker`] does it with threads.
//!
//! This crate knows nothing about journals, skills or terminals: what driving a run means is the caller's [`Runner`].
//!
//! ```
//! use hence_fleet::{ClaimRequest, JobQueue as _, MemoryQueue, Millis, NewJob, NewWorker, Settlement, WorkerName};
//! use hence_store::RunId;
//!
//! let queue = MemoryQueue::new();
//! queue.submit(&NewJob::of(RunId::new("refund-42")?))?;
//!
//! let worker = queue.register(&NewWorker {
//!     name: WorkerName::new("night")?,
//!     about: "an example".to_owned(),
//!     queues: Default::default(),
//!     concurrency: 1,
//!     lease: Millis::seconds(10),
//!     nonce: 7,
//! })?;
//! let reply = queue.claim(&ClaimRequest { worker, request: 1, max: 1 })?;
//! let claim = reply.claims.first().ok_or("nothing to do")?;
//! let job = queue.settle(&claim.run, claim.token, &Settlement::Ended { status: "completed".to_owned() })?;
//! assert_eq!(job.state.word(), "ended");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod cron;
mod error;
mod folder;
mod hosted;
mod job;
mod memory;
mod names;
mod queue;
mod rows;
mod state;
mod wire;
mod worker;

pub use clock::{Clock, SystemClock};
pub use cron::{Cron, CronError, Zone};
pub use error::{QueueError, Refusal};
pub use folder::{CutTail, Folder, FolderFinding, FolderQueue, LOCK_WAIT};
pub use hosted::{Host, HostedQueue, Promise};
pub use job::{
    CAPABILITIES_MAX, CHILDREN_MAX, ClaimRow, DECLINED_MAX, Declined, Job, JobState, NewJob,
    REASON_BYTES_MAX, Token, Wait, WorkerId,
};
pub use memory::{Memory, MemoryQueue};
pub use names::{
    CapabilityName, DEFAULT_QUEUE, GroupName, InvalidName, LABEL_BYTES_MAX, Millis, NAME_BYTES_MAX,
    QueueName, ScheduleName, Time, WorkerName,
};
pub use queue::JobQueue;
pub use rows::{
    Counters, Key, Limit, LimitScope, PAYLOAD_BYTES_MAX, QueueRow, Row, Schedule, Scope, WorkerRow,
};
pub use state::*;
pub use worker::*;
