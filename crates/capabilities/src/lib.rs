//! What steps of skills call.
//!
//! - A [`Library`] holds built-in functions on text, data, tables, numbers, dates, digests, decisions, rules and
//!   evidence. They are pure: the same input gives the same output, so a replay calls them again.
//! - [`Commands`] are programs that a person declared. Each call starts one without a shell, hands it JSON, and returns
//!   on time; what it said is recorded, so a replay never starts it.
//!
//! It keeps no journal and knows no run. Built-in functions read no clock, no files and no environment.
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
mod command;
mod data;
mod date;
mod decision;
mod digest;
mod evidence;
mod library;
mod number;
mod order;
mod refusal;
mod rules;
mod table;
mod text;
mod worker;

pub use command::{Commands, InvalidCommands, OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_MAX};
pub use library::Library;
pub use refusal::Refusal;

#[cfg(test)]
mod testing;
