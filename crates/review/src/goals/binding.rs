//! One acceptance item against the trace, the actions a goal rests on, and the gaps that concern it.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::import::parse_time;
use crate::lineage::{Answers, Lineage};
use crate::residuals::DerivedResidual;
use crate::vocabulary::{
    AcceptanceKind, AcceptanceStatus, ArtifactType, EvaluationStatus, ResidualStatus, TargetType,
    VerificationStatus,
};
use crate::wire::{AcceptanceItem, Artifact, Goal, Trace};

use super::ItemResolution;

/// A resolved item with the artifacts it rests on.
pub(super) struct Resolved {
    pub(super) resolution: ItemResolution,
    pub(super) seeds: Vec<String>,
}

/// The status of an item according to the trace.
struct Answer {
    status: AcceptanceStatus,
    evidence: Option<String>,
    /// The time of the evidence, as written.
    at: Option<String>,
}

pub(super) fn resolve(trace: &Trace, answers: &Answers<'_>, item: &AcceptanceItem) -> Resolved {
    let mut seeds = Vec::new();
    // An empty binding binds nothing.
    let bound = item.object("binding").is_some_and(|binding| !binding.is_empty());
    let answer = match item.kind().filter(|_| bound) {
        None => None,
        Some(AcceptanceKind::Obligation) => obligation(trace, item),
        Some(AcceptanceKind::Gap) => gap(trace, item, &mut seeds),
        Some(AcceptanceKind::Property) => property(trace, answers, item, &mut seeds),
        Some(AcceptanceKind::Change) => change(trace, item, &mut seeds),
    };
    let from_trace = answer.is_some();
    let (status, evidence, at) = match answer {
        Some(answer) => (answer.status, answer.evidence, answer.at),
        None => (item.authored_status(), None, None),
    };
    let authored = item.text("authored_at").and_then(parse_time);
    let shown = at.as_deref().and_then(parse_time);
    let retrofitted = status == AcceptanceStatus::Done
        && authored.zip(shown).is_some_and(|(authored, shown)| authored > shown);
    let id = item.id().unwrap_or("").to_owned();
    let resolution = ItemResolution { id, kind: item.kind(), status, from_trace, evidence, retrofitted };
    Resolved { resolution, seeds }
}

fn obligation(trace: &Trace, item: &AcceptanceItem) -> Option<Answer> {
    let policy = item.binding_text("policy_id")?;
    let evaluation = trace.policy_evaluations().find(|found| found.policy_id() == Some(policy))?;
    let status = match evaluation.status() {
        Some(EvaluationStatus::Passed) => AcceptanceStatus::Done,
        Some(EvaluationStatus::Failed) => AcceptanceStatus::Blocked,
        _ => AcceptanceStatus::Doing,
    };
    let at = evaluation.int("checked_at_action_id").and_then(|id| time_of(trace, id));
    Some(Answer { status, evidence: Some(policy.to_owned()), at })
}

fn gap(trace: &Trace, item: &AcceptanceItem, seeds: &mut Vec<String>) -> Option<Answer> {
    let id = item.binding_text("residual_id")?;
    let residual = trace.residuals().find(|found| found.id() == Some(id))?;
    if let Some(target) = residual.target().filter(|found| found.target_type() == Some(TargetType::Artifact))
    {
        seeds.extend(target.target_id().map(str::to_owned));
    }
    let closed = matches!(residual.status(), Some(ResidualStatus::Addressed | ResidualStatus::Waived));
    let status = if closed { AcceptanceStatus::Done } else { AcceptanceStatus::Todo };
    Some(Answer { status, evidence: Some(id.to_owned()), at: None })
}

fn property(
    trace: &Trace,
    answers: &Answers<'_>,
    item: &AcceptanceItem,
    seeds: &mut Vec<String>,
) -> Option<Answer> {
    let goals: Vec<&Artifact> = trace.artifacts().iter().filter(|goal| is_about(goal, item)).collect();
    if goals.is_empty() {
        return None;
    }
    let results: Vec<&Artifact> = goals.iter().flat_map(|goal| answers.results(goal)).collect();
    seeds.extend(goals.iter().chain(&results).filter_map(|artifact| artifact.id()).map(str::to_owned));
    let Some(latest) = results.into_iter().max_by_key(|result| result.producer_action_id()) else {
        return Some(Answer { status: AcceptanceStatus::Doing, evidence: None, at: None });
    };
    let status = match latest.payload_text("status").and_then(VerificationStatus::from_word) {
        Some(VerificationStatus::Proved | VerificationStatus::Sat) => AcceptanceStatus::Done,
        Some(VerificationStatus::Refuted) => AcceptanceStatus::Blocked,
        _ => AcceptanceStatus::Doing,
    };
    let at = latest.payload_text("completed_at").map(str::to_owned);
    let at = at.or_else(|| time_of(trace, latest.producer_action_id()?));
    Some(Answer { status, evidence: latest.id().map(str::to_owned), at })
}

