//! Writes the report of a run in the form of the cases.

use hence_canon::{Object, Value};
use hence_cognition::run::{NestedRun, RunFailure, RunReport};
use hence_cognition::state::{Names, RuntimeEvent, StepResult, TraceStep};

use super::super::memory;
use super::mock::Mock;

pub(super) fn write(report: &RunReport, mock: &Mock) -> Value {
    let state = &report.state;
    let current = Value::from(state.current_step.clone());
    let blocks =
        memory::write(&state.memory).with("status", state.status.as_str()).with("current_step", current);
    let class_of = |result: &StepResult| {
        let outcome = report.outcomes.iter().find(|outcome| outcome.step_id == result.step_id);
        outcome.and_then(|outcome| outcome.failure.as_ref()).map(|failure| failure.class.name().to_owned())
    };
    let results: Value =
        state.step_results.iter().map(|result| step_result(result, class_of(result))).collect();
    let metrics = state.trace.metrics;
    let metrics = Object::from_iter([
        ("step_count", metrics.step_count),
        ("llm_calls", metrics.llm_calls),
        ("tool_calls", metrics.tool_calls),
        ("tokens_in", metrics.tokens_in),
        ("tokens_out", metrics.tokens_out),
    ]);
    let steps: Value = state.trace.steps.iter().map(trace_step).collect();
    let trace = Object::from_iter([("steps", steps), ("metrics", metrics.into())]);
    let mut members: Vec<(&str, Value)> = vec![
        ("status", state.status.as_str().into()),
        ("state", blocks.into()),
        ("step_results", results),
        ("trace", trace.into()),
        ("events", state.events.iter().map(event).collect()),
        ("calls", mock.calls.clone().into()),
    ];
    members.extend(report.failure.as_ref().map(|failed| ("error", error(failed))));
    if !mock.waits.is_empty() {
        members.push(("backoff_waits", mock.waits.clone().into()));
    }
    if !mock.nested.is_empty() {
        members.push(("nested_runs", mock.nested.iter().map(nested).collect()));
    }
    members.into_iter().collect::<Object>().into()
}

fn error(failed: &RunFailure) -> Value {
    let mut members: Vec<(&str, Value)> =
        vec![("class", failed.failure.class.name().into()), ("code", failed.code().as_str().into())];
    members.extend(failed.step_id.clone().map(|id| ("step_id", id.into())));
    members.into_iter().collect::<Object>().into()
}

fn step_result(result: &StepResult, class: Option<String>) -> Value {
    let list = |names: &Option<Names>| names.as_ref().map(all).unwrap_or_default();
    let mut members: Vec<(&str, Value)> = vec![
        ("step_id", result.step_id.clone().into()),
        ("status", result.status.as_str().into()),
        ("resolved_input", result.resolved_input.clone()),
        ("produced_output", result.produced_output.clone()),
        ("reads", list(&result.reads)),
        ("writes", list(&result.writes)),
    ];
    members.extend(class.map(|class| ("error_class", class.into())));
    members.extend(result.binding.get("attempts_count").map(|count| ("attempts_count", count.clone())));
    members.into_iter().collect::<Object>().into()
}

fn trace_step(step: &TraceStep) -> Value {
    Object::from_iter([
        ("step_id", Value::from(step.step_id.clone())),
        ("capability_id", step.capability_id.clone().into()),
        ("status", step.status.as_str().into()),
        ("reads", all(&step.reads)),
        ("writes", all(&step.writes)),
    ])
    .into()
}

fn event(event: &RuntimeEvent) -> Value {
    let mut members: Vec<(&str, Value)> = vec![("type", event.kind.clone().into())];
    members.extend(event.step_id.clone().map(|id| ("step_id", id.into())));
    if &*event.kind == "step_completed" {
        let data = match event.data.get("scatter_errors").and_then(Value::as_object) {
            Some(errors) => event.data.with("scatter_errors", errors.keys().cloned().collect::<Value>()),
            None => event.data.clone(),
        };
        members.push(("data", data.into()));
    }
    members.into_iter().collect::<Object>().into()
}

fn nested(run: &NestedRun) -> Value {
    Object::from_iter([
        ("skill_id", Value::from(run.skill_id.clone())),
        ("depth", run.depth.into()),
        ("parent_skill_id", run.parent_skill_id.clone().into()),
        ("lineage", all(&run.lineage)),
        ("status", run.status.as_str().into()),
        ("parent_run_id", run.parent_run_id.clone().into()),
    ])
    .into()
}

fn all(names: &Names) -> Value {
    names.iter().cloned().collect()
}
