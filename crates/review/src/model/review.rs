//! Comments and review items (§14), links and lineage (§15), policies and their evaluations.

use hence_canon::{Object, Value};

use crate::vocabulary::{
    ChainStatus, CommentStatus, EvaluationStatus, PolicyScope, PolicySeverity, Relationship, ReviewItemStatus,
};

use super::field::{
    ActionId, ArtifactId, CommentId, LinkId, PolicyId, ReferenceArtifactId, ReviewItemId, Text, TraceId,
};
use super::record::record;
use super::residual::Target;

record! {
    /// A remark (§14.2).
    Comment {
        comment_id: CommentId,
        author: Text,
        created_at: Text,
        body: Text,
        target: Target,
        thread_parent_id: Option<CommentId>,
        status: Option<CommentStatus>,
        resolved_at: Option<Text>,
        tags: Vec<Text>,
    }
}

record! {
    /// A request of a reviewer (§14.3).
    ReviewItem {
        review_item_id: ReviewItemId,
        author: Text,
        created_at: Text,
        title: Text,
        body: Option<Text>,
        target: Target,
        assignee: Option<Text>,
        status: ReviewItemStatus,
        blocking: Option<bool>,
        acknowledged_at: Option<Text>,
        acknowledged_by: Option<Text>,
        resolved_at: Option<Text>,
        resolved_by: Option<Text>,
        resolution_note: Option<Text>,
        tags: Vec<Text>,
    }
}

record! {
    /// A link to another trace (§15).
    TraceLink {
        link_id: LinkId,
        from_trace_id: TraceId,
        to_trace_id: TraceId,
        relationship: Relationship,
        created_at: Option<Text>,
        created_by: Option<Text>,
        note: Option<Text>,
    }
}

record! {
    /// The position of a trace in its chain (§15.2).
    #[derive(Default)]
    TraceLineage {
        parent_trace_id: Option<TraceId>,
        root_trace_id: Option<TraceId>,
        chain_position: Option<i64>,
        chain_status: Option<ChainStatus>,
        latest_descendant_trace_id: Option<TraceId>,
    }
}

record! {
    /// A rule over traces. Its formula is text or a tree and is parsed by the evaluator.
    Policy {
        policy_id: PolicyId,
        name: Option<Text>,
        description: Option<Text>,
        severity: PolicySeverity,
        scope: Option<PolicyScope>,
        kind: Option<Text>,
        applies_when: Option<Object>,
        formula: Option<Value>,
        reference_artifact_id: Option<ReferenceArtifactId>,
    }
}

record! {
    /// The evaluation of a policy.
    PolicyEvaluation {
        policy_id: PolicyId,
        status: EvaluationStatus,
        checked_at_action_id: Option<ActionId>,
        evidence_action_ids: Vec<ActionId>,
        evidence_artifact_ids: Vec<ArtifactId>,
        violating_action_ids: Vec<ActionId>,
        violating_artifact_ids: Vec<ArtifactId>,
        note: Option<Text>,
    }
}
