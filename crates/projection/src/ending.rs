//! How a run ended.

use hence_journal::{Control, LoopAction, Record};
use hence_state::{CompletionRule, Outcome};

use crate::source::Source;

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// It did all its plan asks for.
    Completed,
    /// It failed, for this reason.
    Failed(String),
    /// More records should follow.
    Unfinished,
}

impl Ending {
    pub(crate) fn of(source: &Source<'_>) -> Self {
        let standing = source.in_force();
        let exhausted = standing.iter().find_map(|chained| match &chained.record {
            Record::Control(Control::Loop(control)) if control.action == LoopAction::MaxIterationsReached => {
                Some(format!("the loop reached its limit after iteration {}", control.loop_iteration))
            }
            _ => None,
        });
        let failed = standing.iter().find_map(|chained| match &chained.record {
            Record::Step(step) => match step.result.outcome() {
                Outcome::Failed(errors) => {
                    let told: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
                    Some(format!("step {} failed: {}", step.result.step(), told.join("; ")))
                }
                Outcome::Success(_) | Outcome::Skipped => None,
            },
            _ => None,
        });
        match failed.or(exhausted) {
            Some(reason) => Self::Failed(reason),
            None if is_complete(source) => Self::Completed,
            None => Self::Unfinished,
        }
    }
}

/// A profile either records the completion, or the run is complete when its plan has nothing left.
fn is_complete(source: &Source<'_>) -> bool {
    let last = source.in_force().last().map(|chained| &chained.record);
    if source.profile.completion == CompletionRule::Recorded {
        return matches!(last, Some(Record::Control(Control::Complete { .. })));
    }
    let last_step = source.outline.last().map(|step| &*step.name);
    match last {
        Some(Record::Step(step)) => {
            let loop_decides =
                source.loop_settings().is_some_and(|settings| Some(&*settings.end_step) == last_step);
            Some(&**step.result.step()) == last_step && !loop_decides
        }
        Some(Record::Control(Control::Loop(control))) => {
            control.action == LoopAction::Stop && Some(&*control.end_step) == last_step
        }
        _ => false,
    }
}
