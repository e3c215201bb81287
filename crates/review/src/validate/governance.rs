//! Rules of policies, residuals, comments, review items, links and the reproduction of a trace.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::residuals::predecessors;
use crate::vocabulary::{
    ChainStatus, CommentStatus, EvaluationStatus, PolicySeverity, Relationship, ReproducibilityStatus,
    ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus, ReviewItemStatus, TargetType,
};
use crate::wire::{Entry, Evaluation, Link, Residual};

use super::check::{Check, Identity, Place, Presence, shown};
use super::rule::Rule;

const POLICY: Identity = Identity {
    key: "policy_id",
    noun: "policy",
    missing: Rule::PolicyId,
    duplicate: Rule::PolicyIdDuplicate,
};
const RESIDUAL: Identity = Identity {
    key: "residual_id",
    noun: "residual",
    missing: Rule::ResidualId,
    duplicate: Rule::ResidualIdDuplicate,
};

impl Check<'_> {
    pub(super) fn policies(&mut self) {
        self.objects_only("policies", "a policy", Rule::PolicyId);
        let mut seen = BTreeSet::new();
        for policy in self.trace.policies() {
            let at = Place::of("policies", &policy);
            let subject = self.identify(&policy, policy.id(), &at, &POLICY, &mut seen);
            self.required_word::<PolicySeverity>(
                policy.source(),
                &at,
                "severity",
                Rule::PolicySeverity,
                &subject,
            );
            let formula = policy.member("formula");
            // A formula may also be written as a tree; only its absence is remarked on.
            if formula.is_none_or(|formula| formula.as_str().is_some_and(|text| text.trim().is_empty())) {
                let message = "a policy without a formula decides nothing";
                self.find(Rule::PolicyFormula, at.child("formula"), &subject, message);
            }
        }
    }

    pub(super) fn evaluations(&mut self) {
        for evaluation in self.trace.policy_evaluations() {
            let at = Place::of("policy_evaluations", &evaluation);
            let subject =
                evaluation.policy_id().map_or_else(|| evaluation.index().to_string(), str::to_owned);
            if !evaluation.policy_id().is_some_and(|id| self.known.policies.contains(id)) {
                let found = evaluation.member("policy_id").map_or_else(|| "nothing".to_owned(), shown);
                let message = format!("an evaluation names a policy of the trace; found {found}");
                self.find(Rule::RefEvaluationPolicy, at.child("policy_id"), &subject, message);
            }
            let rule = Rule::EvaluationStatus;
            self.required_word::<EvaluationStatus>(evaluation.source(), &at, "status", rule, &subject);
            self.evaluation_witnesses(&evaluation, &at, &subject);
        }
    }

    fn evaluation_witnesses(&mut self, evaluation: &Evaluation, at: &Place<'_>, subject: &str) {
        for key in ["evidence_action_ids", "violating_action_ids"] {
            for (index, item) in evaluation.items(key).iter().enumerate() {
                self.action_reference(item, Rule::RefEvaluationAction, at.child(key).child(index), subject);
            }
        }
        if let Some(id) = evaluation.member("checked_at_action_id") {
            self.action_reference(id, Rule::RefEvaluationAction, at.child("checked_at_action_id"), subject);
        }
        let known = |check: &Self, id: &str| check.is_artifact_or_reference(id);
        for key in ["evidence_artifact_ids", "violating_artifact_ids"] {
            self.references(evaluation.source(), at, key, Rule::RefEvaluationArtifact, subject, known);
        }
    }
}

