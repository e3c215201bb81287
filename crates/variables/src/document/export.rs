//! A state as a document.

use hence_canon::{Object, Value};

use crate::document::{history, variable};
use crate::limits::VARIABLES_MAX;
use crate::members::Members;
use crate::{Scope, State, StateView, Status, Variables, VisibleVariables};

/// The member of a document's metadata that says what ended a task whose `Final` does not show it.
pub(super) const ENDED_BY: &str = "ended_by";
/// The run ended the task.
pub(super) const ENDED_BY_RUN: &str = "run";

/// Returns the document of a state: what it sees, its newest log entries, its checkpoints and the counts.
///
/// The document passes [`Verdict::of`](crate::document::Verdict::of), so it can be imported. Other states may add shared
/// variables past the limit of a document: of those of the widest scope it then has as many as fit, and says how many it
/// leaves out.
pub fn export(view: StateView<'_>) -> Value {
    export_as(view, view.state().status())
}

/// Returns the document of a state whose task has this status: the end of a run whose steps write the variables is the end
/// of its task, with or without a `Final`. The document then says that the run ended it.
pub fn export_as(view: StateView<'_>, status: Status) -> Value {
    let state = view.state();
    let (visible, left_out) = fitting(view.visible());
    let mutations: Value = state.log().map(history::encode_mutation).collect();
    let checkpoints: Value = state.checkpoints().iter().map(history::encode_checkpoint).collect();
    let lists = Members::default().set("mutations", mutations).set("checkpoints", checkpoints);
    head(state)
        .set("variables", variables(&visible))
        .set("history", lists.rest(&state.extra.history).object())
        .set("metadata", metadata(state, status, &visible, left_out))
        .rest(&state.extra.document)
        .object()
        .into()
}

/// Returns the snapshot file of the checkpoint called `name`: the document as it was, without the history, which
/// only grows.
pub fn export_snapshot(view: StateView<'_>, name: &str) -> Option<Value> {
    let state = view.state();
    let snapshot = state.checkpoint(name)?.snapshot.as_ref()?;
    let (visible, _) = fitting(view.visible_at(name)?);
    let document = head(state)
        .set("variables", variables(&visible))
        .set("metadata", Members::default().set("completion_status", snapshot.status).object());
    Some(document.object().into())
}

/// Returns as many variables as a document may have, those of the narrowest scopes first, and how many are left out.
fn fitting(visible: VisibleVariables) -> (VisibleVariables, usize) {
    let left_out = visible.len().saturating_sub(VARIABLES_MAX);
    if left_out == 0 {
        return (visible, 0);
    }
    let mut all: Vec<_> = visible.into_iter().collect();
    all.sort_by(|(name, found), (other, than)| (found.home, name).cmp(&(than.home, other)));
    (all.into_iter().take(VARIABLES_MAX).collect(), left_out)
}

fn head(state: &State) -> Members {
    Members::default()
        .set("version", state.version.clone())
        .set("state_id", state.id())
        .some("session_id", state.session())
        .some("tree_id", state.tree())
}

fn variables(visible: &VisibleVariables) -> Object {
    visible
        .iter()
        .map(|(name, found)| (name.shared(), variable::encode(&found.variable, found.home.scope())))
        .collect()
}

/// Returns the variables of one layer.
pub(super) fn variables_of(variables: &Variables, scope: Scope) -> Object {
    let encoded = variables.iter();
    encoded.map(|(name, variable)| (name.shared(), variable::encode(variable, Some(scope)))).collect()
}

fn metadata(state: &State, status: Status, visible: &VisibleVariables, left_out: usize) -> Object {
    let sizes = visible.values().map(|found| found.variable.stored.size_bytes());
    // A document may claim any size for a value that is stored in a file.
    let total = sizes.fold(0, u64::saturating_add);
    Members::default()
        .some("created_at", state.created_at)
        .some("last_updated_at", state.last_updated_at())
        .set("variable_count", visible.len())
        .set("mutation_count", state.mutation_count())
        .set("checkpoint_count", state.checkpoints().len())
        .set("total_size_bytes", total)
        .some("execution_config", state.config().map(|config| config.members().clone()))
        .set("completion_status", status)
        .some(ENDED_BY, (status != state.status()).then_some(ENDED_BY_RUN))
        .some("variables_left_out", (left_out > 0).then_some(left_out as u64))
        .rest(&state.extra.metadata)
        .object()
}
