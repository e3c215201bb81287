//! The trace: what each step read and wrote, and what it cost.

use std::sync::Arc;

use hence_canon::Value;

use super::{Names, StepStatus};

/// Execution trace of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// One entry per started step, in the order in which they took effect.
    pub steps: Vec<TraceStep>,
    /// What they cost together.
    pub metrics: TraceMetrics,
}

/// One step's entry with its data lineage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// The step.
    pub step_id: Arc<str>,
    /// The text of its `uses`.
    pub capability_id: Arc<str>,
    /// How it ended.
    pub status: StepStatus,
    /// When it started, if anyone looked at a clock.
    pub started_at: Option<Arc<str>>,
    /// When it ended.
    pub ended_at: Option<Arc<str>>,
    /// References of its input mapping.
    pub reads: Names,
    /// Targets it wrote.
    pub writes: Names,
    /// How long it took, as whoever measured it wrote it down.
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
