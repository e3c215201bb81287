//! Runtime events.

use std::sync::Arc;

use hence_canon::Object;

/// One event of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeEvent {
    /// What happened, such as `step_completed`.
    pub kind: Arc<str>,
    /// The same for people.
    pub message: Arc<str>,
    /// When, if anyone looked at a clock.
    pub timestamp: Option<Arc<str>>,
    /// The step it happened to.
    pub step_id: Option<Arc<str>>,
    /// The trace it belongs to.
    pub trace_id: Option<Arc<str>>,
    /// Details.
    pub data: Object,
}
