//! `run_store`: the bounded list of runs of the reference implementation; the results of `get` and `list`.
//!
//! `hence` lists the runs of its store, so nothing but these cases needs that list.

use std::collections::VecDeque;

use hence_canon::{Object, Value};

/// The default length of the list.
const RUNS_DEFAULT: usize = 100;

pub(super) fn run(case: &Value) -> Value {
    let max = count(case, "max_runs").unwrap_or(RUNS_DEFAULT).max(1);
    let mut runs = VecDeque::new();
    let operations = case.get("ops").and_then(Value::as_array).unwrap_or_default();
    let observed: Vec<Value> =
        operations.iter().filter_map(|operation| apply(operation, &mut runs, max)).collect();
    Object::from_iter([("observed", observed)]).into()
}

fn count(value: &Value, key: &str) -> Option<usize> {
    value.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
}

/// Applies one operation; a refused one changes nothing and shows nothing.
fn apply(operation: &Value, runs: &mut VecDeque<Object>, max: usize) -> Option<Value> {
    let member = |key: &str| operation.get(key).cloned().unwrap_or_default();
    let id = member("run_id");
    let found = runs.iter().position(|run| run.get("run_id") == Some(&id));
    match operation.get("op")?.as_str()? {
        "create" if found.is_none() => {
            runs.push_back(started(id, member("skill_id"), member("trace_id")));
            runs.drain(..runs.len().saturating_sub(max));
        }
        "complete" => end(found.and_then(|at| runs.get_mut(at)), "completed", ("result", member("result"))),
        "fail" => end(found.and_then(|at| runs.get_mut(at)), "failed", ("error", member("error"))),
        "get" => return Some(found.and_then(|at| runs.get(at)).cloned().into()),
        "list" => {
            let limit = count(operation, "limit").unwrap_or(usize::MAX);
            let newest = runs.iter().rev().take(limit);
            return Some(newest.map(|run| run.get("run_id").cloned().unwrap_or_default()).collect());
        }
        _ => {}
    }
    None
}

/// The cases show every time as `<ts>`.
fn started(run_id: Value, skill_id: Value, trace_id: Value) -> Object {
    Object::from_iter([
        ("run_id", run_id),
        ("skill_id", skill_id),
        ("status", "running".into()),
        ("trace_id", trace_id),
        ("created_at", "<ts>".into()),
        ("finished_at", Value::Null),
        ("result", Value::Null),
        ("error", Value::Null),
    ])
}

/// Ends a run that is still running: an end is final.
fn end(run: Option<&mut Object>, status: &str, (key, value): (&str, Value)) {
    if let Some(run) = run.filter(|run| run.get("status") == Some(&"running".into())) {
        *run = run.with("status", status).with("finished_at", "<ts>").with(key, value);
    }
}
