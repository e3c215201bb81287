//! Capabilities: the functions that steps of skills call.
//!
//! - A [`Library`] holds built-in functions on text, data, tables, numbers, dates, digests, decisions, rules and
//!   evidence. They are pure: the same input gives the same output, so a replay calls them again.
//! - [`Declarations`] are read from capabilities files: contract, effects, safety rules, and the [`Provider`] that
//!   executes calls. Its outputs are recorded, so a replay calls only deterministic providers.
//! - `command` is a provider that starts a program without a shell, passes JSON to it, and returns within its time
//!   limit. Other crates add their own [`ProviderKind`] to [`Kinds`].
//!
//! This crate writes no journal and knows no run. Built-in functions read no clock, no files and no environment.
//!
//! ```
//! use hence_capabilities::Library;
//! use hence_canon::parse;
//!
//! let library = Library::built_in();
//! let input = parse(br#"{"values": [1, 2, 9007199254740993]}"#)?;
//! let output = library.call_built_in("number.sum", &input).expect("it is there")?;
//! assert_eq!(output.get("sum").map(ToString::to_string).as_deref(), Some("9007199254740996"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod action;
mod amount;
mod arguments;
mod builtin;
pub mod client;
mod command;
pub mod contract;
mod data;
mod date;
mod decision;
mod digest;
mod evidence;
mod examples;
mod exchange;
mod families;
mod fixed_input;
mod http;
mod human;
mod library;
mod number;
pub mod orca;
mod order;
mod outside;
pub mod process;
mod provider;
mod refusal;
pub mod registry;
mod rules;
mod ruling;
pub mod secret;
mod table;
pub mod template;
mod text;
mod unbound;
mod wait;
mod worker;

pub use exchange::{EXCHANGE_BYTES_MAX, EXCHANGE_REST_BYTES, EXCHANGE_TEXT_BYTES_MAX, ExchangeStore};
pub use human::{HUMAN_ASK, check_answer};
pub use library::Library;
pub use provider::{Kinds, Provider, ProviderCall, ProviderKind, SecretValues};
pub use refusal::Refusal;
pub use registry::{Declarations, Source};
pub use wait::TIMERS;

#[cfg(test)]
mod testing;
