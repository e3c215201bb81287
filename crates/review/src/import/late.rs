//! Checks whose result came after a deed that relied on them.
//!
//! Tests that run in the background, or next to a commit, have passed only once their result is known. Such a check is placed
//! where its result is; if files changed while it ran, nobody knows which of them it saw.

use crate::vocabulary::{ActionType, ActivityType};

use super::session::{ActionEvent, Answered, Event, Status};

/// The note of a check that says nothing about the files after it.
const OVERTAKEN: &str =
    "files changed, and something was done with them, before it ended: which of them it saw is not known";

/// Returns the events in the order in which their results were known; each comes with its place in the log.
pub(super) fn in_order_of_results(mut events: Vec<(usize, Event)>) -> Vec<Event> {
    // The last check is moved first, so that the places before it stay what they are.
    for at in (0..events.len()).rev() {
        let Some((check, answered)) = late_check(&events, at) else { continue };
        let rest = events.get(at + 1..).unwrap_or_default();
        let overtakes = |event: &ActionEvent| event.answered.is_some_and(|own| own.number < answered.number);
        let acts = |(_, event): &(usize, Event)| {
            action(event).is_some_and(|event| is_deed(event) && overtakes(event))
        };
        let Some(last) = rest.iter().rposition(acts) else { continue };
        let changes = |(_, event): &(usize, Event)| {
            action(event).is_some_and(|event| is_change(event) && event.happened() && overtakes(event))
        };
        if rest.iter().any(changes) {
            if check != Some(Status::Failed)
                && let Some((_, Event::Action(event))) = events.get_mut(at)
            {
                event.status = Some(Status::Unknown);
                (event.owns_output, event.owns_exit_code) = (false, false);
                event.note = Some(OVERTAKEN.to_owned());
            }
            continue;
        }
        let known = rest.iter().position(|(place, _)| *place >= answered.after).unwrap_or(rest.len());
        let to = at + known.max(last + 1);
        if let Some(moved) = events.get_mut(at..=to) {
            moved.rotate_left(1);
        }
    }
    events.into_iter().map(|(_, event)| event).collect()
}

fn action(event: &Event) -> Option<&ActionEvent> {
    match event {
        Event::Action(action) => Some(action),
        _ => None,
    }
}

/// Returns how a check ended and where its result is, if the event is one that has a result.
fn late_check(events: &[(usize, Event)], at: usize) -> Option<(Option<Status>, Answered)> {
    let (_, event) = events.get(at)?;
    let check = action(event).filter(|event| event.checks())?;
    Some((check.status, check.answered?))
}

/// Returns whether rules ask for checks before the action.
fn is_deed(event: &ActionEvent) -> bool {
    use ActivityType::{Deploy, GitCommit, GitPush, Release};
    matches!(event.action_type, ActionType::Activity(GitCommit | GitPush | Deploy | Release))
}

fn is_change(event: &ActionEvent) -> bool {
    event.edits() || event.action_type == ActivityType::Change.into()
}
