//! Where in a tree of runs a step is executed.

use std::sync::Arc;

use super::{Capabilities, RunOptions};
use crate::state::Names;

/// What executing a step needs beside the step and the memory.
pub struct Context<'a> {
    /// Calls, waits and time.
    pub capabilities: &'a mut dyn Capabilities,
    /// Options of the outermost run.
    pub options: &'a RunOptions,
    /// The skill that is run.
    pub skill_id: Arc<str>,
    /// The skills from the outermost to this one, this one included.
    pub lineage: Names,
    /// The id of this run, if it has one.
    pub run_id: Option<Arc<str>>,
    /// The calls of the runs around this one, as in [`CallPlace::path`](super::CallPlace::path).
    pub path: Arc<str>,
    /// The trace all runs of this tree share.
    pub trace_id: Option<Arc<str>>,
}

impl Context<'_> {
    /// Returns how deep this run is nested; 0 for the outermost.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.lineage.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }
}
