//! Rules over traces.
mod check;
pub mod eval;
pub mod formula;
pub mod lint;
pub mod monitor;
pub mod policy;
#[cfg(test)]
mod sample;
pub mod structural;
pub mod verdict;
pub mod vocabulary;
pub use check::{FailOn, Options, Report, Summary, check, check_subject};
