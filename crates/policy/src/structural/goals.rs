//! Every verification goal is about a model of the trace.

use hence_review::vocabulary::ArtifactType;

use super::Outcome;
use crate::eval::Subject;

pub(super) fn check(subject: &Subject) -> Outcome {
    let trace = subject.trace();
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for goal in trace.artifacts().iter().filter(|artifact| artifact.is(ArtifactType::VerificationGoal)) {
        outcome.checked = outcome.checked.map(|count| count + 1);
        let id = goal.id().unwrap_or("");
        let fault = match goal.payload_text("target_artifact_id") {
            None => "does not say what it is about".to_owned(),
            Some(target) => match trace.artifact_by_id(target).map(|found| found.artifact_type()) {
                Some(Some(artifact_type)) if artifact_type.is_model() => continue,
                Some(_) => format!("is about `{target}`, which is not a model"),
                None => format!("is about `{target}`, which the trace does not have"),
            },
        };
        outcome.violating_artifacts.push(id.to_owned());
        outcome.faults.push(format!("goal `{id}` {fault}"));
    }
    outcome
}