impl Check<'_> {
    pub(super) fn residuals(&mut self) {
        self.objects_only("residuals", "a residual", Rule::ResidualId);
        let mut seen = BTreeSet::new();
        let closes_gaps = !predecessors(self.trace).is_empty();
        for residual in self.trace.residuals() {
            let at = Place::of("residuals", &residual);
            let subject = self.identify(&residual, residual.id(), &at, &RESIDUAL, &mut seen);
            self.residual_words(&residual, &at, &subject);
            let statement = residual.source().get("statement");
            self.filled(statement, &at, "statement", Rule::ResidualStatement, &subject);
            self.target(&residual, &at, &subject, Presence::Optional);
            let known = |check: &Self, id: &str| check.is_artifact_or_reference(id);
            let (source, rule) = (residual.source(), Rule::RefRelated);
            self.references(source, &at, "related_artifact_ids", rule, &subject, known);
            if let Some(action) = residual.member("introduced_by_action_id") {
                let at = at.child("introduced_by_action_id");
                self.action_reference(action, Rule::RefIntroducedBy, at, &subject);
            }
            if residual.status() == Some(ResidualStatus::Addressed) && !closes_gaps {
                let message = "a gap is closed by a successor, and this trace names no predecessor";
                self.find(Rule::ResidualLifecycle, at.child("status"), &subject, message);
            }
        }
    }

    fn residual_words(&mut self, residual: &Residual, at: &Place<'_>, subject: &str) {
        let source = residual.source();
        // Derived residuals have one more kind, which is never written by hand.
        let is_stale =
            residual.bool("derived") == Some(true) && residual.text("kind") == Some("stale_evidence");
        if !is_stale {
            self.required_word::<ResidualKind>(source, at, "kind", Rule::ResidualKind, subject);
        }
        self.optional_word::<ResidualSeverity>(source, at, "severity", Rule::ResidualSeverity, subject);
        self.optional_word::<ResidualStatus>(source, at, "status", Rule::ResidualStatus, subject);
        self.optional_word::<ResidualSource>(source, at, "source", Rule::ResidualSource, subject);
    }

    /// Checks a reference to a part of the trace.
    pub(super) fn target(&mut self, entry: &Entry, at: &Place<'_>, subject: &str, presence: Presence) {
        let at = at.child("target");
        let Some(member) = entry.member("target") else {
            if presence == Presence::Required {
                self.find(Rule::TargetType, at, subject, "it is about some part of the trace");
            }
            return;
        };
        let Some(target) = member.as_object() else {
            let message = format!("a target is an object; found {}", shown(member));
            return self.find(Rule::TargetType, at, subject, message);
        };
        let word = target.get("target_type").and_then(Value::as_str).unwrap_or("");
        let Some(target_type) = TargetType::from_word(word) else {
            let message = format!(
                "target_type is one of {}; found {}",
                TargetType::WORDS.join(", "),
                shown(&word.into())
            );
            return self.find(Rule::TargetType, at.child("target_type"), subject, message);
        };
        let id = target.get("target_id").filter(|id| !id.is_null());
        if !self.is_part(target_type, id) {
            let found = id.map_or_else(|| "nothing".to_owned(), shown);
            let message = format!("the trace has no {target_type} {found}");
            self.find(Rule::RefTarget, at.child("target_id"), subject, message);
        }
    }

    fn is_part(&self, target_type: TargetType, id: Option<&Value>) -> bool {
        let text = id.and_then(Value::as_str);
        match target_type {
            TargetType::Trace => text.is_none_or(|id| self.trace.trace_id() == Some(id)),
            TargetType::Action => {
                let number = text.map_or_else(|| id.and_then(Value::as_i64), |text| text.parse().ok());
                number.is_some_and(|id| self.trace.action_by_id(id).is_some())
            }
            TargetType::Artifact => text.is_some_and(|id| self.trace.artifact_by_id(id).is_some()),
            TargetType::Policy => text.is_some_and(|id| self.known.policies.contains(id)),
            TargetType::PolicyEvaluation => text.is_some_and(|id| self.known.evaluations.contains(id)),
            TargetType::ReferenceArtifact => text.is_some_and(|id| self.known.references.contains(id)),
        }
    }
}

