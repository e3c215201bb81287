//! Driving a run: what may start runs on some thread, what is due is recorded here, in plan order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc;

use hence_cognition::run::{Context, StepOutcome, Waiting, execute};
use hence_cognition::skill::Step;
use hence_cognition::state::Memory;
use hence_engine::Sink;

use super::{FinishedSkill, SkillRun, SkillRunError};
use crate::host::Host;

/// What executing a step gave: an outcome, or the question it waits for.
type Executed = Result<StepOutcome, Waiting>;

impl SkillRun<'_> {
    /// Runs to the end with up to `workers` steps at a time, telling `observe` of each outcome once it is kept.
    ///
    /// Which thread finishes first never shows: outcomes are recorded in plan order, and a step sees only what was
    /// recorded before it could start.
    ///
    /// # Errors
    /// [`SkillRunError`]; whatever was kept before stays kept.
    pub fn finish(
        mut self,
        host: &dyn Host,
        workers: NonZeroUsize,
        sink: &mut dyn Sink,
        mut observe: impl FnMut(&StepOutcome),
    ) -> Result<FinishedSkill, SkillRunError> {
        let request = self.request.clone();
        let lineage = vec![self.pinned.id.clone()];
        let (send, receive) = mpsc::channel::<(Arc<str>, Executed)>();
        std::thread::scope(|scope| {
            let mut ready: BTreeMap<Arc<str>, Executed> = BTreeMap::new();
            let mut active = 0usize;
            while !self.has_reached_stop() {
                while active < workers.get()
                    && let Some(step) = self.progress.start()
                {
                    if let Some(recorded) = self.recorded.get(&step.id) {
                        ready.insert(step.id.clone(), Ok(recorded.clone()));
                        continue;
                    }
                    active += 1;
                    let memory = self.progress.state().memory.clone();
                    let (send, request, lineage) = (send.clone(), &request, lineage.clone());
                    scope.spawn(move || {
                        let outcome = execute_on(host, step, &memory, request, lineage);
                        // The receiver lives until every step that was started has been heard of, or the run stopped.
                        let _ = send.send((step.id.clone(), outcome));
                    });
                }
                let due = self.progress.due().and_then(|step| ready.remove(&step.id));
                match due {
                    Some(Ok(outcome)) => observe(&self.commit(outcome, sink)?),
                    // Whatever else is under way ends with this scope; it has no record and will be started again.
                    Some(Err(waiting)) => return Err(SkillRunError::Waiting(waiting)),
                    None if active == 0 => break,
                    None => {
                        let (step, outcome) = receive.recv().expect("this thread holds a sender too");
                        active -= 1;
                        ready.insert(step, outcome);
                    }
                }
            }
            Ok::<(), SkillRunError>(())
        })?;
        if self.has_reached_stop() {
            return Ok(self.ended());
        }
        self.end(sink)
    }
}

fn execute_on(
    host: &dyn Host,
    step: &Step,
    memory: &Memory,
    request: &hence_cognition::run::RunRequest,
    lineage: Vec<Arc<str>>,
) -> Executed {
    let mut worker = host.worker();
    let mut context = Context {
        capabilities: &mut *worker,
        options: &request.options,
        skill_id: lineage.first().cloned().unwrap_or_default(),
        lineage,
        run_id: request.run_id.clone(),
        path: "".into(),
        trace_id: request.trace_id.clone(),
    };
    execute(step, memory, &mut context)
}
