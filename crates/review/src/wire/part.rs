//! Whether a part that somebody names is there.

use crate::model::TargetPart;

use super::Trace;

impl Trace {
    /// Returns whether the trace has a part.
    pub fn has_part(&self, part: &TargetPart) -> bool {
        match part {
            TargetPart::Trace => true,
            TargetPart::Action(id) => self.action_by_id(id.0).is_some(),
            TargetPart::Artifact(id) => self.artifact_by_id(id.as_str()).is_some(),
            TargetPart::Policy(id) => self.policies().any(|policy| policy.id() == Some(id.as_str())),
            TargetPart::PolicyEvaluation(id) => {
                self.policy_evaluations().any(|found| found.policy_id() == Some(id.as_str()))
            }
            TargetPart::ReferenceArtifact(id) => {
                self.reference_artifacts().any(|found| found.id() == Some(id.as_str()))
            }
        }
    }
}
