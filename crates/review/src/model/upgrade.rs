//! Names and places that older versions used, rewritten to the current ones.

use hence_canon::{Object, Value};

use crate::version::Version;
use crate::wire::Trace as WireTrace;

use super::field::Text;

/// Returns the document with everything older versions named or placed differently in its current form.
///
/// What is current already is shared, not copied. Nothing is invented: where an older version said less than the
/// model requires, the gap stays and decoding reports it. Names that version 1.0 exchanged between actions become
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
        upgraded = super::upgrade_names::with_artifacts(&wire, upgraded);
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
