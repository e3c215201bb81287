//! Workers: the decisions of one ([`WorkerCore`]), and the threads that carry them out ([`Worker`]).

mod core;
mod schedules;
mod threads;

pub use core::{Action, Mode, Reply, Request, WorkerCore, WorkerOptions};
pub use threads::{NoObserver, Observer, RequestReport, Runner, StopFlag, Summary, Worker, WorkerEvent};
