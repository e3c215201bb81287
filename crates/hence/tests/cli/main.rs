//! The command line as people meet it: every test runs the binary in a folder and an environment of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop"
)]

mod bundle;
mod changed;
mod document;
mod hash;
mod help;
mod import;
mod inspect;
mod kill;
mod pipe;
mod policy;
mod review;
mod run;
mod same_bytes;
mod schema;
mod skill;
mod store;
mod strange_ids;
mod trace;
mod verify;
mod world;
