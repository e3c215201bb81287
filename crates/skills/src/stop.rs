//! Requests to stop a run before its end.

use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop a run. Running calls finish; no new call starts.
pub trait Stop: Sync {
    /// Returns whether the run should stop.
    fn is_wanted(&self) -> bool;

    /// Returns whether calls that are under way should be given up too. A person who asks a run to stop lets them finish; a deadline
    /// does not.
    fn gives_up_calls(&self) -> bool {
        false
    }
}

/// A run without a request to stop.
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
