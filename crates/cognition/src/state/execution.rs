//! The execution state of one run.

use std::sync::Arc;

use super::{Frame, Memory, RunStatus, RuntimeEvent, StepResult, Trace};
use hence_canon::Object;

/// The version of the state this crate writes and reads.
pub const STATE_VERSION: &str = "1.0.0";

/// Everything the document says about a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionState {
    /// The skill that is run.
    pub skill_id: Arc<str>,
    /// Its version.
    pub skill_version: Option<Arc<str>>,
    /// What steps see.
    pub memory: Memory,
    /// Step records in the order in which the steps took effect.
    pub step_results: Vec<StepResult>,
    /// What happened.
    pub events: Vec<RuntimeEvent>,
    /// When the run started, if anyone looked at a clock.
    pub started_at: Option<Arc<str>>,
    /// When it ended.
    pub finished_at: Option<Arc<str>>,
    /// When the state last changed.
    pub updated_at: Option<Arc<str>>,
    /// How it stands.
    pub status: RunStatus,
    /// The trace it belongs to, shared with nested runs.
    pub trace_id: Option<Arc<str>>,
    /// Lineage and cost.
    pub trace: Trace,
    /// How often the run has been started over.
    pub iteration: u64,
    /// The step being executed.
    pub current_step: Option<Arc<str>>,
    /// The run that called this one.
    pub parent_run_id: Option<Arc<str>>,
}

impl ExecutionState {
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
