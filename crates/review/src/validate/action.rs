//! Rules of single actions.

use std::collections::BTreeSet;
use std::fmt;

use hence_canon::{Object, Value};

use crate::vocabulary::{
    ActionCategory, ActionType, ActivityType, Confidence, Determinism, EvidenceType, GatewayType,
    ReproducibilityStatus, ReproductionKind,
};
use crate::wire::Action;

use super::check::{Check, Place, shown};
use super::rule::{Rule, Severity};

/// An action as findings name it: by its id as written, or by its index when it has none.
pub(super) struct Subject<'a>(pub(super) &'a Action);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.member("id") {
            Some(Value::String(id)) => out.write_str(id),
            Some(Value::Int(id)) => write!(out, "{id}"),
            _ => write!(out, "#{}", self.0.index()),
        }
    }
}

/// An action that is being checked.
struct Checked<'a> {
    members: Members<'a>,
    action_type: Option<ActionType>,
    at: Place<'a>,
    subject: Subject<'a>,
}

impl Checked<'_> {
    fn type_word(&self) -> &str {
        self.members.word.and_then(Value::as_str).unwrap_or("")
    }
}

impl<'a> Check<'a> {
    pub(super) fn actions(&mut self) {
        self.objects_only("actions", "an action", Rule::ActionType);
        let mut vocabulary = BTreeSet::new();
        for action in self.trace.actions() {
            let members = Members::of(action.source());
            let action_type = members.word.and_then(Value::as_str).and_then(ActionType::from_specified_word);
            let action =
                Checked { members, action_type, at: Place::of("actions", action), subject: Subject(action) };
            self.action_type(&action, &mut vocabulary);
            self.action_category(&action);
            self.filled(members.label, &action.at, "label", Rule::ActionLabel, &action.subject);
            self.filled(members.rationale, &action.at, "rationale", Rule::ActionRationale, &action.subject);
            self.action_exchange(&action);
            self.action_evidence(&action);
            self.action_observations(&action);
            self.action_execution(&action);
            self.action_gateway(&action);
            self.action_reproducibility(&action);
            self.named_units.push(members.meta_action_id);
        }
        self.files_modified();
        if !self.trace.has_sound_action_ids() {
            self.action_ids();
        }
    }

    fn action_ids(&mut self) {
        let mut last: Option<i64> = None;
        let mut out_of_order = None;
        for action in self.trace.actions() {
            let at = || Place::of("actions", action).child("id");
            let Some(id) = action.id() else {
                let found = action.member("id").map_or_else(|| "nothing".to_owned(), shown);
                let message = format!("an action id is an integer; found {found}");
                self.find(Rule::ActionId, at(), action.index(), message);
                continue;
            };
            if id < 0 {
                self.find_as(Severity::Warning, Rule::ActionId, at(), id, "an action id is negative");
            }
            let first = self.trace.action_by_id(id);
            if first.is_some_and(|first| first.position() != action.position()) {
                self.find(Rule::ActionIdDuplicate, at(), id, format!("action {id} occurs before"));
            }
            if last.is_some_and(|last| id < last) && out_of_order.is_none() {
                out_of_order = Some((at(), id));
            }
            last = Some(id);
        }
        if let Some((at, id)) = out_of_order {
            let message =
                format!("action ids do not increase in list order, first at {id}; list order counts");
            self.find(Rule::ActionOrder, at, "", message);
        }
    }

    fn action_type(&mut self, action: &Checked<'a>, vocabulary: &mut BTreeSet<&'a str>) {
        let word = action.members.word.and_then(Value::as_str).unwrap_or("");
        if word.is_empty() {
            self.find(Rule::ActionType, action.at.child("type"), &action.subject, "an action has a type");
        } else if action.action_type.is_none() && vocabulary.insert(word) {
            // Domains bring their own vocabulary; each unknown word is reported once, where it first occurs.
            let message = "the specification does not know this action type";
            self.find(Rule::ActionTypeUnknown, action.at.child("type"), word, message);
        }
    }

