//! What comes from other runs: shared variables, and the answers of children that live elsewhere.

use crate::decide::Accepted;
use crate::decide::draft::Draft;
use crate::{Action, Change, Origin, Refusal, Reply, Shared, Sight, Status, Stored, Timestamp, Variable};

/// The source of an answer that was brought from another run.
const CHILD_RUN: &str = "child_run";

/// Takes in what another run left in a shared layer. It is no mutation of this state.
pub(super) fn share(sight: Sight<'_>, shared: &Shared, now: Timestamp) -> Result<Accepted, Refusal> {
    let found = sight.revision(shared.scope);
    if !sight.is_shared(shared.scope) || !sight.has(shared.scope) {
        return Err(Refusal::ScopeUnavailable { scope: shared.scope });
    }
    if shared.seen != found || shared.revision <= found {
        let found = format!("{} after {}, the layer is at {found}", shared.revision, shared.seen);
        return Err(Refusal::InvalidArgument { what: "revision", expected: "a later one", found });
    }
    let mut draft = Draft::on(sight, Action::Share, now);
    draft.push(Change::Shared(Box::new(shared.clone())));
    Ok(Accepted { event: Some(draft.finish()), spills: Vec::new(), reply: Reply::Done })
}

/// Takes in how a child that lives in another run ended.
pub(super) fn settle(
    sight: Sight<'_>,
    status: Status,
    answer: &Stored,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let state = sight.state;
    if state.lives_in.is_none() || !status.is_terminal() || state.status.is_terminal() {
        return Err(Refusal::Sealed { state: state.id, status: state.status });
    }
    let mut draft = Draft::on(sight, Action::Return, now);
    if status == Status::Complete {
        let before = &state.final_answer;
        let answered = Variable { updated_at: Some(now), stored: answer.clone(), ..Variable::clone(before) };
        let home = crate::Home::Special;
        draft.write(home, answered, Some(before.stored.shown()), &Origin::source(CHILD_RUN))?;
    }
    draft.status(status, None);
    Ok(Accepted { event: Some(draft.finish()), spills: Vec::new(), reply: Reply::Status(status) })
}
