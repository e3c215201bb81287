//! What a goal rests on, and which gaps concern it.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::lineage::Lineage;
use crate::residuals::DerivedResidual;
use crate::vocabulary::{AcceptanceKind, ResidualStatus};
use crate::wire::{Goal, Trace};

use super::binding::Resolved;

/// Returns the ids of the actions that produced what a goal rests on, directly or not.
pub(super) fn cone(trace: &Trace, lineage: &Lineage, goal: &Goal, items: &[Resolved]) -> Vec<i64> {
    let in_scope = trace.artifacts().iter().filter(|artifact| is_in_scope(goal, artifact.about()));
    let mut seeds: BTreeSet<&str> = items.iter().flat_map(|item| &item.seeds).map(String::as_str).collect();
    seeds.extend(in_scope.filter_map(|artifact| artifact.id()));
    let actions: BTreeSet<i64> = lineage
        .with_ancestors(seeds)
        .into_iter()
        .filter_map(|id| trace.action(lineage.producer(id)?)?.id())
        .collect();
    actions.into_iter().collect()
}

/// Counts the open residuals a goal is bound to or whose words fall in its scope.
pub(super) fn open_gaps(trace: &Trace, goal: &Goal, derived: &[DerivedResidual]) -> usize {
    let bound: BTreeSet<String> = goal
        .acceptance()
        .filter(|item| item.kind() == Some(AcceptanceKind::Gap))
        .filter_map(|item| item.binding_text("residual_id").map(str::to_owned))
        .collect();
    let declared = trace.residuals().filter(|residual| {
        let target = residual.target().and_then(|target| target.member("target_id").cloned());
        let target = match target {
            Some(Value::String(id)) => id.to_string(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        residual.status() == Some(ResidualStatus::Open)
            && (residual.id().is_some_and(|id| bound.contains(id))
                || is_in_scope(goal, residual.statement())
                || is_in_scope(goal, &target))
    });
    let inferred = derived.iter().filter(|residual| {
        is_in_scope(goal, &residual.statement)
            || residual.target.id().is_some_and(|id| is_in_scope(goal, &id))
    });
    declared.count() + inferred.count()
}

fn is_in_scope(goal: &Goal, text: &str) -> bool {
    goal.texts("scope").any(|scope| !scope.is_empty() && text.contains(scope))
}