    fn action_category(&mut self, action: &Checked<'_>) {
        let at = || action.at.child("category");
        let implied = action.action_type.map(ActionType::category);
        let Some(written) = action.members.category else {
            let message = match implied {
                Some(category) => format!("no category; the type implies {category}"),
                None => "no category, and the type implies none".to_owned(),
            };
            return self.find_as(Severity::Warning, Rule::ActionCategory, at(), &action.subject, message);
        };
        let Some(category) = written.as_str().and_then(ActionCategory::from_word) else {
            let message =
                format!("category is one of {}; found {}", ActionCategory::WORDS.join(", "), shown(written));
            return self.find(Rule::ActionCategory, at(), &action.subject, message);
        };
        if let Some(implied) = implied.filter(|implied| *implied != category) {
            let message = format!("{} belongs to {implied}; found {category}", action.type_word());
            self.find(Rule::ActionCategoryMismatch, at(), &action.subject, message);
        }
    }

    /// Checks that inputs and outputs are lists of texts.
    fn action_exchange(&mut self, action: &Checked<'_>) {
        let members = &action.members;
        let exchanged = [
            ("inputs", members.inputs),
            ("outputs", members.outputs),
            ("supporting_inputs", members.supporting_inputs),
        ];
        for (key, value) in exchanged {
            let at = || action.at.child(key);
            match value {
                None => {}
                Some(Value::Array(items)) => {
                    for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_str().is_none())
                    {
                        let message = format!("{key} are artifact ids; found {}", shown(item));
                        self.find(Rule::ActionInputsType, at().child(index), &action.subject, message);
                    }
                }
                Some(other) => {
                    let message = format!("{key} are a list of artifact ids; found {}", shown(other));
                    self.find(Rule::ActionInputsType, at(), &action.subject, message);
                }
            }
        }
    }

    fn action_evidence(&mut self, action: &Checked<'_>) {
        let (at, subject) = (|| action.at.child("evidence"), &action.subject);
        let changes = matches!(
            action.action_type,
            Some(ActionType::Activity(
                ActivityType::EditFile | ActivityType::CreateFile | ActivityType::DeleteFile
            ))
        );
        if let Some(other) = action.members.evidence.filter(|value| value.as_array().is_none()) {
            let message = format!("evidence is a list; found {}", shown(other));
            self.find(Rule::EvidenceType, at(), subject, message);
        }
        for (index, item) in items(action.members.evidence).iter().enumerate() {
            let Some(object) = item.as_object() else {
                let message = format!("evidence is an object; found {}", shown(item));
                self.find(Rule::EvidenceType, at().child(index), subject, message);
                continue;
            };
            let evidence_type = object.get("type").and_then(Value::as_str).and_then(EvidenceType::from_word);
            if evidence_type.is_none() {
                self.required_word::<EvidenceType>(
                    object,
                    &at().child(index),
                    "type",
                    Rule::EvidenceType,
                    subject,
                );
            }
            match object.get("ref") {
                Some(Value::String(path)) => {
                    if evidence_type == Some(EvidenceType::FileRef) {
                        if changes {
                            self.files.intern(path);
                        } else if action.action_type == Some(ActivityType::RenameFile.into()) {
                            self.renamed_files.intern(path);
                        }
                    }
                }
                _ => {
                    let message = "evidence refers to something by a text";
                    self.find(Rule::EvidenceRef, at().child(index).child("ref"), subject, message);
                }
            }
        }
    }

    fn action_observations(&mut self, action: &Checked<'_>) {
        for (index, observation) in objects(action.members.observations) {
            let at = action.at.child("observations").child(index);
            let rule = Rule::ObservationConfidence;
            self.optional_word::<Confidence>(observation, &at, "confidence", rule, &action.subject);
        }
    }

    fn action_execution(&mut self, action: &Checked<'_>) {
        let at = || action.at.child("execution");
        let execution = action.members.execution.and_then(Value::as_object);
        if let Some(execution) = execution {
            let rule = Rule::ExecutionDeterminism;
            self.optional_word::<Determinism>(execution, &at(), "determinism", rule, &action.subject);
        }
        let Some(ActionType::Reasoning(_)) = action.action_type else { return };
        let written = action.members.category.and_then(Value::as_str);
        let reasons =
            written.is_none_or(|word| ActionCategory::from_word(word) == Some(ActionCategory::Reasoning));
        let tool = execution.and_then(|execution| execution.get("tool")).and_then(Value::as_str);
        if reasons && tool.is_none_or(|tool| tool.trim().is_empty()) {
            let message = "a reasoning action without the tool that reasoned is underspecified";
            let at = if execution.is_some() { at().child("tool") } else { at() };
            self.find(Rule::ExecutionTool, at, &action.subject, message);
        }
    }

    fn action_gateway(&mut self, action: &Checked<'_>) {
        let at = || action.at.child("options");
        let is_chosen = |option: &Object| option.get("chosen").and_then(Value::as_bool) == Some(true);
        let chosen = objects(action.members.options).filter(|(_, option)| is_chosen(option)).count();
        let exclusive = action.action_type == Some(GatewayType::ExclusiveDecision.into());
        if exclusive && chosen > 1 {
            let message = format!("an exclusive decision chooses one option; found {chosen}");
            self.find(Rule::GatewayOptions, at(), &action.subject, message);
        }
        for (index, option) in objects(action.members.options) {
            let Some(next) = option.get("next_action_id").filter(|next| !next.is_null()) else { continue };
            let at = at().child(index).child("next_action_id");
            self.action_reference(next, Rule::GatewayNext, at, &action.subject);
        }
    }

    fn action_reproducibility(&mut self, action: &Checked<'_>) {
        let Some(member) = action.members.reproducibility else { return };
        let (at, subject) = (action.at.child("reproducibility"), &action.subject);
        let Some(object) = member.as_object() else {
            let message = format!("reproducibility is an object; found {}", shown(member));
            return self.find(Rule::ReproducibilityStatus, at, subject, message);
        };
        let rule = Rule::ReproducibilityStatus;
        self.required_word::<ReproducibilityStatus>(object, &at, "status", rule, subject);
        let rule = Rule::ReproducibilityKind;
        self.required_word::<ReproductionKind>(object, &at, "reproduction_kind", rule, subject);
        if let Some(environment) = object.get("environment_id").and_then(Value::as_str)
            && !self.known.environments.contains(environment)
        {
            let (rule, at) = (Rule::RefEnvironment, at.child("environment_id"));
            self.unknown(rule, at, subject, "environment", &environment.into());
        }
        let known = |check: &Self, id: &str| check.is_artifact_or_reference(id);
        self.references(object, &at, "input_artifact_ids", Rule::RefRequiredArtifact, subject, known);
        if let Some(expected) = object.get("expected_output").and_then(Value::as_object) {
            let at = at.child("expected_output");
            self.references(expected, &at, "artifact_ids", Rule::RefRequiredArtifact, subject, known);
        }
    }
}

