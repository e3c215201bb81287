//! Checkpoints to states.

use std::str::FromStr;

use hence_canon::{Object, Value};

use super::CHECKPOINT_VERSION;
use crate::run::metrics;
use crate::state::{
    DecodeError, ExecutionState, Memory, Names, Place, RunStatus, RuntimeEvent, STATE_VERSION, StepResult,
    Timestamp, Trace, TraceStep,
};

/// A document that is not a checkpoint this crate can restore.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Something in it is not what it should be.
    #[error("not a checkpoint: {0}")]
    Invalid(#[from] DecodeError),
    /// It was written by something newer.
    #[error("checkpoint has {member} {found}, expected {expected}")]
    UnsupportedVersion {
        /// Which version.
        member: &'static str,
        /// What is supported.
        expected: String,
        /// What stands there.
        found: Value,
    },
}

/// Restores the state a checkpoint holds. Absent members have their defaults; unknown ones are left out.
///
/// # Errors
/// [`CheckpointError`] for another version, and at the first member that is not what it should be.
pub fn restore(checkpoint: &Value) -> Result<ExecutionState, CheckpointError> {
    let root = Place::root(checkpoint);
    root.object()?;
    version(&root, "_checkpoint_version", &CHECKPOINT_VERSION.into())?;
    version(&root, "state_version", &STATE_VERSION.into())?;
    root.member("inputs").object()?;
    let mut state =
        ExecutionState::new(root.member("skill_id").text()?, Object::new(), crate::state::Frame::default());
    state.memory = Memory::from_blocks(checkpoint)?;
    state.step_results = step_results(&root.member("step_results"))?;
    state.events = root.member("events").items()?.iter().map(event).collect::<Result<_, _>>()?;
    state.started_at = instant(&root.member("started_at"))?;
    state.finished_at = instant(&root.member("finished_at"))?;
    state.updated_at = instant(&root.member("updated_at"))?;
    state.status = match root.member("status") {
        place if place.value().is_none() => RunStatus::Pending,
        place => read(&place, "a status of a run")?,
    };
    state.trace_id = root.member("trace_id").text_or_null()?;
    state.trace = trace(&root.member("trace"))?;
    state.skill_version = root.member("skill_version").text_or_null()?;
    state.iteration = match root.member("iteration") {
        place if place.value().is_none() => 0,
        place => place.value().and_then(Value::as_u64).ok_or_else(|| place.error("a count"))?,
    };
    state.current_step = root.member("current_step").text_or_null()?;
    state.parent_run_id = root.member("parent_run_id").text_or_null()?;
    Ok(state)
}

fn version(root: &Place<'_>, member: &'static str, expected: &Value) -> Result<(), CheckpointError> {
    match root.member(member).value() {
        Some(found) if found != expected => Err(CheckpointError::UnsupportedVersion {
            member,
            expected: expected.to_string(),
            found: found.clone(),
        }),
        _ => Ok(()),
    }
}

fn read<T: FromStr>(place: &Place<'_>, expected: &'static str) -> Result<T, DecodeError> {
    place.text()?.parse().map_err(|_| place.error(expected))
}

fn instant(place: &Place<'_>) -> Result<Option<Timestamp>, DecodeError> {
    if place.is_absent_or_null() { Ok(None) } else { read(place, "an ISO 8601 instant").map(Some) }
}

fn step_results(place: &Place<'_>) -> Result<Vec<StepResult>, DecodeError> {
    let object = place.object_or_empty()?;
    object.keys().map(|key| step_result(&place.member(key))).collect()
}

fn step_result(place: &Place<'_>) -> Result<StepResult, DecodeError> {
    let input = place.member("resolved_input");
    let any = |key: &str| place.member(key).value().cloned().unwrap_or_default();
    let binding = StepResult::BINDING_FIELDS.into_iter().map(|name| (name, any(name)));
    Ok(StepResult {
        step_id: place.member("step_id").text()?,
        uses: place.member("uses").text()?,
        status: read(&place.member("status"), "a status of a step")?,
        resolved_input: input.value().cloned().ok_or_else(|| input.error("the input of the step"))?,
        produced_output: any("produced_output"),
        error_message: place.member("error_message").text_or_null()?,
        started_at: instant(&place.member("started_at"))?,
        finished_at: instant(&place.member("finished_at"))?,
        reads: texts_or_null(&place.member("reads"))?,
        writes: texts_or_null(&place.member("writes"))?,
        latency_ms: any("latency_ms"),
        binding: binding.filter(|(_, value)| !value.is_null()).collect(),
    })
}

fn texts_or_null(place: &Place<'_>) -> Result<Option<Names>, DecodeError> {
    if place.is_absent_or_null() { Ok(None) } else { place.texts().map(|texts| Some(texts.into())) }
}

fn event(place: &Place<'_>) -> Result<RuntimeEvent, DecodeError> {
    let timestamp = place.member("timestamp");
    if timestamp.value().is_none() {
        return Err(timestamp.error("an ISO 8601 instant"));
    }
    Ok(RuntimeEvent {
        kind: place.member("type").text()?,
        message: place.member("message").text()?,
        timestamp: instant(&timestamp)?,
        step_id: place.member("step_id").text_or_null()?,
        trace_id: place.member("trace_id").text_or_null()?,
        data: place.member("data").object_or_empty()?,
    })
}

fn trace(place: &Place<'_>) -> Result<Trace, DecodeError> {
    place.object_or_empty()?;
    let steps = place.member("steps").items()?.iter().map(trace_step).collect::<Result<_, _>>()?;
    Ok(Trace { steps, metrics: metrics(&place.member("metrics"))? })
}

fn trace_step(place: &Place<'_>) -> Result<TraceStep, DecodeError> {
    Ok(TraceStep {
        step_id: place.member("step_id").text()?,
        capability_id: place.member("capability_id").text()?,
        status: read(&place.member("status"), "a status of a step")?,
        started_at: instant(&place.member("started_at"))?,
        ended_at: instant(&place.member("ended_at"))?,
        reads: texts_or_null(&place.member("reads"))?.unwrap_or_default(),
        writes: texts_or_null(&place.member("writes"))?.unwrap_or_default(),
        latency_ms: place.member("latency_ms").value().cloned().unwrap_or_default(),
    })
}
