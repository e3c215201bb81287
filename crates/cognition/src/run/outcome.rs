//! What executing one step gave.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::failure::Failure;
use crate::state::{Names, StepStatus, TraceMetrics};

/// The outcome of one step: everything a journal has to keep about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepOutcome {
    /// The step.
    pub step_id: Arc<str>,
    /// The text of its `uses`.
    pub uses: Arc<str>,
    /// How it ended.
    pub status: StepStatus,
    /// The input it was called with; of the last call, if it looped.
    pub input: Value,
    /// What it produced.
    pub produced: Option<Value>,
    /// The outputs to write, in order: one, or one per iteration of a loop, or none.
    pub commits: Vec<Value>,
    /// The output mapping its capability's hints stand for, if it has none of its own.
    pub wired: Option<Object>,
    /// References of its input mapping.
    pub reads: Names,
    /// References its control blocks read.
    pub control_reads: Names,
    /// Targets its commits wrote; filled when it is settled.
    pub writes: Names,
    /// What is known about how it went: the provider's report and counts of loops and branches.
    pub meta: Object,
    /// What it cost.
    pub metrics: TraceMetrics,
    /// What was really called for it, gates left out, and how often.
    pub called: BTreeMap<Arc<str>, u64>,
    /// What a reader of the events should know.
    pub notes: Vec<Note>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// Something that happened while a step was executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The type of the event.
    pub kind: Arc<str>,
    /// What happened.
    pub message: Arc<str>,
}

impl StepOutcome {
    /// Returns this outcome as a failure that writes nothing.
    #[must_use]
    pub(crate) fn failed(mut self, failure: Failure) -> Self {
        self.status = StepStatus::Failed;
        self.produced = None;
        self.commits = Vec::new();
        self.writes = Names::default();
        self.failure = Some(failure);
        self
    }

    /// Returns this outcome as one that ended without a call taking effect.
    #[must_use]
    pub(crate) fn without_effect(mut self, status: StepStatus) -> Self {
        self.status = status;
        self.produced = None;
        self.commits = Vec::new();
        self
    }
}
