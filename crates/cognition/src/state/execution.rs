//! The execution state of one run.

use std::sync::Arc;

use hence_canon::{Object, Value, words};

use super::{Frame, Memory, Names};

/// The version of the state this crate writes and reads.
pub const STATE_VERSION: &str = "1.0.0";

/// The execution state of a run, as the document defines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionState {
    /// The skill that is run.
    pub skill_id: Arc<str>,
    /// The version of the skill.
    pub skill_version: Option<Arc<str>>,
    /// The memory that steps read and write.
    pub memory: Memory,
    /// Step records in the order in which the steps took effect.
    pub step_results: Vec<StepResult>,
    /// The events of the run.
    pub events: Vec<RuntimeEvent>,
    /// The start of the run, if a clock was read.
    pub started_at: Option<Arc<str>>,
    /// The end, if a clock was read.
    pub finished_at: Option<Arc<str>>,
    /// The time of the last change, if a clock was read.
    pub updated_at: Option<Arc<str>>,
    /// The status.
    pub status: RunStatus,
    /// The trace it belongs to, shared with nested runs.
    pub trace_id: Option<Arc<str>>,
    /// Lineage and cost.
    pub trace: Trace,
    /// The number of restarts of the run.
    pub iteration: u64,
    /// The step being executed.
    pub current_step: Option<Arc<str>>,
    /// The run that called this one.
    pub parent_run_id: Option<Arc<str>>,
}

/// The variable whose first non-null value completes a run.
const ANSWER: &str = "Final";

impl ExecutionState {
    /// Returns the answer that completed the run, if one did.
    pub fn answer(&self) -> Option<&Value> {
        self.memory.vars().get(ANSWER).filter(|answer| !answer.is_null())
    }

    /// Returns the result for whoever runs the skill: its outputs, and its answer as `Final` unless an output has that
    /// name.
    pub fn result(&self) -> Object {
        let outputs = self.memory.outputs().to_object();
        match self.answer() {
            Some(answer) if !outputs.contains_key(ANSWER) => outputs.with(ANSWER, answer.clone()),
            _ => outputs,
        }
    }

    /// Returns the state of a run that has executed nothing.
    pub fn new(skill_id: Arc<str>, inputs: Object, frame: Frame) -> Self {
        Self {
            skill_id,
            skill_version: None,
            memory: Memory::new(inputs, frame),
            step_results: Vec::new(),
            events: Vec::new(),
            started_at: None,
            finished_at: None,
            updated_at: None,
            status: RunStatus::Pending,
            trace_id: None,
            trace: Trace::default(),
            iteration: 0,
            current_step: None,
            parent_run_id: None,
        }
    }

    /// Appends an event.
    pub(crate) fn event(
        &mut self,
        kind: impl Into<Arc<str>>,
        message: impl Into<Arc<str>>,
        step_id: Option<&Arc<str>>,
        data: Object,
    ) {
        self.events.push(RuntimeEvent {
            kind: kind.into(),
            message: message.into(),
            timestamp: None,
            step_id: step_id.cloned(),
            trace_id: self.trace_id.clone(),
            data,
        });
    }
}

/// The result of one step, as the document defines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepResult {
    /// The step.
    pub step_id: Arc<str>,
    /// The text of its `uses`.
    pub uses: Arc<str>,
    /// The status of the step.
    pub status: StepStatus,
    /// The input it called with; empty unless it completed or was skipped after its input was made.
    pub resolved_input: Value,
    /// The output.
    pub produced_output: Value,
    /// The error message, for people.
    pub error_message: Option<Arc<str>>,
    /// The start, if a clock was read.
    pub started_at: Option<Arc<str>>,
    /// The end, if a clock was read.
    pub finished_at: Option<Arc<str>>,
    /// References of its input mapping, if it completed.
    pub reads: Option<Names>,
    /// Targets it wrote, if it completed.
    pub writes: Option<Names>,
    /// The duration, as the caller measured it.
    pub latency_ms: Value,
    /// The report of the provider, under the names in [`StepResult::BINDING_FIELDS`].
    pub binding: Object,
}

impl StepResult {
    /// Members about the binding of a capability, in the order of the document.
    pub const BINDING_FIELDS: [&'static str; 7] = [
        "raw_result",
        "binding_id",
        "service_id",
        "attempts_count",
        "fallback_used",
        "conformance_profile",
        "required_conformance_profile",
    ];
}

/// Execution trace of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// One entry per started step, in the order in which they took effect.
    pub steps: Vec<TraceStep>,
    /// The sum of their costs.
    pub metrics: TraceMetrics,
}

/// One step's entry with its data lineage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// The step.
    pub step_id: Arc<str>,
    /// The text of its `uses`.
    pub capability_id: Arc<str>,
    /// The status of the step.
    pub status: StepStatus,
    /// The start, if a clock was read.
    pub started_at: Option<Arc<str>>,
    /// The end, if a clock was read.
    pub ended_at: Option<Arc<str>>,
    /// References of its input mapping.
    pub reads: Names,
    /// Targets it wrote.
    pub writes: Names,
    /// The duration, as the caller measured it.
    pub latency_ms: Value,
}

/// Live aggregate metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceMetrics {
    /// Steps that called or tried to.
    pub step_count: u64,
    /// Calls of language models.
    pub llm_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Tokens sent to language models.
    pub tokens_in: u64,
    /// Tokens received from them.
    pub tokens_out: u64,
    /// Time spent in steps.
    pub elapsed_ms: u64,
}

impl TraceMetrics {
    /// Returns the counters with their names, in the order of the document.
    pub fn counters(&mut self) -> [(&'static str, &mut u64); 6] {
        [
            ("step_count", &mut self.step_count),
            ("llm_calls", &mut self.llm_calls),
            ("tool_calls", &mut self.tool_calls),
            ("tokens_in", &mut self.tokens_in),
            ("tokens_out", &mut self.tokens_out),
            ("elapsed_ms", &mut self.elapsed_ms),
        ]
    }

    /// Adds another set of counters; counting stops at the largest number rather than starting over.
    pub fn add(&mut self, mut other: Self) {
        for ((_, counter), (_, more)) in self.counters().into_iter().zip(other.counters()) {
            *counter = counter.saturating_add(*more);
        }
    }
}

/// One event of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeEvent {
    /// The type of the event, such as `step_completed`.
    pub kind: Arc<str>,
    /// The message, for people.
    pub message: Arc<str>,
    /// The time, if a clock was read.
    pub timestamp: Option<Arc<str>>,
    /// The step it happened to.
    pub step_id: Option<Arc<str>>,
    /// The trace it belongs to.
    pub trace_id: Option<Arc<str>>,
    /// Details.
    pub data: Object,
}

words! {
    /// The status of a run.
    pub enum RunStatus {
        /// Created, nothing executed.
        Pending = "pending",
        /// Executing.
        Running = "running",
        /// Ended with its required outputs.
        Completed = "completed",
        /// Ended without them, or by a failing step.
        Failed = "failed",
    }
}

words! {
    /// The way a step ended.
    pub enum StepStatus {
        /// The step called, and its writes are in the state.
        Completed = "completed",
        /// The step called or tried to, and wrote nothing.
        Failed = "failed",
        /// The step did not call: its condition did not hold, or a step it depends on failed.
        Skipped = "skipped",
        /// A gate denied it in a way that lets the run continue without it.
        Degraded = "degraded",
    }
}
