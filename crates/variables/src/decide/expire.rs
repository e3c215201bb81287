//! The end of temporary variables.

use std::sync::Arc;

use crate::decide::draft::Draft;
use crate::{Action, Event, Home, Origin, Refusal, Scope, Sight, Timestamp, Variable};

/// The source of a deletion by time.
const TTL: &str = "ttl";

/// The source of a deletion because the state is over.
const SCOPE_END: &str = "scope_end";

/// Returns the event that removes what is past its time, if anything is.
pub(super) fn decide(sight: Sight<'_>, now: Timestamp) -> Result<Option<Event>, Refusal> {
    let mut due: Vec<(Timestamp, &Arc<Variable>)> = sight
        .state
        .temporary
        .variables()
        .values()
        .filter_map(|variable| Some((variable.deadline().filter(|deadline| *deadline <= now)?, variable)))
        .collect();
    if due.is_empty() {
        return Ok(None);
    }
    // Variables come by name, and the sort keeps that order among equal deadlines.
    due.sort_by_key(|(deadline, _)| *deadline);
    let last = sight.state.log.back().map(|entry| entry.timestamp);
    let mut draft = Draft::on(sight, Action::Expire, now);
    for (deadline, variable) in due {
        // Only an imported variable can be due before the last log entry; the log does not go back for it.
        let timestamp = last.map_or(deadline, |last| last.max(deadline));
        draft.delete_at(Home::Scope(Scope::Temporary), variable, &Origin::source(TTL), timestamp)?;
    }
    Ok(Some(draft.finish()))
}

/// Adds the deletion of temporaries without a time of their own: they end with the state.
pub(super) fn end_scope(sight: Sight<'_>, draft: &mut Draft) -> Result<(), Refusal> {
    for variable in sight.state.temporary.variables().values() {
        if variable.ttl_seconds.is_none() {
            draft.delete(Home::Scope(Scope::Temporary), variable, &Origin::source(SCOPE_END))?;
        }
    }
    Ok(())
}
