//! Stopping a run from outside: Ctrl-C, SIGTERM, a deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hence_skills::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit status of a process that an interrupt ended.
pub(crate) const INTERRUPTED_STATUS: i32 = 130;

/// A request to stop the run. The first request lets running calls finish; the second ends the process.
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Starts to listen for signals, and starts the deadline.
    pub(crate) fn listen(deadline: Option<Duration>) -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the shutdown must find the flag unset when the first signal arrives. If a handler
            // cannot be registered, a signal ends the process, and the run is resumed as after any crash.
            let _ = flag::register_conditional_shutdown(signal, INTERRUPTED_STATUS, asked.clone());
            let _ = flag::register(signal, asked.clone());
        }
        Self { asked, deadline: deadline.and_then(|left| Instant::now().checked_add(left)) }
    }

    /// Returns the reason the run was stopped.
    pub(crate) fn reason(&self) -> &'static str {
        if self.asked.load(Ordering::SeqCst) { "it was interrupted" } else { "its deadline has passed" }
    }
}

impl Stop for Interrupt {
    fn is_wanted(&self) -> bool {
        self.asked.load(Ordering::SeqCst) || self.gives_up_calls()
    }

    fn gives_up_calls(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
