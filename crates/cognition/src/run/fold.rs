//! Outcomes into states.

use std::iter;
use std::sync::{Arc, LazyLock};

use hence_canon::{Object, Value};

use super::StepOutcome;
use super::flow::{attempts_of, write};
use crate::failure::{ErrorClass, Failure};
use crate::mapping::{OutputMapping, OutputMappingError};
use crate::skill::Step;
use crate::state::{ExecutionState, Memory, Names, StepResult, StepStatus, TraceStep};

/// Event texts that every step uses, allocated once.
static STEP_START: LazyLock<Arc<str>> = LazyLock::new(|| "step_start".into());
static STEP_COMPLETED: LazyLock<Arc<str>> = LazyLock::new(|| "step_completed".into());
static PRODUCED_OUTPUT: LazyLock<Arc<str>> = LazyLock::new(|| "produced_output".into());

/// An outcome that has been written, and the memory after it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The outcome to record.
    pub outcome: StepOutcome,
    /// The memory after it.
    pub memory: Memory,
}

/// An outcome that does not belong to a skill or a state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FoldError {
    /// The outcome belongs to another step.
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
    /// The writes of the outcome do not fit the memory.
    #[error("the outcome of `{step}` cannot be written: {source}")]
    Write {
        /// The step.
        step: Arc<str>,
        /// The reason.
        source: OutputMappingError,
    },
}

/// Writes an outcome to memory. One whose output cannot be written becomes a failure and writes nothing.
pub fn settle(step: &Step, outcome: StepOutcome, memory: Memory) -> Settled {
    let (memory, written) = write_all(step, &outcome, memory);
    match written {
        Ok(()) => {
            let writes = if outcome.commits.is_empty() { Names::default() } else { targets(step) };
            Settled { outcome: StepOutcome { writes, ..outcome }, memory }
        }
        Err(error) => {
            let failure = Failure::new(ErrorClass::OutputMapping, error);
            Settled { outcome: outcome.failed(failure), memory }
        }
    }
}

/// Writes every commit and returns the memory after them, or the memory before them and why.
fn write_all(
    step: &Step,
    outcome: &StepOutcome,
    mut memory: Memory,
) -> (Memory, Result<(), OutputMappingError>) {
    if let ([only], Ok(mapping), Ok(strategy)) =
        (outcome.commits.as_slice(), &step.output, &step.merge_strategy)
        && mapping.entries().len() <= 1
    {
        // One entry is written whole or not at all, so the memory can be changed where it is.
        let written = mapping.apply_to(&mut memory, only, *strategy);
        return (memory, written);
    }
    let mut commits = outcome.commits.iter();
    let written = commits.try_fold(memory.clone(), |memory, produced| write(step, &memory, produced));
    match written {
        Ok(after) => (after, Ok(())),
        Err(error) => (memory, Err(error)),
    }
}

/// Writes an outcome again that was settled before, through the mapping it was settled with. Returns the memory after
/// it, or the memory before it and why.
pub(super) fn refold(step: &Step, outcome: &StepOutcome, memory: Memory) -> (Memory, Result<(), FoldError>) {
    // A record sorts the mapping; the step that is wired the same way knows its order.
    let other = outcome.wired.as_ref().filter(|mapping| step.wired.as_ref() != Some(mapping));
    let rewired =
        other.map(|mapping| Step { output: OutputMapping::parse(&mapping.clone().into()), ..step.clone() });
    let (memory, written) = write_all(rewired.as_ref().unwrap_or(step), outcome, memory);
    (memory, written.map_err(|source| FoldError::Write { step: outcome.step_id.clone(), source }))
}

fn targets(step: &Step) -> Names {
    step.output.as_ref().map_or_else(|_| Names::default(), |mapping| mapping.targets().clone())
}

impl ExecutionState {
    /// Takes in a settled outcome.
    pub fn accept(&mut self, outcome: &StepOutcome, memory: Memory) {
        self.memory = memory;
        self.current_step = None;
        let id = &outcome.step_id;
        let started = ["step `", id, "` started"].concat();
        self.event(STEP_START.clone(), started, Some(id), Object::new());
        for note in &outcome.notes {
            self.event(note.kind.clone(), note.message.clone(), Some(id), Object::new());
        }
        match outcome.status {
            StepStatus::Completed => {
                let produced = outcome.produced.clone().unwrap_or_default();
                let meta = outcome.meta.iter().map(|(key, value)| (key.clone(), value.clone()));
                let data = iter::once((PRODUCED_OUTPUT.clone(), produced)).chain(meta).collect();
                let completed = ["step `", id, "` completed"].concat();
                self.event(STEP_COMPLETED.clone(), completed, Some(id), data);
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
        self.trace.steps.push(trace_step(outcome));
        self.step_results.push(step_result(outcome));
    }

    /// Applies a recorded outcome: one step of folding a state from a journal.
    ///
    /// # Errors
    /// [`FoldError`] when the outcome is not one of this step in this state.
    pub fn fold(&mut self, step: &Step, outcome: StepOutcome) -> Result<(), FoldError> {
        if step.id != outcome.step_id {
            return Err(FoldError::OtherStep { expected: step.id.clone(), found: outcome.step_id });
        }
        let (memory, written) = refold(step, &outcome, std::mem::take(&mut self.memory));
        match written {
            Ok(()) => self.accept(&outcome, memory),
            Err(_) => self.memory = memory,
        }
        written
    }

    /// Takes in that a step was not executed because something it depends on failed. It leaves a result and
    /// nothing else: it never started.
    pub fn block(&mut self, step: &Step) {
        let outcome = super::step::blank(step).without_effect(StepStatus::Skipped);
        self.step_results
            .push(StepResult { error_message: Some("dependency failed".into()), ..step_result(&outcome) });
    }
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

fn step_result(outcome: &StepOutcome) -> StepResult {
    let completed = outcome.status == StepStatus::Completed;
    // The document's result of a failed step has no input; the outcome has it.
    let failed = outcome.status == StepStatus::Failed;
    let attempts = attempts_of(&outcome.meta).map(|count| ("attempts_count", Value::from(count)));
    let reported = StepResult::BINDING_FIELDS
        .into_iter()
        .filter_map(|name| Some((name, outcome.meta.get(name)?.clone())));
    StepResult {
        binding: reported.chain(attempts).collect(),
        step_id: outcome.step_id.clone(),
        uses: outcome.uses.clone(),
        status: outcome.status,
        resolved_input: if failed { Object::new().into() } else { outcome.input.clone() },
        produced_output: outcome.produced.clone().unwrap_or_default(),
        error_message: outcome.failure.as_ref().map(|failure| failure.message.clone()),
        started_at: None,
        finished_at: None,
        reads: completed.then(|| outcome.reads.clone()),
        writes: completed.then(|| outcome.writes.clone()),
        latency_ms: Value::Null,
    }
}
