//! Rules of residuals, and of references to parts of the trace.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::residuals::predecessors;
use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus, TargetType};
use crate::wire::{Entry, Residual};

use super::check::{Check, Field, Presence, shown};
use super::place::Place;
use super::rule::Rule;

impl Check<'_> {
    pub(super) fn residuals(&mut self) {
        let root = Place::root().child("residuals");
        for (index, item) in self.trace.entry().items("residuals").iter().enumerate() {
            if item.as_object().is_none() {
                self.find(
                    Rule::ResidualId,
                    root.child(index),
                    index,
                    format!("a residual is an object; found {}", shown(item)),
                );
            }
        }
        let mut seen = BTreeSet::new();
        let closes_gaps = !predecessors(self.trace).is_empty();
        for residual in self.trace.residuals() {
            let at = Place::of("residuals", &residual);
            let subject = match residual.id().filter(|id| !id.is_empty()) {
                Some(id) => {
                    if !seen.insert(id.to_owned()) {
                        let at = at.child("residual_id");
                        self.find(Rule::ResidualIdDuplicate, at, id, "another residual has this id");
                    }
                    id.to_owned()
                }
                None => {
                    let subject = residual.index().to_string();
                    self.find(Rule::ResidualId, at.child("residual_id"), &subject, "a residual has an id");
                    subject
                }
            };
            self.residual_words(&residual, &at, &subject);
            self.filled(
                residual.source().get("statement"),
                &at,
                "statement",
                Rule::ResidualStatement,
                &subject,
            );
            self.target(&residual, &at, &subject, Presence::Optional);
            let known = |check: &Self, id: &str| check.is_artifact_or_reference(id);
            self.references(
                residual.source(),
                &at,
                "related_artifact_ids",
                Rule::RefRelated,
                &subject,
                known,
            );
            if let Some(action) = residual.member("introduced_by_action_id")
                && action.as_i64().is_none_or(|id| self.trace.action_by_id(id).is_none())
            {
                let message = format!("no action has the id {}", shown(action));
                self.find(Rule::RefIntroducedBy, at.child("introduced_by_action_id"), &subject, message);
            }
            if residual.status() == Some(ResidualStatus::Addressed) && !closes_gaps {
                let message = "a gap is closed by a successor, and this trace names no predecessor";
                self.find(Rule::ResidualLifecycle, at.child("status"), &subject, message);
            }
        }
    }

    fn residual_words(&mut self, residual: &Residual, at: &Place<'_>, subject: &str) {
        let field = |key, rule, words, presence| Field { key, rule, words, presence };
        let kind = field("kind", Rule::ResidualKind, ResidualKind::WORDS, Presence::Required);
        // Derived residuals know one more kind, which nobody may author.
        let derived = residual.bool("derived") == Some(true);
        self.word(residual.source(), at, kind, subject, |word| {
            ResidualKind::from_word(word).is_some() || (derived && word == "stale_evidence")
        });
        let severity = field("severity", Rule::ResidualSeverity, ResidualSeverity::WORDS, Presence::Optional);
        self.word(residual.source(), at, severity, subject, |word| {
            ResidualSeverity::from_word(word).is_some()
        });
        let status = field("status", Rule::ResidualStatus, ResidualStatus::WORDS, Presence::Optional);
        self.word(residual.source(), at, status, subject, |word| ResidualStatus::from_word(word).is_some());
        let source = field("source", Rule::ResidualSource, ResidualSource::WORDS, Presence::Optional);
        self.word(residual.source(), at, source, subject, |word| ResidualSource::from_word(word).is_some());
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
            return self.find(
                Rule::TargetType,
                at,
                subject,
                format!("a target is an object; found {}", shown(member)),
            );
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
