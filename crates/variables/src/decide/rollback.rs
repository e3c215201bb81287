//! Checkpoints and rollbacks.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::decide::event_builder::EventBuilder;
use crate::decide::task::incomplete_child;
use crate::decide::{Accepted, check_unchanged};
use crate::limits::CHECKPOINTS_MAX;
use crate::op::{Rollback, TakeCheckpoint};
use crate::state::{Checkpoint, SeenLayer, Snapshot};
use crate::{
    Action, Change, CheckpointId, Home, Name, Origin, Refusal, Reply, Scope, StateView, Status, Timestamp,
    Variable,
};

/// The source of what a rollback writes.
const ROLLBACK: &str = "rollback";

pub(super) fn checkpoint(
    view: StateView<'_>,
    take: &TakeCheckpoint,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let (state, name) = (view.state, take.name.clone());
    check_unchanged(state, take.if_mutation_count)?;
    if name.is_empty() {
        let found = "an empty text".to_owned();
        return Err(Refusal::InvalidArgument {
            what: "checkpoint name",
            expected: "a non-empty text",
            found,
        });
    }
    if state.checkpoint(&name).is_some() {
        return Err(Refusal::DuplicateCheckpoint { name });
    }
    let number = state.last_checkpoint.checked_add(1).filter(|_| state.checkpoints.len() < CHECKPOINTS_MAX);
    let id = CheckpointId::from_number(number.ok_or(Refusal::TooManyCheckpoints)?);
    let mut event = EventBuilder::on(view, Action::Checkpoint, now);
    event.checkpoint(id, name, take.description.clone());
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Done })
}

/// A variable that is not as the snapshot has it.
struct Difference {
    name: Name,
    home: Home,
    before: Option<Arc<Variable>>,
    now: Option<Arc<Variable>>,
}

pub(super) fn rollback(
    view: StateView<'_>,
    rollback: &Rollback,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    check_unchanged(view.state, rollback.if_mutation_count)?;
    let to = &rollback.to;
    let found = view.state.checkpoint(to);
    let Checkpoint { id, snapshot, .. } =
        found.ok_or_else(|| Refusal::CheckpointNotFound { name: to.clone() })?;
    let snapshot = snapshot.as_ref().ok_or_else(|| Refusal::SnapshotMissing { name: to.clone() })?;
    if snapshot.status == Status::Complete
        && let Some(child) = incomplete_child(view)
    {
        return Err(Refusal::ChildrenIncomplete { child });
    }
    let differences = differences(view, snapshot)?;
    let mut event = EventBuilder::on(view, Action::Rollback, now);
    event.push(Change::RolledBack { to: *id });
    if snapshot.status != view.state.status {
        event.status(snapshot.status, None);
    }
    for difference in &differences {
        restore(&mut event, difference, now)?;
    }
    let changed: BTreeSet<Name> = differences.into_iter().map(|difference| difference.name).collect();
    let reply = Reply::RolledBack { changed: changed.into_iter().collect(), status: snapshot.status };
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply })
}

fn restore(event: &mut EventBuilder, difference: &Difference, now: Timestamp) -> Result<(), Refusal> {
    let origin = Origin::source(ROLLBACK);
    match (&difference.before, &difference.now) {
        (None, None) => Ok(()),
        (None, Some(created)) => event.delete(difference.home, created, &origin),
        (Some(before), present) => {
            // Reads are not undone; what comes back from nothing has the count it had.
            let reads = present.as_ref().map_or(before.access_count, |present| present.access_count);
            let back = Variable { updated_at: Some(now), access_count: reads, ..Variable::clone(before) };
            let old = present.as_ref().map(|present| present.stored.shown());
            event.write(difference.home, back, old, &origin)
        }
    }
}

/// Returns what differs, by name and then from the narrowest scope to the widest.
fn differences(view: StateView<'_>, snapshot: &Snapshot) -> Result<Vec<Difference>, Refusal> {
    let final_answer = Difference {
        name: Name::final_answer(),
        home: Home::Special,
        before: Some(snapshot.final_answer.clone()),
        now: Some(view.state.final_answer.clone()),
    };
    let mut all = vec![final_answer];
    for (scope, seen) in &snapshot.layers {
        let names = candidates(view, *scope, seen)?;
        all.extend(names.into_iter().map(|name| Difference {
            home: Home::Scope(*scope),
            before: seen.variables.get(&name).cloned(),
            now: view.layer(*scope).and_then(|layer| layer.get(name.as_str())).cloned(),
            name,
        }));
    }
    all.retain(|difference| match (&difference.before, &difference.now) {
        (None, None) => false,
        (Some(before), Some(now)) => !before.has_same_content(now),
        _ => true,
    });
    all.sort_by(|left, right| (&left.name, left.home).cmp(&(&right.name, right.home)));
    Ok(all)
}

/// Returns the names in `scope` that this rollback may touch: all in a layer of the state's own, and in a shared
/// one only those it wrote since the checkpoint, provided nobody else did.
fn candidates(view: StateView<'_>, scope: Scope, seen: &SeenLayer) -> Result<BTreeSet<Name>, Refusal> {
    let Some(layer) = view.layer(scope) else { return Ok(BTreeSet::new()) };
    if !view.is_shared(scope) {
        return Ok(layer.variables().keys().chain(seen.variables.keys()).cloned().collect());
    }
    let state = view.state.id;
    let mine: BTreeSet<Name> = layer.written_since(state, seen.revision).cloned().collect();
    for name in &mine {
        if let Some(other_writer) = layer.other_writer(name, state, seen.revision) {
            return Err(Refusal::RollbackConflict { name: name.clone(), other_writer });
        }
    }
    Ok(mine)
}
