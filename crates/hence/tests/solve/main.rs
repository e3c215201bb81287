//! `hence solve` with the real worker, the real client and a scripted model server. Without the worker these tests say so
//! and pass.
#![cfg(feature = "models")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod commands;
mod forged;
mod limits;
mod refusals;
mod scripted;
mod tasks;
