//! Command lines as a shell reads them.
//!
//! [`lexer`] splits a text into words, operators and redirections, as POSIX shells and bash do. Two readers use it:
//! [`parse_pipeline`] accepts only what can be run without a shell and refuses everything else, and [`Script`] reads
//! any text as far as it can be understood, to say what was run.

mod lexer;
mod pipeline;
mod script;

pub use pipeline::{Pipeline, ShellRefusal, Simple, parse_pipeline};

pub(crate) use lexer::{ExpansionSource, Quotes, Redirect, RedirectKind, Token, TokenKind, Word};
pub(crate) use script::{Command, ForLoop, Guard, Item, Join, Script, Stage, is_name};

/// The nesting of groups and substitutions that is read; deeper ones are passed over.
const DEPTH_MAX: usize = 24;
