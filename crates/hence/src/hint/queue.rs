//! Advice about the queue and workers.

use super::Hint;
use crate::context::Context;

/// The advice to write a time that is to come.
pub(crate) const GIVE_LATER: Hint =
    Hint::fixed("give a time as 2026-02-09T10:00:00Z, or 90s, 30m, 12h, 7d or 4w from now");

/// The advice to write a key.
pub(crate) const GIVE_KEY: Hint = Hint::fixed(
    "give a key that names what is to be done once, such as an order's number; without --key each submission is a new run",
);

/// The advice to write a rate.
pub(crate) const GIVE_RATE: Hint = Hint::fixed("give a rate as 10/1s, 100/1m or 5/1h");

/// The advice for an option that `hence submit` has no use for.
pub(crate) const NOT_SUBMITTED: Hint = Hint::fixed(
    "leave it out: a worker drives the run, and `hence resume` takes the option for a run that you continue yourself",
);

/// Returns the command that drives what is queued.
pub(crate) fn start_worker(context: &Context) -> String {
    super::command(context, &["worker"])
}
