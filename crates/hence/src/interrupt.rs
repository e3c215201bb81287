//! Stopping a run from outside: Ctrl-C, a request to end, a deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hence_skills::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What a shell says of a process that ended by an interrupt.
const INTERRUPTED_STATUS: i32 = 130;

/// Whether somebody wants the run to stop. The first request lets calls under way end; the second ends the process.
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Listens from now on, and counts a time the run may take.
    pub(crate) fn listen(deadline: Option<Duration>) -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the request that comes first finds nothing asked yet. Where signals cannot be had, a
            // request ends the process at once, and the run is taken up again as after any crash.
            let _ = flag::register_conditional_shutdown(signal, INTERRUPTED_STATUS, asked.clone());
            let _ = flag::register(signal, asked.clone());
        }
        Self { asked, deadline: deadline.and_then(|left| Instant::now().checked_add(left)) }
    }

    /// Says what stopped the run.
    pub(crate) fn reason(&self) -> &'static str {
        if self.asked.load(Ordering::SeqCst) { "it was interrupted" } else { "its deadline has passed" }
    }
}

impl Stop for Interrupt {
    fn is_wanted(&self) -> bool {
        self.asked.load(Ordering::SeqCst) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
