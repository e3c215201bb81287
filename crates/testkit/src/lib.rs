//! Worlds and servers that the tests of several crates share.
//!
//! - [`cli`] runs the binary `hence` in a folder and an environment of its own.
//! - [`endpoint`] is a scripted HTTP endpoint on the loopback interface, [`providers`] the replies of model providers.
//! - [`model_server`] is a scripted language model on the loopback interface: it answers by what it is asked.
//! - `postgres` is a PostgreSQL server of a test's own on a unix socket, and a proxy that loses its connections.
//! - [`tls`] is a TLS server under a certificate of the tests' own authority.
//! - `variables` is a run of variables in memory, behind the feature of that name.
//!
//! Nothing of this is part of the product: only `dev-dependencies` name this crate.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue should stop"
)]

pub mod cli;
pub mod endpoint;
pub mod model_server;
#[cfg(unix)]
pub mod postgres;
pub mod providers;
pub mod tls;
#[cfg(feature = "variables")]
pub mod variables;
