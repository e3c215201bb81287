//! Stopping a run before its end.

use std::sync::atomic::{AtomicBool, Ordering};

/// Says whether a run is to stop. Calls under way are waited for; nothing new is begun.
pub trait Stop: Sync {
    /// Returns whether the run is to stop.
    fn is_wanted(&self) -> bool;
}

/// Never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverStop;

impl Stop for NeverStop {
    fn is_wanted(&self) -> bool {
        false
    }
}

impl Stop for AtomicBool {
    fn is_wanted(&self) -> bool {
        self.load(Ordering::SeqCst)
    }
}
