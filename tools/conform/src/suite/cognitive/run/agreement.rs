//! Compares a run with the expectation of a case.

use hence_canon::{Object, Value};

use super::super::matching::{self, same, same_in_any_order};

/// The members whose order does not matter in cases marked `unordered`.
const UNORDERED: [&str; 3] = ["events", "calls", "step_results"];
/// Members of a state that are about the run rather than about what was written.
const ABOUT_THE_RUN: [&str; 3] = ["status", "current_step", "written_targets"];

pub(crate) fn agrees(case: &Value, expect: &Value, found: &Value) -> bool {
    let keys = |value: &Value| value.as_object().map(Object::len);
    keys(expect) == keys(found) && differing(case, expect, found).is_empty()
}

/// Returns the facets in which a run differs.
fn differing<'a>(case: &Value, expect: &'a Value, found: &Value) -> Vec<&'a str> {
    let unordered = case.get("unordered") == Some(&Value::Bool(true));
    let facets = expect.as_object().into_iter().flat_map(Object::iter);
    let differs = |(facet, expected): &(&std::sync::Arc<str>, &Value)| {
        let Some(found) = found.get(facet) else { return true };
        match unordered {
            true if UNORDERED.contains(&&***facet) => !unordered_same(expected, found),
            true if &***facet == "trace" => {
                let part = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
                !unordered_same(&part(expected, "steps"), &part(found, "steps"))
                    || !same(&part(expected, "metrics"), &part(found, "metrics"))
            }
            _ => !same(expected, found),
        }
    };
    facets.filter(differs).map(|(facet, _)| &**facet).collect()
}

fn unordered_same(expected: &Value, found: &Value) -> bool {
    same_in_any_order(expected.as_array().unwrap_or_default(), found.as_array().unwrap_or_default())
}

/// Partial expectations of runs have helper keys; each is read from the facet it is about.
pub(crate) fn covers(sane: &Value, found: &Value) -> bool {
    sane.as_object().into_iter().flat_map(Object::iter).all(|(key, expected)| match &**key {
        "state" => covers_state(expected, found.get("state").unwrap_or(&Value::Null)),
        "step_statuses" => per_step(expected, found.get("step_results"), "status"),
        "step_produced" => per_step(expected, found.get("step_results"), "produced_output"),
        "writes" => per_step(expected, found.get("step_results"), "writes"),
        "trace_capability" => {
            per_step(expected, found.get("trace").and_then(|trace| trace.get("steps")), "capability_id")
        }
        "metrics" => found
            .get("trace")
            .and_then(|trace| trace.get("metrics"))
            .is_some_and(|metrics| matching::covers(expected, metrics)),
        "trace_statuses" => same(expected, &trace_statuses(found)),
        _ => found.get(key).is_some_and(|found| matching::covers(expected, found)),
    })
}

/// A state without written targets means that nothing was written.
fn covers_state(expected: &Value, found: &Value) -> bool {
    let written = |value: &Value| {
        let members = value.as_object().into_iter().flat_map(Object::iter);
        members.filter(|(key, _)| !ABOUT_THE_RUN.contains(&&***key)).count()
    };
    let empty = expected.as_object().is_some_and(Object::is_empty);
    matching::covers(expected, found) && (!empty || written(found) == 0)
}

fn per_step(expected: &Value, steps: Option<&Value>, member: &str) -> bool {
    let steps = steps.and_then(Value::as_array).unwrap_or_default();
    expected.as_object().into_iter().flat_map(Object::iter).all(|(id, expected)| {
        let step = steps.iter().find(|step| step.get("step_id").and_then(Value::as_str) == Some(id));
        step.and_then(|step| step.get(member)).is_some_and(|found| same(expected, found))
    })
}

fn trace_statuses(found: &Value) -> Value {
    let steps = found.get("trace").and_then(|trace| trace.get("steps")).and_then(Value::as_array);
    let pair = |step: &Value| {
        ["step_id", "status"].into_iter().filter_map(|key| step.get(key).cloned()).collect::<Vec<Value>>()
    };
    steps.unwrap_or_default().iter().map(pair).collect()
}

pub(crate) fn deviation(case: &Value, found: &Value) -> Option<&'static str> {
    let expect = case.get("expect")?;
    let differing = differing(case, expect, found);
    let is_about =
        |facets: &[&str]| !differing.is_empty() && differing.iter().all(|facet| facets.contains(facet));
    if is_about(&["state"]) && has_error(found, "OutputMappingError") {
        return Some(
            "a step's writes are all or nothing; the recorded state keeps those before the failing one",
        );
    }
    if is_about(&["step_results", "events"]) && same(&history(expect), &history(found)) {
        return Some(
            "what a step read and gave is kept as it was; in the recorded run a later merge changed it",
        );
    }
    let raced = case.get("timing_sensitive") == Some(&Value::Bool(true))
        && case.get("skills").is_some_and(|skills| skills.to_string().contains("first_success"));
    raced.then_some(
        "first_success takes the first branch in declared order; the recorded run took the fastest",
    )
}

fn has_error(found: &Value, class: &str) -> bool {
    let results = found.get("step_results").and_then(Value::as_array).unwrap_or_default();
    results.iter().any(|result| result.get("error_class").and_then(Value::as_str) == Some(class))
}

/// Returns the results and events of a run without the values that aliasing can change.
fn history(run: &Value) -> Value {
    let without = |value: &Value| {
        let object = value.as_object().cloned().unwrap_or_default();
        let data = object.get("data").and_then(Value::as_object).map(|data| data.without("produced_output"));
        let object = object.without("resolved_input").without("produced_output").without("data");
        Value::from(vec![Value::from(object), data.into()])
    };
    let list = |facet: &str| {
        let items = run.get(facet).and_then(Value::as_array).unwrap_or_default();
        items.iter().map(without).collect::<Vec<Value>>()
    };
    vec![Value::from(list("step_results")), list("events").into()].into()
}
