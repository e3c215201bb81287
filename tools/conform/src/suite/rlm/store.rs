//! `store-cases.jsonl`: operations in order, their results, and the states they leave.

use std::path::Path;

use hence_canon::{Object, Value};
use hence_variables::document::{Verdict, export};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;
use crate::suite::rlm::world::World;
use crate::suite::rlm::{compare, fixture};

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for case in ndjson(&dir.join("store-cases.jsonl"))? {
        let id = text(&case, "/id")?;
        report.case(id, check(&case));
    }
    Ok(())
}

fn check(case: &Value) -> Result<(), String> {
    let ops = case.get("ops").and_then(Value::as_array).unwrap_or_default();
    let expect = case.get("expect").ok_or("a case without expectation")?;
    let results = expect.get("results").and_then(Value::as_array).unwrap_or_default();
    if ops.is_empty() || ops.len() != results.len() {
        return Err(format!("{} operations and {} results", ops.len(), results.len()));
    }
    let mut world = World::at("2026-02-09T10:00:00Z")?;
    for (index, (op, expected)) in ops.iter().zip(results).enumerate() {
        let found = perform(&mut world, op);
        compare::result(expected, &found).map_err(|reason| format!("operation {index}: {reason}"))?;
    }
    let states = expect.get("states").and_then(Value::as_object).cloned().unwrap_or_default();
    for (handle, expected) in states.iter() {
        check_state(&world, handle, expected).map_err(|reason| format!("state {handle}: {reason}"))?;
    }
    // Whatever a case expects, its events must fold to the same workspace.
    if world.refold()? != world.workspace {
        return Err("the events do not fold to the workspace they were recorded from".to_owned());
    }
    Ok(())
}

fn check_state(world: &World, handle: &str, expected: &Value) -> Result<(), String> {
    let view = world.workspace.state_view(world.handle(handle)).ok_or("there is no such state")?;
    let document = export(view);
    let verdict = Verdict::of(&document);
    if !verdict.is_valid() {
        return Err(format!("its document is not valid: {verdict:?}"));
    }
    compare::state(expected, &document)
}

/// Runs one operation and gives its result in the form of the data.
fn perform(world: &mut World, op: &Value) -> Value {
    let Value::Object(object) = op else { return failure("malformed") };
    if object.get("op").and_then(Value::as_str) == Some("repeat") {
        return repeat(world, object);
    }
    let Value::Object(object) = fixture::expand(op) else { return failure("malformed") };
    match world.run(&object) {
        Ok(members) => members.with("ok", true).into(),
        Err(code) => failure(&code),
    }
}

/// Runs operations several times; stops at the first failure and reports its round.
fn repeat(world: &mut World, object: &Object) -> Value {
    let times = object.get("times").and_then(Value::as_u64).unwrap_or_default();
    let ops = object.get("ops").and_then(Value::as_array).unwrap_or_default();
    for index in 0..times {
        for op in ops {
            let result = perform(world, &fixture::count(op, index));
            if let Value::Object(failed) = &result
                && failed.get("ok") == Some(&Value::Bool(false))
            {
                return failed.with("at", index).into();
            }
        }
    }
    Object::new().with("ok", true).into()
}

fn failure(code: &str) -> Value {
    Object::new().with("ok", false).with("error", code).into()
}
