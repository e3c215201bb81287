//! Runs of problems in memory.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by tests, each of which uses part of it")]

use hence_canon::{Value, parse};
use hence_engine::{Engine, Finished, MemorySink, Reason, Request, Run, Sink};
use hence_state::Profile;

/// Returns a problem with the given settings and evidence items.
pub(crate) fn problem(settings: &str, evidence: usize) -> Value {
    let items: Vec<String> = (0..evidence).map(|item| format!(r#"{{"id":"e{item}"}}"#)).collect();
    let json = format!(
        r#"{{"version":"1.0.0","id":"case","created_at":"2026-02-02T00:00:00Z",
            "inputs":{{"prompt":"Is it so?","goals":["a","b"],"constraints":["c"],
                      "context":{{"evidence":[{}]}}}},"settings":{settings}}}"#,
        items.join(",")
    );
    parse(json.as_bytes()).unwrap()
}

/// Returns the settings of a loop over evidence that stops at a count.
pub(crate) fn looping(stop_at: u64, max_iterations: u64, batch: u64) -> String {
    format!(
        r#"{{"evidence_required":true,"evidence_batch":{batch},"loop":{{"enabled":true,"start_step":"AcquireEvidence",
            "end_step":"Verify","max_iterations":{max_iterations},"stop_condition":
            {{"path":"artifacts.verification.evidence_count","operator":"gte","value":{stop_at}}}}}}}"#
    )
}

/// Runs a problem to its end.
pub(crate) fn run(engine: &Engine, problem: &Value, profile: Profile) -> (MemorySink, Finished) {
    let plan = engine.plan(&Request::of_value(problem.clone(), profile)).unwrap();
    let (run, header) = Run::start(Reason::new(plan)).unwrap();
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    let finished = run.finish(&mut sink, |_| {}).unwrap();
    (sink, finished)
}

/// Returns the lines of a journal, parsed.
pub(crate) fn records(journal: &[u8]) -> Vec<Value> {
    journal
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| parse(line).unwrap())
        .collect()
}

/// Returns the value at a pointer, as canonical text.
pub(crate) fn at(value: &Value, pointer: &str) -> String {
    value.pointer(&pointer.parse().unwrap()).map_or("nothing".to_owned(), Value::to_string)
}
