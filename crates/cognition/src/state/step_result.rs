//! Per-step execution records as the document defines them.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::{Names, StepStatus};

/// What is kept about an executed step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepResult {
    /// The step.
    pub step_id: Arc<str>,
    /// The text of its `uses`.
    pub uses: Arc<str>,
    /// How it ended.
    pub status: StepStatus,
    /// The input it called with; empty unless it completed or was skipped after its input was made.
    pub resolved_input: Value,
    /// What it produced.
    pub produced_output: Value,
    /// What went wrong, for people.
    pub error_message: Option<Arc<str>>,
    /// When it started, if anyone looked at a clock.
    pub started_at: Option<Arc<str>>,
    /// When it ended.
    pub finished_at: Option<Arc<str>>,
    /// References of its input mapping, if it completed.
    pub reads: Option<Names>,
    /// Targets it wrote, if it completed.
    pub writes: Option<Names>,
    /// How long it took, as whoever measured it wrote it down.
    pub latency_ms: Value,
    /// What whoever carried out the call reports about it, under the names in [`StepResult::BINDING_FIELDS`].
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
