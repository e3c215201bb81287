//! Outcomes into states.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::StepOutcome;
use super::flow::{attempts_of, write};
use crate::failure::{ErrorClass, Failure};
use crate::mapping::{OutputMapping, OutputMappingError};
use crate::skill::Step;
use crate::state::{ExecutionState, Memory, StepResult, StepStatus, TraceStep};

/// An outcome that has been written, and the memory after it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The outcome as it is to be kept.
    pub outcome: StepOutcome,
    /// The memory after it.
    pub memory: Memory,
}

/// An outcome that does not belong to a skill or a state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FoldError {
    /// It is the outcome of another step.
    #[error("expected an outcome of step `{expected}`, found one of `{found}`")]
    OtherStep {
        /// The step.
        expected: Arc<str>,
        /// The step of the outcome.
        found: Arc<str>,
    },
    /// The run has ended.
    #[error("the run has ended, found an outcome of `{found}`")]
    Ended {
        /// The step of the outcome.
        found: Arc<str>,
    },
    /// Its writes do not fit the memory.
    #[error("the outcome of `{step}` cannot be written: {source}")]
    Write {
        /// The step.
        step: Arc<str>,
        /// Why.
        source: OutputMappingError,
    },
}

/// Writes an outcome to memory. One whose output cannot be written becomes a failure and writes nothing.
pub fn settle(step: &Step, outcome: StepOutcome, memory: &Memory) -> Settled {
    match write_all(step, &outcome, memory) {
        Ok(after) => {
            let writes = if outcome.commits.is_empty() { Vec::new() } else { targets(step) };
            Settled { outcome: StepOutcome { writes, ..outcome }, memory: after }
        }
        Err(error) => {
            let failure = Failure::new(ErrorClass::OutputMapping, error);
            Settled { outcome: outcome.failed(failure), memory: memory.clone() }
        }
    }
}

fn write_all(step: &Step, outcome: &StepOutcome, memory: &Memory) -> Result<Memory, OutputMappingError> {
    outcome.commits.iter().try_fold(memory.clone(), |memory, produced| write(step, &memory, produced))
}

/// Writes an outcome again that was settled before, through the mapping it was settled with.
pub(super) fn refold(step: &Step, outcome: &StepOutcome, memory: &Memory) -> Result<Memory, FoldError> {
    let rewired = outcome
        .wired
        .as_ref()
        .map(|mapping| Step { output: OutputMapping::parse(&mapping.clone().into()), ..step.clone() });
    write_all(rewired.as_ref().unwrap_or(step), outcome, memory)
        .map_err(|source| FoldError::Write { step: outcome.step_id.clone(), source })
}

fn targets(step: &Step) -> Vec<Arc<str>> {
    step.output
        .iter()
        .flat_map(|mapping| mapping.entries().map(|(_, target)| target.text().clone()))
        .collect()
}

impl ExecutionState {
    /// Takes in a settled outcome.
    pub fn accept(&mut self, settled: Settled) {
        let Settled { outcome, memory } = settled;
        self.memory = memory;
        self.current_step = None;
        let id = &outcome.step_id;
        self.event("step_start", format!("step `{id}` started"), Some(id), Object::new());
        for note in &outcome.notes {
            self.event(&note.kind, note.message.clone(), Some(id), Object::new());
        }
        match outcome.status {
            StepStatus::Completed => {
                let produced = outcome.produced.clone().unwrap_or_default();
                let data = [("produced_output".into(), produced)].into_iter().chain(members(&outcome.meta));
                self.event("step_completed", format!("step `{id}` completed"), Some(id), data.collect());
            }
            StepStatus::Failed => {
                let message =
                    outcome.failure.as_ref().map_or_else(|| "".into(), |failure| failure.message.clone());
                let data = Object::from_iter([("error", message.clone())]);
                self.event("step_failed", message, Some(id), data);
            }
            StepStatus::Skipped => {
                self.event(
                    "step_skipped",
                    format!("the condition of `{id}` does not hold"),
                    Some(id),
                    Object::new(),
                );
            }
            // The note of the gate is the event.
            StepStatus::Degraded => {}
        }
        self.trace.metrics.add(outcome.metrics);
        self.trace.metrics.step_count += u64::from(outcome.status != StepStatus::Skipped);
        self.trace.steps.push(trace_step(&outcome));
        self.step_results.push(step_result(outcome));
    }

    /// Takes in an outcome that was settled before: one step of getting a state back from what was kept.
    ///
    /// # Errors
    /// [`FoldError`] when the outcome is not one of this step in this state.
    pub fn fold(&mut self, step: &Step, outcome: StepOutcome) -> Result<(), FoldError> {
        if step.id != outcome.step_id {
            return Err(FoldError::OtherStep { expected: step.id.clone(), found: outcome.step_id });
        }
        let memory = refold(step, &outcome, &self.memory)?;
        self.accept(Settled { outcome, memory });
        Ok(())
    }

    /// Takes in that a step was not executed because something it depends on failed. It leaves a result and
    /// nothing else: it never started.
    pub fn block(&mut self, step: &Step) {
        let outcome = super::step::blank(step).without_effect(StepStatus::Skipped);
        self.step_results
            .push(StepResult { error_message: Some("dependency failed".into()), ..step_result(outcome) });
    }
}

fn members(object: &Object) -> impl Iterator<Item = (Arc<str>, Value)> {
    object.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>().into_iter()
}

fn trace_step(outcome: &StepOutcome) -> TraceStep {
    TraceStep {
        step_id: outcome.step_id.clone(),
        capability_id: outcome.uses.clone(),
        status: outcome.status,
        started_at: None,
        ended_at: None,
        reads: outcome.reads.clone(),
        writes: outcome.writes.clone(),
        latency_ms: Value::Null,
    }
}

fn step_result(outcome: StepOutcome) -> StepResult {
    let completed = outcome.status == StepStatus::Completed;
    // The document's record of a failed step has no input; the outcome keeps it.
    let failed = outcome.status == StepStatus::Failed;
    let attempts = attempts_of(&outcome.meta).map(|count| ("attempts_count", Value::from(count)));
    let reported = StepResult::BINDING_FIELDS
        .into_iter()
        .filter_map(|name| Some((name, outcome.meta.get(name)?.clone())));
    StepResult {
        binding: reported.chain(attempts).collect(),
        step_id: outcome.step_id,
        uses: outcome.uses,
        status: outcome.status,
        resolved_input: if failed { Object::new().into() } else { outcome.input },
        produced_output: outcome.produced.unwrap_or_default(),
        error_message: outcome.failure.map(|failure| failure.message),
        started_at: None,
        finished_at: None,
        reads: completed.then_some(outcome.reads),
        writes: completed.then_some(outcome.writes),
        latency_ms: Value::Null,
    }
}
