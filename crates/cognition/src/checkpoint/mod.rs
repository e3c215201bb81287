//! Checkpoints: an execution state as one JSON document, version 1 of the format.
//!
//! Runs of this project are kept as journals and a state is folded from them; a checkpoint is for exchange with
//! tools that keep states.

mod restore;
mod save;

pub use restore::{CheckpointError, restore};
pub use save::save;

/// The version of the format.
pub const CHECKPOINT_VERSION: u64 = 1;

#[cfg(test)]
mod tests;
