//! Advice about the arguments of commands.

use super::Hint;

/// The advice for an argument that cannot be used.
pub(super) const FIX: &str =
    "fix the argument or leave it out; --help lists what the command takes; nothing was run or stored";

/// The advice to write a time in the past.
pub(crate) const GIVE_SINCE: Hint =
    Hint::fixed("give a time as 2026-02-09T10:00:00Z, a day as 2026-02-09, or 90s, 30m, 12h, 7d or 4w ago");
