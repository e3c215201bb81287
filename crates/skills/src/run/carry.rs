//! What a fork needs of a run besides recording outcomes.

use std::sync::Arc;

use hence_engine::{Blocked, Sink};

use super::{SkillRun, SkillRunError};

impl SkillRun<'_> {
    /// Forgets what a blocked attempt of a step gave: what it gave in the end is at hand.
    pub(crate) fn forget_blocked(&mut self, step: &Arc<str>) {
        self.blocked = None;
        self.recorded.remove(step);
    }

    /// Asks whether the step that is due may be executed, as if it were about to be.
    pub(crate) fn precheck_due(&mut self, sink: &mut dyn Sink) -> Result<Option<Blocked>, SkillRunError> {
        match self.progress.due() {
            Some(step) => self.precheck(step, sink),
            None => Ok(None),
        }
    }
}
