//! Verification results by goal, and results that a later change may have invalidated.

use std::collections::BTreeMap;

use crate::vocabulary::{ArtifactType, VerificationStatus};
use crate::wire::{Action, Artifact, Trace};

/// A positive result about a symbol that was changed after the result was produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleEvidence {
    /// The id of the result.
    pub result_id: String,
    /// The description of the result's goal.
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

/// Results by the goal they answer: by the id of the goal's artifact, or where a result names none, by the number
/// of the goal.
pub(crate) struct Answers<'a> {
    trace: &'a Trace,
    by_artifact: BTreeMap<&'a str, Vec<&'a Artifact>>,
    by_number: BTreeMap<i64, Vec<&'a Artifact>>,
    goals_by_number: BTreeMap<i64, &'a Artifact>,
}

impl<'a> Answers<'a> {
    pub(crate) fn of(trace: &'a Trace) -> Self {
        let mut answers = Self {
            trace,
            by_artifact: BTreeMap::new(),
            by_number: BTreeMap::new(),
            goals_by_number: BTreeMap::new(),
        };
        for artifact in trace.artifacts() {
            if artifact.is(ArtifactType::VerificationGoal) {
                if let Some(number) = number(artifact) {
                    answers.goals_by_number.entry(number).or_insert(artifact);
                }
            } else if artifact.is(ArtifactType::VerificationResult) {
                if let Some(id) = artifact.payload_text("goal_artifact_id") {
                    answers.by_artifact.entry(id).or_default().push(artifact);
                } else if let Some(number) = number(artifact) {
                    answers.by_number.entry(number).or_default().push(artifact);
                }
            }
        }
        answers
    }

    /// Returns the results that answer a goal.
    pub(crate) fn results(&self, goal: &Artifact) -> impl Iterator<Item = &'a Artifact> {
        let by_artifact = goal.id().and_then(|id| self.by_artifact.get(id));
        let by_number = number(goal).and_then(|number| self.by_number.get(&number));
        by_artifact.into_iter().chain(by_number).flatten().copied()
    }

    /// Returns the goal a result answers.
    pub(crate) fn goal(&self, result: &Artifact) -> Option<&'a Artifact> {
        match result.payload_text("goal_artifact_id") {
            Some(id) => self.trace.artifact_by_id(id).filter(|goal| goal.is(ArtifactType::VerificationGoal)),
            None => self.goals_by_number.get(&number(result)?).copied(),
        }
    }
}

fn number(artifact: &Artifact) -> Option<i64> {
    artifact.payload()?.get("goal_id")?.as_i64()
}
