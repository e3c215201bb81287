//! The clock of a queue.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::names::{Millis, Time};

/// A clock. A queue has one, so that leases do not depend on the clocks of workers.
pub trait Clock: Send + Sync {
    /// Returns the time.
    fn now(&self) -> Time;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::default().plus(Millis::from(since))
    }
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Time {
        (**self).now()
    }
}
