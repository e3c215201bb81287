//! Rules of single actions.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::vocabulary::{
    ActionCategory, ActionType, Confidence, Determinism, EvidenceType, GatewayType, ReproducibilityStatus,
    ReproductionKind,
};
use crate::wire::{Action, Entry};

use super::check::{Check, Field, Presence, shown};
use super::finding::Level;
use super::place::Place;
use super::rule::Rule;

/// Names an action by its id as written, or by its index when it has none.
pub(super) fn subject_of(action: &Action) -> String {
    match action.member("id") {
        Some(Value::String(id)) => id.to_string(),
        Some(Value::Int(id)) => id.to_string(),
        _ => format!("#{}", action.index()),
    }
}

impl Check<'_> {
    pub(super) fn actions(&mut self) {
        let root = Place::root().child("actions");
        for (index, item) in self.trace.entry().items("actions").iter().enumerate() {
            if item.as_object().is_none() {
                let message = format!("an action is an object; found {}", shown(item));
                self.find(Rule::ActionType, root.child(index), index, message);
            }
        }
        let mut vocabulary = BTreeSet::new();
        for action in self.trace.actions() {
            let at = Place::of("actions", action);
            let subject = subject_of(action);
            self.action_type(action, &at, &subject, &mut vocabulary);
            self.action_category(action, &at, &subject);
            self.filled(action, &at, "label", Rule::ActionLabel, &subject);
            self.filled(action, &at, "rationale", Rule::ActionRationale, &subject);
            self.action_exchange(action, &at, &subject);
            self.action_evidence(action, &at, &subject);
            self.action_observations(action, &at, &subject);
            self.action_execution(action, &at, &subject);
            self.action_gateway(action, &at, &subject);
            self.action_reproducibility(action, &at, &subject);
        }
        self.action_ids();
    }

    fn action_ids(&mut self) {
        let mut seen = BTreeSet::new();
        let mut last: Option<i64> = None;
        let mut out_of_order = None;
        for action in self.trace.actions() {
            let at = Place::of("actions", action).child("id");
            let Some(id) = action.id() else {
                let found = action.member("id").map_or_else(|| "nothing".to_owned(), shown);
                self.find(
                    Rule::ActionId,
                    at,
                    action.index(),
                    format!("an action id is an integer; found {found}"),
                );
                continue;
            };
            if id < 0 {
                self.find_as(Level::Warning, Rule::ActionId, at, id, "an action id is negative");
            }
            if !seen.insert(id) {
                self.find(Rule::ActionIdDuplicate, at, id, format!("action {id} occurs before"));
            }
            if last.is_some_and(|last| id < last) && out_of_order.is_none() {
                out_of_order = Some((at, id));
            }
            last = Some(id);
        }
        if let Some((at, id)) = out_of_order {
            let message =
                format!("action ids do not increase in list order, first at {id}; list order counts");
            self.find(Rule::ActionOrder, at, "", message);
        }
    }

    fn action_type<'a>(
        &mut self,
        action: &'a Action,
        at: &Place<'_>,
        subject: &str,
        vocabulary: &mut BTreeSet<&'a str>,
    ) {
        let word = action.type_word();
        if word.is_empty() {
            self.find(Rule::ActionType, at.child("type"), subject, "an action has a type");
        } else if action.action_type().is_none() && vocabulary.insert(word) {
            // Domains bring their own vocabulary; each foreign word is told once, where it first occurs.
            self.find(
                Rule::ActionTypeUnknown,
                at.child("type"),
                word,
                "the specification does not know this action type",
            );
        }
    }

    fn action_category(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        let at = at.child("category");
        let implied = action.action_type().map(ActionType::category);
        let Some(written) = action.member("category") else {
            let message = match implied {
                Some(category) => format!("no category; the type implies {category}"),
                None => "no category, and the type implies none".to_owned(),
            };
            return self.find_as(Level::Warning, Rule::ActionCategory, at, subject, message);
        };
        let Some(category) = written.as_str().and_then(ActionCategory::from_word) else {
            let message =
                format!("category is one of {}; found {}", ActionCategory::WORDS.join(", "), shown(written));
            return self.find(Rule::ActionCategory, at, subject, message);
        };
        if let Some(implied) = implied.filter(|implied| *implied != category) {
            let message = format!("{} belongs to {implied}; found {category}", action.type_word());
            self.find(Rule::ActionCategoryMismatch, at, subject, message);
        }
    }

    /// Checks that inputs and outputs are lists of texts.
    fn action_exchange(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        for key in ["inputs", "outputs", "supporting_inputs"] {
            let at = at.child(key);
            match action.member(key) {
                None => {}
                Some(Value::Array(items)) => {
                    for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_str().is_none())
                    {
                        let message = format!("{key} are artifact ids; found {}", shown(item));
                        self.find(Rule::ActionInputsType, at.child(index), subject, message);
                    }
                }
                Some(other) => {
                    let message = format!("{key} are a list of artifact ids; found {}", shown(other));
                    self.find(Rule::ActionInputsType, at, subject, message);
                }
            }
        }
    }

    fn action_evidence(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        let at = at.child("evidence");
        if let Some(other) = action.member("evidence").filter(|value| value.as_array().is_none()) {
            self.find(Rule::EvidenceType, at, subject, format!("evidence is a list; found {}", shown(other)));
        }
        for (index, item) in action.items("evidence").iter().enumerate() {
            let at = at.child(index);
            let Some(object) = item.as_object() else {
                self.find(
                    Rule::EvidenceType,
                    at,
                    subject,
                    format!("evidence is an object; found {}", shown(item)),
                );
                continue;
            };
            let field = Field {
                key: "type",
                rule: Rule::EvidenceType,
                words: EvidenceType::WORDS,
                presence: Presence::Required,
            };
            let entry = Entry::new(object.clone(), index);
            self.word(&entry, &at, field, subject, |word| EvidenceType::from_word(word).is_some());
            if entry.text("ref").is_none() {
                self.find(
                    Rule::EvidenceRef,
                    at.child("ref"),
                    subject,
                    "evidence refers to something by a text",
                );
            }
        }
    }

    fn action_observations(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        let field = Field {
            key: "confidence",
            rule: Rule::ObservationConfidence,
            words: Confidence::WORDS,
            presence: Presence::Optional,
        };
        for observation in action.entries("observations") {
            let at = at.child("observations").child(observation.index());
            self.word(&observation, &at, field, subject, |word| Confidence::from_word(word).is_some());
        }
    }

    fn action_execution(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        let at = at.child("execution");
        let execution = Entry::new(action.object("execution").cloned().unwrap_or_default(), 0);
        let field = Field {
            key: "determinism",
            rule: Rule::ExecutionDeterminism,
            words: Determinism::WORDS,
            presence: Presence::Optional,
        };
        self.word(&execution, &at, field, subject, |word| Determinism::from_word(word).is_some());
        let reasons = action.category() == Some(ActionCategory::Reasoning)
            && matches!(action.action_type(), Some(ActionType::Reasoning(_)));
        if reasons && execution.text("tool").is_none_or(|tool| tool.trim().is_empty()) {
            let message = "a reasoning action without the tool that reasoned is underspecified";
            self.find(Rule::ExecutionTool, at.child("tool"), subject, message);
        }
    }

    fn action_gateway(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        let at = at.child("options");
        let chosen = action.entries("options").filter(|option| option.bool("chosen") == Some(true)).count();
        let exclusive = action.action_type() == Some(GatewayType::ExclusiveDecision.into());
        if exclusive && chosen > 1 {
            let message = format!("an exclusive decision chooses one option; found {chosen}");
            self.find(Rule::GatewayOptions, at, subject, message);
        }
        for option in action.entries("options") {
            let Some(next) = option.member("next_action_id") else { continue };
            if next.as_i64().is_none_or(|id| self.trace.action_by_id(id).is_none()) {
                let at = at.child(option.index()).child("next_action_id");
                self.find(Rule::GatewayNext, at, subject, format!("no action has the id {}", shown(next)));
            }
        }
    }

    fn action_reproducibility(&mut self, action: &Action, at: &Place<'_>, subject: &str) {
        let Some(member) = action.member("reproducibility") else { return };
        let at = at.child("reproducibility");
        let Some(object) = member.as_object() else {
            let message = format!("reproducibility is an object; found {}", shown(member));
            return self.find(Rule::ReproducibilityStatus, at, subject, message);
        };
        let entry = Entry::new(object.clone(), 0);
        let status = Field {
            key: "status",
            rule: Rule::ReproducibilityStatus,
            words: ReproducibilityStatus::WORDS,
            presence: Presence::Required,
        };
        self.word(&entry, &at, status, subject, |word| ReproducibilityStatus::from_word(word).is_some());
        let kind = Field {
            key: "reproduction_kind",
            rule: Rule::ReproducibilityKind,
            words: ReproductionKind::WORDS,
            presence: Presence::Required,
        };
        self.word(&entry, &at, kind, subject, |word| ReproductionKind::from_word(word).is_some());
        if let Some(environment) = entry.text("environment_id")
            && !self.known.environments.contains(environment)
        {
            let message = format!("no environment has the id {}", shown(&environment.into()));
            self.find(Rule::RefEnvironment, at.child("environment_id"), subject, message);
        }
        let known = |check: &Self, id: &str| check.is_artifact_or_reference(id);
        self.references(&entry, &at, "input_artifact_ids", Rule::RefRequiredArtifact, subject, known);
        if let Some(expected) = entry.object("expected_output") {
            let expected = Entry::new(expected.clone(), 0);
            let at = at.child("expected_output");
            self.references(&expected, &at, "artifact_ids", Rule::RefRequiredArtifact, subject, known);
        }
    }
}
