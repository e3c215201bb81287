//! Gaps nobody declared: what was touched and neither verified nor mentioned as a gap.

use std::collections::{BTreeMap, BTreeSet};

use crate::lineage::Lineage;
use crate::vocabulary::{
    ActionType, ActivityType, ReasoningType, ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus,
};
use crate::wire::{Action, Position, Trace};

use super::gap::{Gap, Origin, about, is_high_stakes};

/// What the checks of a trace cover.
struct Verified<'a> {
    /// Everything a check consumed, made or built on.
    artifacts: BTreeSet<&'a str>,
    /// The last check of each target.
    targets: BTreeMap<&'a str, Position>,
    /// The last check that names no inputs: it may have covered everything before it.
    open: Option<Position>,
}

impl<'a> Verified<'a> {
    fn of(trace: &'a Trace, lineage: &'a Lineage) -> Self {
        let checks: Vec<&Action> = trace.actions().iter().filter(|action| is_check(action)).collect();
        let touched = checks.iter().flat_map(|check| check.inputs().chain(check.outputs()));
        let targets =
            checks.iter().map(|check| (lineage.target(check.position()), check.position())).collect();
        let open = checks.iter().rev().find(|check| check.inputs().next().is_none());
        Self {
            artifacts: lineage.with_ancestors(touched.collect::<Vec<_>>()).into_iter().collect(),
            targets,
            open: open.map(|check| check.position()),
        }
    }

    /// Returns whether a check covers a path. Where much depends on it, only a check that names it counts.
    fn covers(&self, path: &str, change: Option<&Action>, on_high_stakes: bool) -> bool {
        let is_before = |check: &Position| change.is_none_or(|change| change.position() < *check);
        change.is_some_and(|change| change.outputs().any(|id| self.artifacts.contains(id)))
            || self.targets.get(path).is_some_and(is_before)
            || (!on_high_stakes && change.is_some() && self.open.as_ref().is_some_and(is_before))
    }
}

/// Finds what was changed and neither verified nor declared.
///
/// A change counts as verified when a later check consumed or built on what it made or had the same target; off
/// the high-stakes paths also when a later check names no inputs at all. It counts as declared when a residual
/// names the file, its artifact or its action.
pub(super) fn undeclared(trace: &Trace, lineage: &Lineage) -> Vec<Gap> {
    let verified = Verified::of(trace, lineage);
    let mut changed: BTreeMap<&str, &Action> = BTreeMap::new();
    for action in trace.actions().iter().filter(|action| is_change(action)) {
        changed.insert(lineage.target(action.position()), action);
    }
    let mut paths: BTreeSet<&str> = changed.keys().copied().collect();
    paths.extend(trace.files_modified());
    paths.remove("");
    let mentioned: Vec<String> =
        trace.residuals().map(|residual| about(trace, lineage, &residual).join("\n")).collect();
    let found = paths.into_iter().filter_map(|path| {
        let on_high_stakes = is_high_stakes(trace, path);
        let settled = verified.covers(path, changed.get(path).copied(), on_high_stakes)
            || mentioned.iter().any(|text| text.contains(path));
        (!settled).then(|| gap(path, on_high_stakes))
    });
    found.collect()
}

fn gap(path: &str, on_high_stakes: bool) -> Gap {
    Gap {
        id: format!("undeclared-{path}"),
        origin: Origin::Undeclared,
        source: ResidualSource::ToolInferred,
        kind: ResidualKind::Unverified.as_str().to_owned(),
        severity: Some(if on_high_stakes { ResidualSeverity::High } else { ResidualSeverity::Medium }),
        statement: format!("{path} was changed; nothing verifies it and no declared gap mentions it."),
        suggested_check: Some("Verify the change, or declare why it needs none.".to_owned()),
        part: None,
        target: path.to_owned(),
        on_high_stakes,
        status: ResidualStatus::Open,
    }
}

fn is_change(action: &Action) -> bool {
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

fn is_check(action: &Action) -> bool {
    match action.action_type() {
        Some(ActionType::Activity(word)) => matches!(
            word,
            ActivityType::RunTests
                | ActivityType::TypeCheck
                | ActivityType::Lint
                | ActivityType::ManualVerification
        ),
        Some(ActionType::Reasoning(word)) => matches!(
            word,
            ReasoningType::Verify
                | ReasoningType::StateSpaceAnalysis
                | ReasoningType::ConformanceCheck
                | ReasoningType::CoSimulate
        ),
        _ => false,
    }
}
