//! Whether a run did all its plan asks for.

use hence_journal::LoopAction;
use hence_state::CompletionRule;

use super::{Fact, Reason};
use crate::base::Base;

/// A profile either records the completion, or the run is complete when its plan has nothing left.
pub(super) fn is_complete(reason: &Reason, base: &Base<'_>) -> bool {
    if base.profile.completion == CompletionRule::Recorded {
        return matches!(reason.last, Some(Fact::Complete));
    }
    let last_step = reason.outline.last().map(|step| &*step.name);
    match &reason.last {
        Some(Fact::Step { name, .. }) => {
            let loop_decides =
                reason.loop_settings().is_some_and(|settings| Some(&*settings.end_step) == last_step);
            Some(&**name) == last_step && !loop_decides
        }
        Some(Fact::Loop { action, end_step, .. }) => {
            *action == LoopAction::Stop && Some(&**end_step) == last_step
        }
        Some(Fact::Complete) | None => false,
    }
}