/// The members of an action, found in one pass; a member that is null counts as missing.
#[derive(Clone, Copy, Default)]
struct Members<'a> {
    word: Option<&'a Value>,
    category: Option<&'a Value>,
    label: Option<&'a Value>,
    rationale: Option<&'a Value>,
    inputs: Option<&'a Value>,
    outputs: Option<&'a Value>,
    supporting_inputs: Option<&'a Value>,
    evidence: Option<&'a Value>,
    observations: Option<&'a Value>,
    execution: Option<&'a Value>,
    options: Option<&'a Value>,
    reproducibility: Option<&'a Value>,
    meta_action_id: Option<&'a Value>,
}

impl<'a> Members<'a> {
    fn of(action: &'a Object) -> Self {
        let mut found = Self::default();
        for (key, value) in action.iter().filter(|(_, value)| !value.is_null()) {
            let slot = match &**key {
                "type" => &mut found.word,
                "category" => &mut found.category,
                "label" => &mut found.label,
                "rationale" => &mut found.rationale,
                "inputs" => &mut found.inputs,
                "outputs" => &mut found.outputs,
                "supporting_inputs" => &mut found.supporting_inputs,
                "evidence" => &mut found.evidence,
                "observations" => &mut found.observations,
                "execution" => &mut found.execution,
                "options" => &mut found.options,
                "reproducibility" => &mut found.reproducibility,
                "meta_action_id" => &mut found.meta_action_id,
                _ => continue,
            };
            *slot = Some(value);
        }
        found
    }
}

/// Returns the items of a list; anything else has none.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or(&[])
}

/// Returns the objects of a list with their places in it.
pub(super) fn objects(value: Option<&Value>) -> impl Iterator<Item = (usize, &Object)> {
    items(value).iter().enumerate().filter_map(|(index, item)| Some((index, item.as_object()?)))
}
