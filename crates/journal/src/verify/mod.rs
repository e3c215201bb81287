//! Verification of a journal, level by level.

mod chain;
mod compare;
mod follow;
mod level_loop;
mod levels;
mod line;
mod reason;
mod report;
mod stretches;

pub use chain::{ChainCheck, ReadVerifiedError, check_behind, check_bytes, check_chain, read_verified};
pub use compare::first_difference;
pub use follow::Follower;
pub use level_loop::{Checks, Verifiable, verify};
pub use levels::{Trusted, check_linked, check_spec};
pub use reason::{Reason, ReasonCode};
pub use report::{Break, Completeness, Level, LevelReport, Outcome, Report};
