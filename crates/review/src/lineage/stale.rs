//! Evidence that a later change may have overtaken.

use crate::vocabulary::{ArtifactType, VerificationStatus};
use crate::wire::{Action, Artifact, Trace};

use super::answers::Answers;

/// A positive result about a symbol that was changed after the result was produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleEvidence {
    /// The id of the result.
    pub result_id: String,
    /// What the goal of the result says.
    pub description: String,
    /// The symbol the result is about.
    pub symbol: String,
    /// The id of the action that produced the result.
    pub verified_at: i64,
    /// The id of the action that changed the symbol last.
    pub changed_at: i64,
}

/// Finds results that hold (proved or sat) about a symbol which a later change mentions.
///
/// "Later" compares the producing actions by their place in the trace.
pub fn stale_evidence(trace: &Trace) -> Vec<StaleEvidence> {
    let changes = changes(trace);
    let answers = Answers::of(trace);
    trace.artifacts().iter().filter_map(|result| stale_result(trace, &answers, result, &changes)).collect()
}

struct Change<'a> {
    about: String,
    producer: &'a Action,
}

fn changes(trace: &Trace) -> Vec<Change<'_>> {
    let is_change =
        |artifact: &&Artifact| artifact.is(ArtifactType::Diff) || artifact.is(ArtifactType::FormalModel);
    let changes = trace.artifacts().iter().filter(is_change);
    let mut changes: Vec<Change<'_>> = changes
        .filter_map(|change| {
            Some(Change { about: change.about().to_lowercase(), producer: producer_of(trace, change)? })
        })
        .collect();
    changes.sort_by_key(|change| change.producer.position());
    changes
}

fn stale_result(
    trace: &Trace,
    answers: &Answers<'_>,
    result: &Artifact,
    changes: &[Change<'_>],
) -> Option<StaleEvidence> {
    if !result.is(ArtifactType::VerificationResult) {
        return None;
    }
    let status = VerificationStatus::from_word(result.payload_text("status")?)?;
    if !matches!(status, VerificationStatus::Proved | VerificationStatus::Sat) {
        return None;
    }
    let goal = answers.goal(result)?;
    let symbol = goal.payload_text("target_symbol").filter(|symbol| !symbol.is_empty())?;
    let producer = producer_of(trace, result)?;
    let wanted = symbol.to_lowercase();
    let later = changes.iter().rev().take_while(|change| change.producer.position() > producer.position());
    let change = later.into_iter().find(|change| change.about.contains(&wanted))?;
    Some(StaleEvidence {
        result_id: result.id()?.to_owned(),
        description: goal.payload_text("description").unwrap_or("").to_owned(),
        symbol: symbol.to_owned(),
        verified_at: producer.id()?,
        changed_at: change.producer.id()?,
    })
}

fn producer_of<'a>(trace: &'a Trace, artifact: &Artifact) -> Option<&'a Action> {
    trace.action_by_id(artifact.producer_action_id()?)
}
