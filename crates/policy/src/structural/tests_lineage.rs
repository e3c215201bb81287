//! Generated tests descend from a state-space analysis.

use hence_review::vocabulary::ArtifactType;

use super::Outcome;
use crate::eval::Subject;

pub(super) fn check(subject: &Subject) -> Outcome {
    let trace = subject.trace();
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for tests in trace.artifacts().iter().filter(|artifact| artifact.is(ArtifactType::GeneratedTests)) {
        outcome.checked = outcome.checked.map(|count| count + 1);
        let id = tests.id().unwrap_or("");
        let is_analysis = |ancestor: &&str| {
            trace
                .artifact_by_id(ancestor)
                .is_some_and(|artifact| artifact.is(ArtifactType::StateSpaceAnalysisResult))
        };
        if !subject.lineage().ancestors(id).iter().any(|ancestor| is_analysis(ancestor)) {
            outcome.violating_artifacts.push(id.to_owned());
            outcome.faults.push(format!("no state-space analysis is among the ancestors of tests `{id}`"));
        }
    }
    outcome
}
