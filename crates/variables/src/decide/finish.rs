//! The end of a task.

use std::sync::Arc;

use crate::decide::draft::Draft;
use crate::decide::{Accepted, check_open, expire};
use crate::{Action, Refusal, Reply, Sight, State, Status, Timestamp};

pub(super) fn fail(sight: Sight<'_>, reason: Option<&Arc<str>>, now: Timestamp) -> Result<Accepted, Refusal> {
    end(sight, Draft::on(sight, Action::Fail, now), Status::Error, reason)
}

pub(super) fn cancel(
    sight: Sight<'_>,
    reason: Option<&Arc<str>>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    end(sight, Draft::on(sight, Action::Cancel, now), Status::Cancelled, reason)
}

fn end(
    sight: Sight<'_>,
    mut draft: Draft,
    status: Status,
    reason: Option<&Arc<str>>,
) -> Result<Accepted, Refusal> {
    check_open(sight.state, None)?;
    draft.status(status, reason);
    expire::end_scope(sight, &mut draft)?;
    Ok(Accepted { event: Some(draft.finish()), spills: Vec::new(), reply: Reply::Status(status) })
}

/// Returns what `Final` alone says.
pub(super) fn completion(state: &State) -> Status {
    if state.final_answer.stored.is_null() { Status::Incomplete } else { Status::Complete }
}
