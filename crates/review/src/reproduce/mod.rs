//! Reproducing actions: what to run, whether running it is safe, and whether it gave the same.
//!
//! Nothing is run here. A command is read by a tokenizer that knows the shell's syntax, and everything a shell
//! would add to it — chains, substitutions, redirections — makes it unsafe; what is left is judged by program and
//! arguments. Programs nobody has judged are unknown, and unknown is never run unasked.

mod candidate;
mod class;
mod compare;
mod program;
mod shell;

pub use candidate::{Candidate, candidates};
pub use class::{CommandClass, Judgement, judge};
pub use compare::{Reproduction, compare};
pub use shell::{Pipeline, ShellRefusal, Simple, parse_pipeline};
