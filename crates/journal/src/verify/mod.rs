//! What holds of a journal, level by level, and what no level can show.

mod chain;
mod compare;
mod follow;
mod levels;
mod line;
mod reason;
mod report;

pub use chain::{ChainCheck, check_behind, check_bytes, check_chain};
pub use compare::first_difference;
pub use follow::{Follower, Program};
pub use levels::{Trusted, check_linked, check_spec};
pub use reason::{Reason, ReasonCode};
pub use report::{Break, Completeness, Level, LevelReport, Outcome, Report};
