//! The cognitive state of a skill's run after any record, with its measured times.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::time::Instant;
use hence_canon::{JsonPointer, Object, Value};
use hence_cognition::checkpoint;
use hence_cognition::run::StepOutcome;
use hence_cognition::state::{ExecutionState, RunStatus, StepStatus};
use hence_engine::{RecordTimes, Run};
use hence_journal::{Lines, RecordIndex};
use hence_skills::{RecordKind, effective_records};

use crate::kind::{Drivable as _, StoredSkillRun, whole_records, with_blobs};
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::target::Journal;

/// The most bytes of a part of the cognitive state that is cached.
const PART_BYTES_MAX: usize = 16 * 1024;

/// The parts of the present cognitive state that are short, by their places. What grows with each step is left out.
#[derive(Clone)]
pub(crate) struct CognitionParts(Vec<(JsonPointer, Value)>);

impl CognitionParts {
    /// Computes the parts from a journal. Returns nothing for a run of another kind, and where the records do not give a state.
    pub(crate) fn of_journal(journal: &Journal) -> Option<Self> {
        Some(Self::of_state(&checkpoint::save(&state_at(journal, None, &RunTimes::of(journal)).ok()?)))
    }

    fn of_state(state: &Value) -> Self {
        let root = JsonPointer::root();
        let of_trace = state.get("trace").and_then(Value::as_object).into_iter().flat_map(Object::iter);
        let of_trace = of_trace.map(|(key, value)| (root.child("trace").child(key), value));
        let members = state.as_object().into_iter().flat_map(Object::iter);
        let members = members.map(|(key, value)| (root.child(key), value));
        let is_short = |value: &Value| hence_canon::canonical_bytes(value).len() <= PART_BYTES_MAX;
        let short = members.chain(of_trace).filter(|(_, value)| is_short(value));
        Self(short.map(|(place, value)| (place, value.clone())).collect())
    }

    /// Returns a part of the state, if it lies in one of the cached ones.
    pub(super) fn find(&self, pointer: &JsonPointer) -> Option<&Value> {
        self.0.iter().find_map(|(place, value)| {
            let mut tokens = pointer.tokens();
            let is_within = place.tokens().all(|token| tokens.next() == Some(token));
            is_within.then(|| value.pointer(&tokens.collect())).flatten()
        })
    }

    /// Returns the form in which the parts are cached.
    pub(crate) fn to_value(&self) -> Value {
        let parts = self.0.iter().map(|(place, value)| (Arc::from(place.to_string()), value.clone()));
        Value::from(parts.collect::<Object>())
    }

    /// Reads cached parts; `Some(None)` where nobody has asked for them, `None` where the value is another one.
    pub(crate) fn of_value(value: &Value) -> Option<Option<Self>> {
        if *value == Value::Null {
            return Some(None);
        }
        let part = |(place, value): (&Arc<str>, &Value)| Some((place.parse().ok()?, value.clone()));
        Some(Some(Self(value.as_object()?.iter().map(part).collect::<Option<_>>()?)))
    }
}

/// Returns the state after a record; `None` stands for the last one.
pub(super) fn state_at(
    journal: &Journal,
    at: Option<RecordIndex>,
    times: &RunTimes,
) -> Result<ExecutionState, CliError> {
    let stored = StoredSkillRun::require(journal)?;
    let records = records_up_to(whole_records(&journal.bytes), at);
    let program = stored.program().map_err(hence_engine::ResumeError::from);
    let run = program.and_then(|program| with_blobs(journal, |blobs| Run::resume(program, records, blobs)));
    let run = run.map_err(|error| CliError::resume(&journal.name, error))?;
    let program = run.program();
    let mut state = if run.has_ended() { program.report().state } else { program.execution().clone() };
    if !run.has_ended() {
        state.current_step = program.due().cloned();
    }
    complete_failed(&mut state, program.outcomes());
    let effective = effective_records(records).unwrap_or_default();
    let steps = effective.iter().filter(|record| record.kind == RecordKind::Step);
    let measured = steps.filter_map(|record| Some((&**record.result.step(), times.times.of(record.index)?)));
    let last = Lines::of(records).count().get().saturating_sub(1);
    add_times(&mut state, &measured.collect(), |index| times.times.of(RecordIndex::new(index)), last);
    Ok(state)
}

fn records_up_to(records: &[u8], at: Option<RecordIndex>) -> &[u8] {
    let end = at.and_then(|at| Lines::of(records).offset(at.next()));
    records.get(..end.unwrap_or(records.len())).unwrap_or_default()
}

/// Adds to the results of failed steps what the document leaves out and the record has: the input and the reads.
fn complete_failed(state: &mut ExecutionState, outcomes: &[StepOutcome]) {
    for (result, outcome) in state.step_results.iter_mut().zip(outcomes) {
        if outcome.status == StepStatus::Failed {
            result.resolved_input = outcome.input.clone();
            result.reads = Some(outcome.reads.clone());
        }
    }
}

/// Adds the measured times. What was not measured stays null.
fn add_times<'t>(
    state: &mut ExecutionState,
    steps: &BTreeMap<&str, &RecordTimes>,
    of: impl Fn(u64) -> Option<&'t RecordTimes>,
    last: u64,
) {
    let text = |at: Instant| Some(Arc::<str>::from(at.to_millis_text()));
    let recorded_at = |index: u64| of(index).and_then(|times| text(times.recorded_at));
    let span = |step: &str| steps.get(step).and_then(|times| times.span);
    state.started_at = recorded_at(0);
    state.updated_at = recorded_at(last);
    let has_ended = matches!(state.status, RunStatus::Completed | RunStatus::Failed);
    state.finished_at = has_ended.then(|| state.updated_at.clone()).flatten();
    for result in &mut state.step_results {
        let Some(span) = span(&result.step_id) else { continue };
        (result.started_at, result.finished_at) = (text(span.started_at), text(span.ended_at));
        result.latency_ms = span.duration_ms.into();
    }
    let mut elapsed = 0_u64;
    for step in &mut state.trace.steps {
        let Some(span) = span(&step.step_id) else { continue };
        (step.started_at, step.ended_at) = (text(span.started_at), text(span.ended_at));
        step.latency_ms = span.duration_ms.into();
        elapsed = elapsed.saturating_add(span.duration_ms);
    }
    state.trace.metrics.elapsed_ms = elapsed;
    for event in &mut state.events {
        let span = event.step_id.as_deref().and_then(span);
        event.timestamp = match (&*event.kind, span) {
            ("skill_start", _) => state.started_at.clone(),
            ("skill_completed", _) => state.finished_at.clone(),
            ("step_start", Some(span)) => text(span.started_at),
            ("step_completed" | "step_failed" | "step_skipped" | "step_degraded", Some(span)) => {
                text(span.ended_at)
            }
            // Nobody measured when a note was made.
            _ => None,
        };
    }
}
