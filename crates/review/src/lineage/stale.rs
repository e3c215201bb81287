//! Evidence that a later change may have overtaken.

use crate::vocabulary::{ArtifactType, VerificationStatus};
use crate::wire::{Artifact, Trace};

/// A positive result about a symbol that was changed after the result was produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleEvidence {
    /// The id of the result.
    pub result_id: String,
    /// The symbol the result is about.
    pub symbol: String,
    /// The id of the later change, the first in list order.
    pub changed_by: String,
}

/// Finds results that hold (proved or sat) about a symbol which a later change mentions.
///
/// "Later" compares the producing actions by their place in the trace.
pub fn stale_evidence(trace: &Trace) -> Vec<StaleEvidence> {
    let changes = changes(trace);
    trace.artifacts().iter().filter_map(|result| stale_result(trace, result, &changes)).collect()
}

struct Change<'a> {
    id: &'a str,
    about: String,
    place: usize,
}

fn changes(trace: &Trace) -> Vec<Change<'_>> {
    let is_change =
        |artifact: &&Artifact| artifact.is(ArtifactType::Diff) || artifact.is(ArtifactType::FormalModel);
    let changes = trace.artifacts().iter().filter(is_change);
    changes
        .filter_map(|change| {
            let place = produced_at(trace, change)?;
            Some(Change { id: change.id()?, about: change.about().to_lowercase(), place })
        })
        .collect()
}

fn stale_result(trace: &Trace, result: &Artifact, changes: &[Change<'_>]) -> Option<StaleEvidence> {
    if !result.is(ArtifactType::VerificationResult) {
        return None;
    }
    let status = VerificationStatus::from_word(result.payload_text("status")?)?;
    if !matches!(status, VerificationStatus::Proved | VerificationStatus::Sat) {
        return None;
    }
    let symbol = goal_of(trace, result)?.payload_text("target_symbol").filter(|symbol| !symbol.is_empty())?;
    let place = produced_at(trace, result)?;
    let wanted = symbol.to_lowercase();
    let change = changes.iter().find(|change| change.place > place && change.about.contains(&wanted))?;
    Some(StaleEvidence {
        result_id: result.id()?.to_owned(),
        symbol: symbol.to_owned(),
        changed_by: change.id.to_owned(),
    })
}

fn produced_at(trace: &Trace, artifact: &Artifact) -> Option<usize> {
    trace.action_by_id(artifact.producer_action_id()?).map(|action| action.position().get())
}

/// Returns the goal a result answers: by artifact id, or else by the number of the goal.
pub(crate) fn goal_of<'a>(trace: &'a Trace, result: &Artifact) -> Option<&'a Artifact> {
    let by_artifact = result.payload_text("goal_artifact_id").and_then(|id| trace.artifact_by_id(id));
    by_artifact.filter(|goal| goal.is(ArtifactType::VerificationGoal)).or_else(|| {
        let number = result.payload()?.get("goal_id")?.as_i64()?;
        trace.artifacts().iter().find(|goal| {
            goal.is(ArtifactType::VerificationGoal)
                && goal.payload().and_then(|payload| payload.get("goal_id")?.as_i64()) == Some(number)
        })
    })
}
