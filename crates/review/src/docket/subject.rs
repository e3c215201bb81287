//! Finding what an id means in a review, and whether a target is part of the trace.

use crate::model::{SubjectType, TargetPart};
use crate::wire::Trace;

use super::review::Review;

impl Review {
    /// Returns what an id means: an item, else a gap, else a comment.
    pub fn subject(&self, id: &str) -> Option<SubjectType> {
        if self.item(id).is_some() {
            Some(SubjectType::Item)
        } else if self.gap(id).is_some() {
            Some(SubjectType::Residual)
        } else if self.comments.contains(id) {
            Some(SubjectType::Comment)
        } else {
            None
        }
    }
}

/// Returns whether a part is there.
pub(super) fn has_part(trace: &Trace, part: &TargetPart) -> bool {
    match part {
        TargetPart::Trace => true,
        TargetPart::Action(id) => trace.action_by_id(id.0).is_some(),
        TargetPart::Artifact(id) => trace.artifact_by_id(id.as_str()).is_some(),
        TargetPart::Policy(id) => trace.policies().any(|policy| policy.id() == Some(id.as_str())),
        TargetPart::PolicyEvaluation(id) => {
            trace.policy_evaluations().any(|found| found.policy_id() == Some(id.as_str()))
        }
        TargetPart::ReferenceArtifact(id) => {
            trace.reference_artifacts().any(|found| found.id() == Some(id.as_str()))
        }
    }
}
