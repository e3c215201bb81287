//! What reviewers decide about the whole trace.

use crate::vocabulary::words;

use super::entry::Stamp;

words! {
    /// What was decided.
    DecisionKind, "decision" {
        Approved = "approved",
        Rejected = "rejected",
        ChangesRequested = "changes_requested",
        Escalated = "escalated",
    }
}

words! {
    /// How far a review has come.
    Stage, "stage of a review" {
        UnderReview = "under_review",
        ReadyForApproval = "ready_for_approval",
        ChangesRequired = "changes_required",
        Approved = "approved",
        Rejected = "rejected",
    }
}

/// A decision on the whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub kind: DecisionKind,
    /// Who decided.
    pub stamp: Stamp,
    /// What they said.
    pub note: Option<String>,
}
