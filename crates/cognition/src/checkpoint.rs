//! Checkpoints: an execution state as one JSON document, version 1 of the format.
//!
//! Runs of this project are recorded in journals and a state is folded from them; a checkpoint is for exchange with
//! tools that store states.

use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::state::{ExecutionState, RuntimeEvent, STATE_VERSION, StepResult, Trace, TraceStep};

/// The version of the format.
pub const CHECKPOINT_VERSION: u64 = 1;

/// Returns the checkpoint of a state.
pub fn save(state: &ExecutionState) -> Value {
    let memory = &state.memory;
    let results: Object =
        state.step_results.iter().map(|result| (result.step_id.clone(), step_result(result))).collect();
    let members: [(&str, Value); 22] = [
        ("_checkpoint_version", CHECKPOINT_VERSION.into()),
        ("skill_id", state.skill_id.clone().into()),
        ("inputs", memory.inputs().clone().into()),
        ("vars", memory.vars().to_object().into()),
        ("outputs", memory.outputs().to_object().into()),
        ("step_results", results.into()),
        ("written_targets", memory.written_targets().cloned().collect()),
        ("events", state.events.iter().map(event).collect()),
        ("started_at", state.started_at.clone().into()),
        ("finished_at", state.finished_at.clone().into()),
        ("status", state.status.as_str().into()),
        ("trace_id", state.trace_id.clone().into()),
        ("frame", memory.frame().to_object().into()),
        ("working", memory.working().to_object().into()),
        ("output", memory.output().to_object().into()),
        ("trace", trace(&state.trace)),
        ("extensions", memory.extensions().to_object().into()),
        ("state_version", STATE_VERSION.into()),
        ("skill_version", state.skill_version.clone().into()),
        ("iteration", state.iteration.into()),
        ("current_step", state.current_step.clone().into()),
        ("parent_run_id", state.parent_run_id.clone().into()),
    ];
    Object::from_iter(members).with("updated_at", Value::from(state.updated_at.clone())).into()
}

fn step_result(result: &StepResult) -> Value {
    let binding = StepResult::BINDING_FIELDS
        .into_iter()
        .map(|name| (name, result.binding.get(name).cloned().unwrap_or_default()));
    let head: [(&str, Value); 5] = [
        ("step_id", result.step_id.clone().into()),
        ("uses", result.uses.clone().into()),
        ("status", result.status.as_str().into()),
        ("resolved_input", result.resolved_input.clone()),
        ("produced_output", result.produced_output.clone()),
    ];
    let tail: [(&str, Value); 6] = [
        ("error_message", result.error_message.clone().into()),
        ("started_at", result.started_at.clone().into()),
        ("finished_at", result.finished_at.clone().into()),
        ("reads", some_texts(result.reads.as_deref())),
        ("writes", some_texts(result.writes.as_deref())),
        ("latency_ms", result.latency_ms.clone()),
    ];
    head.into_iter().chain(binding).chain(tail).collect::<Object>().into()
}

/// The format writes an empty list of reads or writes as `null`.
fn some_texts(texts: Option<&[Arc<str>]>) -> Value {
    match texts {
        None | Some([]) => Value::Null,
        Some(texts) => texts.iter().cloned().collect(),
    }
}

fn event(event: &RuntimeEvent) -> Value {
    Object::from_iter([
        ("type", Value::from(event.kind.clone())),
        ("message", event.message.clone().into()),
        ("timestamp", event.timestamp.clone().into()),
        ("step_id", event.step_id.clone().into()),
        ("trace_id", event.trace_id.clone().into()),
        ("data", event.data.clone().into()),
    ])
    .into()
}

fn trace(trace: &Trace) -> Value {
    let mut metrics = trace.metrics;
    let metrics: Object = metrics.counters().map(|(name, count)| (name, *count)).into_iter().collect();
    let steps: Value = trace.steps.iter().map(trace_step).collect();
    Object::from_iter([("steps", steps), ("metrics", metrics.into())]).into()
}

fn trace_step(step: &TraceStep) -> Value {
    Object::from_iter([
        ("step_id", Value::from(step.step_id.clone())),
        ("capability_id", step.capability_id.clone().into()),
        ("status", step.status.as_str().into()),
        ("started_at", step.started_at.clone().into()),
        ("ended_at", step.ended_at.clone().into()),
        ("reads", step.reads.iter().cloned().collect()),
        ("writes", step.writes.iter().cloned().collect()),
        ("latency_ms", step.latency_ms.clone()),
    ])
    .into()
}
