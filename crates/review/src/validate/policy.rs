//! Rules of policies and their evaluations.

use std::collections::BTreeSet;

use crate::vocabulary::{EvaluationStatus, PolicySeverity};
use crate::wire::Evaluation;

use super::check::{Check, Field, Presence, shown};
use super::place::Place;
use super::rule::Rule;

impl Check<'_> {
    pub(super) fn policies(&mut self) {
        let root = Place::root().child("policies");
        for (index, item) in self.trace.entry().items("policies").iter().enumerate() {
            if item.as_object().is_none() {
                self.find(
                    Rule::PolicyId,
                    root.child(index),
                    index,
                    format!("a policy is an object; found {}", shown(item)),
                );
            }
        }
        let severity = Field {
            key: "severity",
            rule: Rule::PolicySeverity,
            words: PolicySeverity::WORDS,
            presence: Presence::Required,
        };
        let mut seen = BTreeSet::new();
        for policy in self.trace.policies() {
            let at = Place::of("policies", &policy);
            let subject = match policy.id().filter(|id| !id.is_empty()) {
                Some(id) => {
                    if !seen.insert(id.to_owned()) {
                        let at = at.child("policy_id");
                        self.find(Rule::PolicyIdDuplicate, at, id, "another policy has this id");
                    }
                    id.to_owned()
                }
                None => {
                    self.find(Rule::PolicyId, at.child("policy_id"), policy.index(), "a policy has an id");
                    policy.index().to_string()
                }
            };
            self.word(policy.source(), &at, severity, &subject, |word| {
                PolicySeverity::from_word(word).is_some()
            });
            let formula = policy.member("formula");
            // A formula may also be written as a tree; only its absence is remarked on.
            if formula.is_none_or(|formula| formula.as_str().is_some_and(|text| text.trim().is_empty())) {
                self.find(
                    Rule::PolicyFormula,
                    at.child("formula"),
                    &subject,
                    "a policy without a formula decides nothing",
                );
            }
        }
    }

    pub(super) fn evaluations(&mut self) {
        let status = Field {
            key: "status",
            rule: Rule::EvaluationStatus,
            words: EvaluationStatus::WORDS,
            presence: Presence::Required,
        };
        for evaluation in self.trace.policy_evaluations() {
            let at = Place::of("policy_evaluations", &evaluation);
            let subject =
                evaluation.policy_id().map_or_else(|| evaluation.index().to_string(), str::to_owned);
            if !evaluation.policy_id().is_some_and(|id| self.known.policies.contains(id)) {
                let found = evaluation.member("policy_id").map_or_else(|| "nothing".to_owned(), shown);
                let message = format!("an evaluation names a policy of the trace; found {found}");
                self.find(Rule::RefEvaluationPolicy, at.child("policy_id"), &subject, message);
            }
            self.word(evaluation.source(), &at, status, &subject, |word| {
                EvaluationStatus::from_word(word).is_some()
            });
            self.evaluation_witnesses(&evaluation, &at, &subject);
        }
    }

    fn evaluation_witnesses(&mut self, evaluation: &Evaluation, at: &Place<'_>, subject: &str) {
        for key in ["evidence_action_ids", "violating_action_ids"] {
            for (index, item) in evaluation.items(key).iter().enumerate() {
                if item.as_i64().is_none_or(|id| self.trace.action_by_id(id).is_none()) {
                    let message = format!("no action has the id {}", shown(item));
                    self.find(Rule::RefEvaluationAction, at.child(key).child(index), subject, message);
                }
            }
        }
        if let Some(id) = evaluation.member("checked_at_action_id")
            && id.as_i64().is_none_or(|id| self.trace.action_by_id(id).is_none())
        {
            let message = format!("no action has the id {}", shown(id));
            self.find(Rule::RefEvaluationAction, at.child("checked_at_action_id"), subject, message);
        }
        let known = |check: &Self, id: &str| check.is_artifact_or_reference(id);
        for key in ["evidence_artifact_ids", "violating_artifact_ids"] {
            self.references(evaluation.source(), at, key, Rule::RefEvaluationArtifact, subject, known);
        }
    }
}
