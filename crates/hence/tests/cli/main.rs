//! The command line as people meet it: every test runs the binary in a folder and an environment of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop"
)]

#[cfg(feature = "models")]
mod bound;
mod bound_effects;
mod bundle;
mod capabilities;
mod changed;
mod check_files;
mod document;
mod effects;
#[cfg(feature = "models")]
#[allow(dead_code, reason = "shared with the tests of models, which use all of it")]
#[path = "../../../models/tests/endpoint/mod.rs"]
mod endpoint;
mod guard;
mod guard_positions;
mod hash;
mod help;
mod import;
mod inspect;
mod kill;
mod killed;
mod linked;
#[cfg(feature = "models")]
mod llm;
mod people;
mod pipe;
mod policy;
mod review;
mod run;
mod same_bytes;
#[cfg(feature = "models")]
#[allow(dead_code, reason = "shared with the tests of models, which use all of it")]
#[path = "../../../models/tests/endpoint/says.rs"]
mod says;
mod schema;
mod secrets;
mod skill;
mod store;
mod strange_ids;
mod trace;
mod trace_change;
mod trace_examples;
mod trace_hostile;
mod trace_outside;
mod verify;
mod world;
