//! A long trace in which work goes on over many files: read, edit, verify, test, commit.

use hence_canon::{Object, Value};

/// Types of actions, in the order of work.
const TYPES: [&str; 10] = [
    "ReadFile",
    "SearchCode",
    "EditFile",
    "Verify",
    "RunTests",
    "Lint",
    "GitCommit",
    "Deploy",
    "Approve",
    "DeleteFile",
];

/// The number of files that are worked on.
const FILES: usize = 500;

/// Returns a trace of so many actions. Every third makes something of what was made before on the same file.
pub(super) fn of(actions: usize) -> Value {
    let mut newest: Vec<Option<String>> = vec![None; FILES];
    let (mut done, mut made): (Vec<Object>, Vec<Object>) = (Vec::new(), Vec::new());
    for at in 0..actions {
        let file = at.wrapping_mul(2_654_435_761) % FILES;
        let kind = TYPES.get(at % TYPES.len()).copied().unwrap_or("ReadFile");
        let slot = newest.get_mut(file);
        let source: Vec<String> = slot.as_ref().and_then(|slot| slot.as_ref()).cloned().into_iter().collect();
        let mut outputs = Vec::new();
        if at % 3 == 2 {
            let id = format!("a{at}");
            made.push(artifact(at, &id, file, &source));
            outputs.push(id.clone());
            if let Some(slot) = slot {
                *slot = Some(id);
            }
        }
        done.push(action(at, kind, file, &source, &outputs));
    }
    let residuals: Vec<Object> = (0..actions / 100).map(residual).collect();
    Object::from_iter([
        ("trace_id", Value::from("long")),
        ("trigger", Object::from_iter([("type", "TaskReceived")]).into()),
        ("outcome", Object::from_iter([("type", "ProcessCompleted")]).into()),
        ("actions", done.into()),
        ("artifacts", made.into()),
        ("residuals", residuals.into()),
    ])
    .into()
}

fn action(at: usize, kind: &str, file: usize, inputs: &[String], outputs: &[String]) -> Object {
    let path = if file.is_multiple_of(50) { format!("payments/{file}.rs") } else { format!("src/{file}.rs") };
    let summary = if at.is_multiple_of(7) { "2 failed" } else { "5 passed, reviewed" };
    let result = Object::from_iter([("status", if at.is_multiple_of(5) { "refuted" } else { "proved" })]);
    Object::from_iter([
        ("id", Value::from(at as u64 + 1)),
        ("type", kind.into()),
        ("category", if kind == "Verify" { "reasoning" } else { "activity" }.into()),
        ("label", format!("{kind} on file {file}").into()),
        ("rationale", "the task asks for it, with the usual care and an approved plan".into()),
        ("request", Object::from_iter([("path", path)]).into()),
        ("result_summary", summary.into()),
        ("vg_result", result.into()),
        ("inputs", inputs.to_vec().into()),
        ("outputs", outputs.to_vec().into()),
    ])
}

fn artifact(at: usize, id: &str, file: usize, sources: &[String]) -> Object {
    let kind = if at.is_multiple_of(2) { "Diff" } else { "VerificationResult" };
    let status = if at.is_multiple_of(4) { "refuted" } else { "proved" };
    Object::from_iter([
        ("artifact_id", Value::from(id)),
        ("artifact_type", kind.into()),
        ("name", format!("file {file}").into()),
        ("producer_action_id", (at as u64 + 1).into()),
        ("derived_from", sources.to_vec().into()),
        ("payload", Object::from_iter([("status", status)]).into()),
    ])
}

fn residual(at: usize) -> Object {
    Object::from_iter([
        ("residual_id", Value::from(format!("r{at}"))),
        ("kind", if at.is_multiple_of(2) { "assumption" } else { "unverified" }.into()),
        ("severity", if at.is_multiple_of(9) { "high" } else { "low" }.into()),
        ("status", "acknowledged".into()),
        ("statement", "not measured under load".into()),
        ("suggested_check", "measure it".into()),
    ])
}

/// Returns the actions, each with the artifacts it made.
pub(super) fn steps(trace: &Value) -> Vec<(Object, Vec<Object>)> {
    let list = |key: &str| trace.get(key).and_then(Value::as_array).unwrap_or(&[]).iter();
    let mut artifacts = list("artifacts").filter_map(Value::as_object).peekable();
    let mut steps = Vec::new();
    for action in list("actions").filter_map(Value::as_object) {
        let mut made = Vec::new();
        while let Some(artifact) =
            artifacts.next_if(|artifact| artifact.get("producer_action_id") == action.get("id"))
        {
            made.push(artifact.clone());
        }
        steps.push((action.clone(), made));
    }
    steps
}
