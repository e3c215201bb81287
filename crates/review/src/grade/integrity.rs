//! The dimension of lineage: three structural checks.

use crate::lineage::Lineage;
use crate::validate::{Report, Rule};
use crate::vocabulary::ArtifactType;
use crate::wire::{Artifact, Trace};

use super::dimension::{Dimension, DimensionKind};

pub(super) fn lineage(trace: &Trace, lineage: &Lineage, report: &Report) -> Dimension {
    let kind = DimensionKind::Lineage;
    if trace.artifacts().is_empty() {
        let advice = "record artifacts and what they were derived from";
        return Dimension {
            kind,
            score: None,
            note: "no artifacts".to_owned(),
            raise: Some(advice.to_owned()),
        };
    }
    let checks = [
        (Some(flows(report)), "let every input come from exactly one earlier action"),
        (goals_have_models(trace), "let every verification goal target a model"),
        (tests_have_analyses(trace, lineage), "derive generated tests from an analysis of the state space"),
    ];
    let applicable = checks.iter().filter(|(holds, _)| holds.is_some()).count();
    let passed = checks.iter().filter(|(holds, _)| *holds == Some(true)).count();
    let missing: Vec<&str> =
        checks.iter().filter(|(holds, _)| *holds == Some(false)).map(|(_, advice)| *advice).collect();
    #[expect(clippy::cast_precision_loss, reason = "at most three")]
    let score = passed as f64 / applicable as f64;
    Dimension {
        kind,
        score: Some(score),
        note: format!("{passed} of {applicable} structural checks hold"),
        raise: (!missing.is_empty()).then(|| missing.join("; ")),
    }
}

/// Each input of each action is produced by exactly one earlier action.
fn flows(report: &Report) -> bool {
    !report.errors().any(|finding| {
        matches!(
            finding.rule,
            Rule::RefInput | Rule::FlowUnproduced | Rule::FlowOrder | Rule::FlowProducerUnique
        )
    })
}

/// Returns whether all goals target a model; nothing when there are none.
fn goals_have_models(trace: &Trace) -> Option<bool> {
    let mut goals = of_type(trace, ArtifactType::VerificationGoal).peekable();
    goals.peek()?;
    Some(goals.all(|goal| {
        let target = goal.payload_text("target_artifact_id").and_then(|id| trace.artifact_by_id(id));
        target.and_then(Artifact::artifact_type).is_some_and(ArtifactType::is_model)
    }))
}

/// Returns whether all generated tests derive from an analysis; nothing when there are none.
fn tests_have_analyses(trace: &Trace, lineage: &Lineage) -> Option<bool> {
    let mut tests = of_type(trace, ArtifactType::GeneratedTests).peekable();
    tests.peek()?;
    let analyses = of_type(trace, ArtifactType::StateSpaceAnalysisResult).filter_map(Artifact::id);
    let derived = lineage.with_descendants(analyses);
    Some(tests.all(|tests| tests.id().is_some_and(|id| derived.binary_search(&id).is_ok())))
}

fn of_type(trace: &Trace, kind: ArtifactType) -> impl Iterator<Item = &Artifact> {
    trace.artifacts().iter().filter(move |artifact| artifact.is(kind))
}
