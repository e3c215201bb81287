//! Progress of long work, for whoever watches the terminal.

use std::time::{Duration, Instant};

use crate::context::Context;

/// The time after which progress is shown, and again each time.
const INTERVAL: Duration = Duration::from_secs(2);

/// The progress of work that goes through a known number of things. Short work says nothing.
pub(crate) struct Progress<'a> {
    context: &'a Context,
    what: &'static str,
    total: usize,
    done: usize,
    next: Instant,
}

impl<'a> Progress<'a> {
    /// Begins work on so many things; `what` names them and what is done: `runs verified`.
    pub(crate) fn new(context: &'a Context, what: &'static str, total: usize) -> Self {
        Self { context, what, total, done: 0, next: Instant::now() + INTERVAL }
    }

    /// Counts one more, and shows the count from time to time.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        if self.done < self.total && self.context.is_watched() && Instant::now() >= self.next {
            self.context.say(format_args!("{} of {} {}", self.done, self.total, self.what));
            self.next = Instant::now() + INTERVAL;
        }
    }
}
