//! Which result answers which goal.

use std::collections::BTreeMap;

use crate::vocabulary::ArtifactType;
use crate::wire::{Artifact, Trace};

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