/// Returns whether a verification goal is about what an item is bound to.
fn is_about(goal: &Artifact, item: &AcceptanceItem) -> bool {
    if !goal.is(ArtifactType::VerificationGoal) {
        return false;
    }
    let filled = |key| item.binding_text(key).filter(|text: &&str| !text.is_empty());
    let (symbol, text) = (filled("symbol"), filled("property"));
    let description = goal.payload_text("description").unwrap_or("").to_lowercase();
    if text.is_some_and(|text| !description.contains(&text.to_lowercase())) {
        return false;
    }
    let target = goal.payload_text("target_symbol").filter(|target| !target.is_empty());
    match (symbol, target) {
        (Some(symbol), Some(target)) => symbol == target,
        // A goal that names no symbol can only be recognised by its words.
        (Some(_), None) => text.is_some(),
        (None, _) => true,
    }
}

fn change(trace: &Trace, item: &AcceptanceItem, seeds: &mut Vec<String>) -> Option<Answer> {
    let symbol = item.binding_text("symbol").filter(|symbol| !symbol.is_empty())?;
    let changes = trace.artifacts().iter().filter(|artifact| {
        (artifact.is(ArtifactType::Diff) || artifact.is(ArtifactType::FormalModel))
            && artifact.about().contains(symbol)
    });
    let changes: Vec<&Artifact> = changes.filter(|artifact| artifact.id().is_some()).collect();
    let first = changes.first()?;
    seeds.extend(changes.iter().filter_map(|artifact| artifact.id()).map(str::to_owned));
    let at = first.producer_action_id().and_then(|id| time_of(trace, id));
    Some(Answer { status: AcceptanceStatus::Done, evidence: first.id().map(str::to_owned), at })
}

/// Returns the time of an action, if it has one.
fn time_of(trace: &Trace, action: i64) -> Option<String> {
    trace.action_by_id(action)?.text("timestamp").map(str::to_owned)
}

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

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use crate::goals::{Stakes, Strength, resolve};
    use crate::lineage::Lineage;
    use crate::wire::Trace;

    #[test]
    fn an_item_written_after_its_evidence_is_marked_and_uncovered_clauses_are_gaps() {
        let value = parse(
            br#"{"trace_id": "t", "actions": [{"id": 1, "type": "EditFile", "timestamp": "2026-01-01T10:00:00Z", "outputs": ["d"]}],
                "artifacts": [{"artifact_id": "d", "artifact_type": "Diff", "summary": "changes pay()", "producer_action_id": 1}],
                "goals": [{"id": "g", "intent": "i", "intent_clauses": ["idempotent", "fast"], "acceptance": [
                    {"id": "late", "kind": "change", "label": "l", "binding": {"symbol": "pay"}, "authored_at": "2026-01-01T12:00:01+02:00", "covers": ["idempotent"]},
                    {"id": "before", "kind": "change", "label": "l", "binding": {"symbol": "pay"}, "authored_at": "2026-01-01T12:00:00+02:00"},
                    {"id": "silent", "kind": "change", "label": "l", "binding": {"symbol": "pay"}}]}]}"#,
        )
        .unwrap();
        let trace = Trace::read(&value);
        let report = resolve(&trace, &Lineage::of(&trace), Stakes::Normal);
        let goal = report.goals.first().unwrap();
        let late: Vec<bool> = goal.items.iter().map(|item| item.retrofitted).collect();
        assert_eq!(late, [true, false, false]);
        assert_eq!(goal.faithfulness.strongest, Some(Strength::Change));
        let gaps: Vec<&str> = report.uncovered.iter().map(|gap| gap.id.as_str()).collect();
        assert_eq!(gaps, ["uncovered-g-0"]);
        assert_eq!(report.summary.open_residuals, 0);
    }
}
