//! The command line as people meet it: every test runs the binary in a folder and an environment of its own.

mod bundle;
mod changed;
mod document;
mod hash;
mod help;
mod inspect;
mod kill;
mod pipe;
mod review;
mod run;
mod same_bytes;
mod schema;
mod store;
mod strange_ids;
mod trace;
mod verify;
mod world;
