//! `run_store`: operations on a list of runs, and what get and list saw.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::run_store::{RUNS_DEFAULT, RunEnd, RunEntry, RunStore};
use hence_cognition::state::Timestamp;

pub(super) fn run(case: &Value) -> Value {
    let max = case.get("max_runs").and_then(Value::as_u64).and_then(|max| usize::try_from(max).ok());
    let mut store = RunStore::new(max.unwrap_or(RUNS_DEFAULT));
    let operations = case.get("ops").and_then(Value::as_array).unwrap_or_default();
    let observed: Vec<Value> =
        operations.iter().filter_map(|operation| apply(operation, &mut store)).collect();
    Object::from_iter([("observed", observed)]).into()
}

/// Applies one operation; a refused one changes nothing and shows nothing.
fn apply(operation: &Value, store: &mut RunStore) -> Option<Value> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).map(Arc::from);
    let now: Timestamp = "2026-01-01".parse().ok()?;
    let id: Arc<str> = text("run_id").unwrap_or_default();
    match operation.get("op")?.as_str()? {
        "create" => {
            let _ = store.create(id, text("skill_id").unwrap_or_default(), text("trace_id"), now);
            None
        }
        "complete" => {
            let result = operation.get("result").cloned().unwrap_or_default();
            let _ = store.end(&id, RunEnd::Completed(result), now);
            None
        }
        "fail" => {
            let _ = store.end(&id, RunEnd::Failed(text("error").unwrap_or_default()), now);
            None
        }
        "get" => Some(store.get(&id).map(entry).into()),
        "list" => {
            let limit =
                operation.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
            Some(
                store
                    .newest_first()
                    .take(limit.unwrap_or(usize::MAX))
                    .map(|entry| entry.run_id.clone())
                    .collect(),
            )
        }
        _ => None,
    }
}

fn entry(entry: &RunEntry) -> Object {
    let shown = |instant: Option<&Timestamp>| Value::from(instant.map(|_| "<ts>"));
    Object::from_iter([
        ("run_id", Value::from(entry.run_id.clone())),
        ("skill_id", entry.skill_id.clone().into()),
        ("status", entry.status.name().into()),
        ("trace_id", entry.trace_id.clone().into()),
        ("created_at", shown(Some(&entry.created_at))),
        ("finished_at", shown(entry.finished_at.as_ref())),
        ("result", entry.result.clone()),
        ("error", entry.error.clone().into()),
    ])
}
