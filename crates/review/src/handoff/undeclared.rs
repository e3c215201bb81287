//! Gaps nobody declared: what was touched and neither verified nor mentioned as a gap.

use std::collections::{BTreeMap, BTreeSet};

use crate::lineage::Lineage;
use crate::vocabulary::{ActionType, ActivityType, ReasoningType, ResidualSeverity};
use crate::wire::{Action, Trace};

use super::is_checkable;

/// A file that was changed, with nothing to show that the change holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeclaredGap {
    /// The path.
    pub path: String,
    /// The ids of the actions that changed it last.
    pub changed_by: Vec<i64>,
    /// High on a path the trace declares as high stakes, else medium.
    pub severity: ResidualSeverity,
}

/// Compares what was touched with what was verified or declared.
///
/// A change counts as verified when a checkable artifact was made from it, or when tests or a verification ran
/// afterwards and either name no inputs or consumed something derived from it. It counts as declared when a
/// residual names the file, its artifact or its action.
pub fn undeclared_gaps(trace: &Trace, lineage: &Lineage) -> Vec<UndeclaredGap> {
    let verified = verified_artifacts(trace, lineage);
    let last_open_check =
        trace.actions().iter().rev().find(|action| checks(action) && action.inputs().next().is_none());
    let mut last_change: BTreeMap<&str, &Action> = BTreeMap::new();
    for action in trace.actions().iter().filter(|action| changes(action)) {
        for path in action.file_refs() {
            last_change.insert(path, action);
        }
    }
    let is_verified = |action: &Action| {
        action.outputs().any(|id| verified.contains(id))
            || last_open_check.is_some_and(|check| check.position() > action.position())
    };
    let found = last_change
        .into_iter()
        .filter(|(path, action)| !is_verified(action) && !is_declared(trace, path, action));
    found
        .map(|(path, action)| {
            let high = trace.high_stakes_paths().any(|stakes| !stakes.is_empty() && path.contains(stakes));
            UndeclaredGap {
                path: path.to_owned(),
                changed_by: action.id().into_iter().collect(),
                severity: if high { ResidualSeverity::High } else { ResidualSeverity::Medium },
            }
        })
        .collect()
}

fn changes(action: &Action) -> bool {
    matches!(
        action.action_type(),
        Some(ActionType::Activity(
            ActivityType::EditFile
                | ActivityType::CreateFile
                | ActivityType::DeleteFile
                | ActivityType::RenameFile
        ))
    )
}

fn checks(action: &Action) -> bool {
    matches!(
        action.action_type(),
        Some(
            ActionType::Activity(
                ActivityType::RunTests | ActivityType::TypeCheck | ActivityType::ManualVerification
            ) | ActionType::Reasoning(
                ReasoningType::Verify | ReasoningType::ConformanceCheck | ReasoningType::CoSimulate
            )
        )
    )
}

/// Everything a checkable artifact was made from, or a check consumed.
fn verified_artifacts<'a>(trace: &'a Trace, lineage: &'a Lineage) -> BTreeSet<&'a str> {
    let claims =
        trace.artifacts().iter().filter(|artifact| artifact.artifact_type().is_some_and(is_checkable));
    let consumed = trace.actions().iter().filter(|action| checks(action)).flat_map(Action::inputs);
    let seeds: Vec<&str> = claims.filter_map(crate::wire::Artifact::id).chain(consumed).collect();
    lineage.with_ancestors(seeds).into_iter().collect()
}

fn is_declared(trace: &Trace, path: &str, action: &Action) -> bool {
    let action_id = action.id().map(|id| id.to_string());
    trace.residuals().any(|residual| {
        let target = residual.target();
        let target = target.as_ref().and_then(|target| target.target_id());
        let names_output = |id: &str| action.outputs().any(|output| output == id);
        residual.statement().contains(path)
            || target.is_some_and(|id| names_output(id) || action_id.as_deref() == Some(id))
            || residual.related_artifact_ids().any(names_output)
    })
}