impl Check<'_> {
    pub(super) fn review(&mut self) {
        self.comments();
        self.review_items();
        for link in self.trace.trace_links() {
            self.link(&link);
        }
        self.trace_lineage();
        self.trace_reproducibility();
    }

    fn comments(&mut self) {
        for comment in self.trace.comments() {
            let at = Place::of("comments", &comment);
            let subject = comment.id().map_or_else(|| comment.index().to_string(), str::to_owned);
            self.optional_word::<CommentStatus>(
                comment.source(),
                &at,
                "status",
                Rule::CommentStatus,
                &subject,
            );
            self.target(&comment, &at, &subject, Presence::Required);
            let Some(parent) = comment.member("thread_parent_id") else { continue };
            let answers = parent
                .as_str()
                .is_some_and(|id| self.known.comments.contains(id) && comment.id() != Some(id));
            if !answers {
                let message = format!("no other comment has the id {}", shown(parent));
                self.find(Rule::RefCommentParent, at.child("thread_parent_id"), &subject, message);
            }
        }
    }

    fn review_items(&mut self) {
        for item in self.trace.review_items() {
            let at = Place::of("review_items", &item);
            let subject = item.id().map_or_else(|| item.index().to_string(), str::to_owned);
            let rule = Rule::ReviewItemStatus;
            self.required_word::<ReviewItemStatus>(item.source(), &at, "status", rule, &subject);
            self.target(&item, &at, &subject, Presence::Required);
            let signed = item.text("resolved_at").is_some() && item.text("resolved_by").is_some();
            if item.status() == Some(ReviewItemStatus::Resolved) && !signed {
                let message = "a resolved item says when and by whom it was resolved";
                self.find(Rule::ReviewItemResolution, at, &subject, message);
            }
        }
    }

    fn link(&mut self, link: &Link) {
        let at = Place::of("trace_links", link);
        let subject = link.id().map_or_else(|| link.index().to_string(), str::to_owned);
        let rule = Rule::LinkRelationship;
        self.required_word::<Relationship>(link.source(), &at, "relationship", rule, &subject);
        let ends = (link.text("from_trace_id"), link.text("to_trace_id"));
        let own = self.trace.trace_id();
        match ends {
            (Some(from), Some(to)) if from == to => {
                self.find(Rule::LinkSelf, at, &subject, "a link joins two traces; found one");
            }
            (Some(from), Some(to)) if own == Some(from) || own == Some(to) => {}
            (Some(_), Some(_)) => {
                self.find(Rule::LinkEndpoint, at, &subject, "neither end of the link is this trace");
            }
            _ => self.find(Rule::LinkEndpoint, at, &subject, "a link names both its traces"),
        }
    }

    fn trace_lineage(&mut self) {
        let Some(lineage) = self.trace.entry().object("trace_lineage") else { return };
        let at = Place::root().child("trace_lineage");
        self.optional_word::<ChainStatus>(lineage, &at, "chain_status", Rule::LineageChainStatus, "");
        let parent = lineage.get("parent_trace_id").and_then(Value::as_str);
        if parent.is_some() && parent == self.trace.trace_id() {
            self.find(Rule::LineageParent, at.child("parent_trace_id"), "", "a trace is not its own parent");
        }
    }

    fn trace_reproducibility(&mut self) {
        let Some(object) = self.trace.entry().object("reproducibility") else { return };
        let at = Place::root().child("reproducibility");
        let rule = Rule::ReproducibilityStatus;
        self.required_word::<ReproducibilityStatus>(object, &at, "status", rule, "");
        let artifact = |check: &Self, id: &str| check.is_artifact_or_reference(id);
        let rule = Rule::RefRequiredArtifact;
        self.references(object, &at, "required_artifact_ids", rule, "", artifact);
        let environment = |check: &Self, id: &str| check.known.environments.contains(id);
        self.references(object, &at, "required_environment_ids", Rule::RefEnvironment, "", environment);
    }
}
