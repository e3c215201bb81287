//! `checkpoint`: restored and saved again.
//!
//! `hence` saves checkpoints for other tools and restores its runs from journals, so only these cases restore one.

use std::sync::Arc;

use hence_canon::read::{self, Finding, Reader};
use hence_canon::time::IsoTime;
use hence_canon::{Object, Value};
use hence_cognition::checkpoint::{CHECKPOINT_VERSION, save};
use hence_cognition::state::{
    ExecutionState, Frame, Memory, Names, RunStatus, RuntimeEvent, STATE_VERSION, StepResult, Trace,
    TraceMetrics, TraceStep,
};

use super::memory::failure;

pub(super) fn run(case: &Value) -> Value {
    match restore(case.get("checkpoint").unwrap_or(&Value::Null)) {
        Ok(state) => Object::from_iter([("checkpoint", save(&state))]).into(),
        Err(Unrestorable::Invalid) => failure("invalid_checkpoint"),
        Err(Unrestorable::Version) => failure("unsupported checkpoint version"),
    }
}

enum Unrestorable {
    Invalid,
    Version,
}

impl From<Finding> for Unrestorable {
    fn from(_: Finding) -> Self {
        Self::Invalid
    }
}

/// Restores a state. Absent members have their defaults; unknown ones are left out.
fn restore(checkpoint: &Value) -> Result<ExecutionState, Unrestorable> {
    let mut reader = Reader::new(checkpoint)?;
    let versions =
        [("_checkpoint_version", CHECKPOINT_VERSION.into()), ("state_version", STATE_VERSION.into())];
    if versions.into_iter().any(|(key, known)| reader.value(key).is_some_and(|found| *found != known)) {
        return Err(Unrestorable::Version);
    }
    reader.required("inputs", read::object)?;
    let mut state = ExecutionState::new(reader.text("skill_id")?, Object::new(), Frame::default());
    state.memory = Memory::from_blocks(checkpoint)?;
    let results = reader.optional("step_results", read::object)?.into_iter().flat_map(Object::iter);
    state.step_results = results.map(|(_, result)| step_result(result)).collect::<Result<_, _>>()?;
    state.events = reader.list("events", event)?;
    state.started_at = reader.optional("started_at", time)?.flatten();
    state.finished_at = reader.optional("finished_at", time)?.flatten();
    state.updated_at = reader.optional("updated_at", time)?.flatten();
    state.status = reader.optional_parsed("status")?.unwrap_or(RunStatus::Pending);
    state.trace_id = reader.optional("trace_id", text)?.flatten();
    state.trace = reader.optional("trace", trace)?.unwrap_or_default();
    state.skill_version = reader.optional("skill_version", text)?.flatten();
    state.iteration = reader.optional_count("iteration")?.unwrap_or(0);
    state.current_step = reader.optional("current_step", text)?.flatten();
    state.parent_run_id = reader.optional("parent_run_id", text)?.flatten();
    Ok(state)
}

fn text(value: &Value) -> Result<Option<Arc<str>>, Finding> {
    if value.is_null() { Ok(None) } else { read::text(value).map(Some) }
}

fn texts(value: &Value) -> Result<Option<Names>, Finding> {
    if value.is_null() { Ok(None) } else { read::items(value, read::text).map(|texts| Some(texts.into())) }
}

/// Reads a time as the format writes it: with an offset, and microseconds only when there are some.
fn time(value: &Value) -> Result<Option<Arc<str>>, Finding> {
    let Some(text) = text(value)? else { return Ok(None) };
    let time = IsoTime::parse(&text).filter(|time| !time.is_leap_second());
    time.map(|time| Some(time.to_offset_text().into())).ok_or_else(|| Finding::expected("a time", value))
}

fn step_result(value: &Value) -> Result<StepResult, Finding> {
    let mut reader = Reader::new(value)?;
    let binding =
        StepResult::BINDING_FIELDS.map(|name| (name, reader.value(name).cloned().unwrap_or_default()));
    Ok(StepResult {
        step_id: reader.text("step_id")?,
        uses: reader.text("uses")?,
        status: reader.parsed("status")?,
        resolved_input: reader.required("resolved_input", |value| Ok(value.clone()))?,
        produced_output: reader.value("produced_output").cloned().unwrap_or_default(),
        error_message: reader.optional("error_message", text)?.flatten(),
        started_at: reader.optional("started_at", time)?.flatten(),
        finished_at: reader.optional("finished_at", time)?.flatten(),
        reads: reader.optional("reads", texts)?.flatten(),
        writes: reader.optional("writes", texts)?.flatten(),
        latency_ms: reader.value("latency_ms").cloned().unwrap_or_default(),
        binding: binding.into_iter().filter(|(_, value)| !value.is_null()).collect(),
    })
}

fn event(value: &Value) -> Result<RuntimeEvent, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(RuntimeEvent {
        kind: reader.text("type")?,
        message: reader.text("message")?,
        timestamp: reader.required("timestamp", time)?,
        step_id: reader.optional("step_id", text)?.flatten(),
        trace_id: reader.optional("trace_id", text)?.flatten(),
        data: reader.optional("data", read::object)?.cloned().unwrap_or_default(),
    })
}

fn trace(value: &Value) -> Result<Trace, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(Trace {
        steps: reader.list("steps", trace_step)?,
        metrics: reader.optional("metrics", metrics)?.unwrap_or_default(),
    })
}

fn metrics(value: &Value) -> Result<TraceMetrics, Finding> {
    let mut reader = Reader::new(value)?;
    let mut metrics = TraceMetrics::default();
    for (name, counter) in metrics.counters() {
        *counter = reader.optional_count(name)?.unwrap_or(0);
    }
    Ok(metrics)
}

fn trace_step(value: &Value) -> Result<TraceStep, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(TraceStep {
        step_id: reader.text("step_id")?,
        capability_id: reader.text("capability_id")?,
        status: reader.parsed("status")?,
        started_at: reader.optional("started_at", time)?.flatten(),
        ended_at: reader.optional("ended_at", time)?.flatten(),
        reads: reader.optional("reads", texts)?.flatten().unwrap_or_default(),
        writes: reader.optional("writes", texts)?.flatten().unwrap_or_default(),
        latency_ms: reader.value("latency_ms").cloned().unwrap_or_default(),
    })
}
