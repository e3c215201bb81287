//! Names and places of older versions, rewritten to the current ones.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::version::Version;
use crate::vocabulary::{ActionType, ActivityType, ArtifactType};
use crate::wire::{Action, ReasoningSlot, Trace, Trace as WireTrace};

use super::field::Text;

/// Returns the document with everything older versions named or placed differently in its current form.
///
/// Current parts are shared, not copied. Nothing is invented: where an older version lacks a required member, decoding
/// reports it. Names that version 1.0 exchanged between actions become
/// artifacts only where the action carried their payload.
pub fn upgrade(value: &Value) -> Value {
    let Value::Object(trace) = value else { return value.clone() };
    let mut members: Vec<(Text, Value)> = Vec::with_capacity(trace.len());
    for (key, member) in trace.iter() {
        let upgraded = match (&**key, member) {
            ("artifacts", Value::Array(items)) => items.iter().map(artifact).collect(),
            ("goals", Value::Array(items)) => items.iter().map(goal).collect(),
            ("policies", Value::Array(items)) => items.iter().map(policy).collect(),
            _ => member.clone(),
        };
        members.push((key.clone(), upgraded));
    }
    let mut upgraded: Object = members.into_iter().collect();
    if let Some(Value::Array(models)) = trace.get("reference_models")
        && trace.get("reference_artifacts").is_none_or(Value::is_null)
    {
        let references: Value = models.iter().map(reference_model).collect();
        upgraded = upgraded.without("reference_models").with("reference_artifacts", references);
    }
    let wire = WireTrace::read(value);
    if Version::of(&wire).exchanges_names(&wire) {
        upgraded = super::upgrade::with_artifacts(&wire, upgraded);
    }
    upgraded.into()
}

/// Renames a member, unless the current name is taken.
fn renamed(object: Object, older: &str, current: &str) -> Object {
    match object.get(older) {
        Some(value) if object.get(current).is_none_or(Value::is_null) => {
            let value = value.clone();
            object.without(older).with(current, value)
        }
        _ => object,
    }
}

/// Sets a member that the older form implied.
fn implied(object: Object, key: &str, value: &str) -> Object {
    if object.get(key).is_none_or(Value::is_null) { object.with(key, value) } else { object }
}

pub(super) fn artifact(value: &Value) -> Value {
    let Value::Object(artifact) = value else { return value.clone() };
    let Some(Value::Object(payload)) = artifact.get("payload") else { return value.clone() };
    let payload = payload.clone();
    let upgraded = match artifact.get("artifact_type").and_then(Value::as_str) {
        Some("IMLModel") => implied(renamed(payload, "iml_code", "formal_code"), "model_language", "iml"),
        Some("Formalization" | "FormalModel") => renamed(payload, "iml_code", "formal_code"),
        Some("Decomposition") => implied(
            renamed(payload, "target_function", "target_symbol"),
            "analysis_kind",
            "region_decomposition",
        ),
        Some("StateSpaceAnalysisResult") => renamed(payload, "target_function", "target_symbol"),
        Some("GeneratedTests") => {
            renamed(payload, "source_decomposition_artifact_id", "source_analysis_artifact_id")
        }
        _ => return value.clone(),
    };
    artifact.with("payload", upgraded).into()
}

fn goal(value: &Value) -> Value {
    let Value::Object(goal) = value else { return value.clone() };
    let mut goal = renamed(goal.clone(), "goal_id", "id");
    if let Some(Value::Array(items)) = goal.get("acceptance") {
        let items: Value = items
            .iter()
            .map(|item| match item {
                Value::Object(item) => renamed(item.clone(), "acceptance_id", "id").into(),
                other => other.clone(),
            })
            .collect();
        goal = goal.with("acceptance", items);
    }
    goal.into()
}

pub(super) fn policy(value: &Value) -> Value {
    let Value::Object(policy) = value else { return value.clone() };
    let policy = renamed(policy.clone(), "reference_model_id", "reference_artifact_id");
    renamed(policy, "id", "policy_id").into()
}

fn reference_model(value: &Value) -> Value {
    let Value::Object(model) = value else { return value.clone() };
    let model = implied(
        renamed(model.clone(), "reference_model_id", "reference_artifact_id"),
        "artifact_type",
        "formal_model",
    );
    let Some(code) = model.get("iml").cloned() else { return model.into() };
    let payload = Object::from_iter([("formal_code", code)]);
    implied(model.without("iml"), "format", "iml").with("payload", payload).into()
}

/// Makes an artifact for every name that an action outputs. Its kind follows from the payload or the action.
///
/// The payload moves from the action to the artifact; what it derives from are the inputs of the action.
pub(super) fn with_artifacts(trace: &Trace, upgraded: Object) -> Object {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut artifacts: Vec<Value> = Vec::new();
    let mut actions: Vec<Value> = Vec::new();
    for action in trace.actions() {
        let mut moved = action.source().clone();
        for (index, name) in action.outputs().enumerate() {
            if !known.insert(name) {
                continue;
            }
            let slot = ReasoningSlot::ALL.iter().find(|slot| action.member(slot.member()).is_some());
            let payload = slot.filter(|_| index == 0).and_then(|slot| action.member(slot.member()));
            let mut artifact = Object::from_iter([
                ("artifact_id", Value::from(name)),
                ("artifact_type", kind_of(action, slot.copied()).into()),
                ("name", name.into()),
                ("derived_from", action.inputs().collect()),
            ]);
            if let Some(id) = action.id() {
                artifact = artifact.with("producer_action_id", id);
            }
            if let (Some(payload), Some(slot)) = (payload, slot) {
                artifact = artifact.with("payload", payload.clone());
                moved = moved.without(slot.member());
            }
            artifacts.push(super::upgrade::artifact(&artifact.into()));
        }
        actions.push(moved.into());
    }
    upgraded.with("actions", actions).with("artifacts", artifacts)
}

fn kind_of(action: &Action, slot: Option<ReasoningSlot>) -> ArtifactType {
    match (slot, action.action_type()) {
        (Some(ReasoningSlot::Formalization), _) => ArtifactType::Formalization,
        (Some(ReasoningSlot::VerificationGoal), _) => ArtifactType::VerificationGoal,
        (Some(ReasoningSlot::VerificationResult), _) => ArtifactType::VerificationResult,
        (Some(ReasoningSlot::Decomposition), _) => ArtifactType::StateSpaceAnalysisResult,
        (Some(ReasoningSlot::Conformance), _) => ArtifactType::ConformanceResult,
        (Some(ReasoningSlot::CoSimulation), _) => ArtifactType::CoSimulationResult,
        (Some(ReasoningSlot::GeneratedTests), _) => ArtifactType::GeneratedTests,
        (None, Some(ActionType::Activity(activity))) => match activity {
            ActivityType::ReadFile => ArtifactType::SourceCode,
            ActivityType::ReadDocumentation => ArtifactType::Documentation,
            ActivityType::SearchCode | ActivityType::SearchWeb => ArtifactType::SearchResults,
            ActivityType::FormulatePlan | ActivityType::DecomposeTask => ArtifactType::Plan,
            ActivityType::EditFile
            | ActivityType::CreateFile
            | ActivityType::DeleteFile
            | ActivityType::GitDiff => ArtifactType::Diff,
            ActivityType::GitCommit => ArtifactType::Commit,
            ActivityType::RunCommand
            | ActivityType::RunTests
            | ActivityType::TypeCheck
            | ActivityType::Lint => ArtifactType::CommandResult,
            _ => ArtifactType::AnalysisNote,
        },
        _ => ArtifactType::AnalysisNote,
    }
}
