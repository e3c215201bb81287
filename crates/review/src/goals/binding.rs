//! One acceptance item against the trace.

use crate::lineage::Answers;
use crate::vocabulary::{
    AcceptanceKind, AcceptanceStatus, ArtifactType, EvaluationStatus, ResidualStatus, TargetType,
    VerificationStatus,
};
use crate::wire::{AcceptanceItem, Artifact, Trace};

use super::ItemResolution;

/// A resolved item with the artifacts it rests on.
pub(super) struct Resolved {
    pub(super) resolution: ItemResolution,
    pub(super) seeds: Vec<String>,
}

/// What the trace says of an item; nothing when it says nothing, and the author's word stands.
struct Answer {
    status: AcceptanceStatus,
    evidence: Option<String>,
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
    let (status, evidence) = match answer {
        Some(answer) => (answer.status, answer.evidence),
        None => (item.authored_status(), None),
    };
    let id = item.id().unwrap_or("").to_owned();
    Resolved { resolution: ItemResolution { id, kind: item.kind(), status, from_trace, evidence }, seeds }
}

fn obligation(trace: &Trace, item: &AcceptanceItem) -> Option<Answer> {
    let policy = item.binding_text("policy_id")?;
    let evaluation = trace.policy_evaluations().find(|found| found.policy_id() == Some(policy))?;
    let status = match evaluation.status() {
        Some(EvaluationStatus::Passed) => AcceptanceStatus::Done,
        Some(EvaluationStatus::Failed) => AcceptanceStatus::Blocked,
        _ => AcceptanceStatus::Doing,
    };
    Some(Answer { status, evidence: Some(policy.to_owned()) })
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
    Some(Answer { status, evidence: Some(id.to_owned()) })
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
        return Some(Answer { status: AcceptanceStatus::Doing, evidence: None });
    };
    let status = match latest.payload_text("status").and_then(VerificationStatus::from_word) {
        Some(VerificationStatus::Proved | VerificationStatus::Sat) => AcceptanceStatus::Done,
        Some(VerificationStatus::Refuted) => AcceptanceStatus::Blocked,
        _ => AcceptanceStatus::Doing,
    };
    Some(Answer { status, evidence: latest.id().map(str::to_owned) })
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
    let ids: Vec<String> = changes.filter_map(|artifact| artifact.id()).map(str::to_owned).collect();
    let first = ids.first()?.clone();
    seeds.extend(ids);
    Some(Answer { status: AcceptanceStatus::Done, evidence: Some(first) })
}
