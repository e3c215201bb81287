//! Driving a run with one worker.

use std::sync::Arc;

use hence_canon::Object;

use super::progress::{begin_state, ended};
use super::{
    Capabilities, Context, Intervention, Prepared, Progress, RunFailure, RunOptions, StepOutcome, Waiting,
    execute,
};
use crate::failure::{ErrorClass, Failure};
use crate::skill::Skill;
use crate::state::{ExecutionState, Frame, Names};

/// What a run is asked to do.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// What the caller provides.
    pub inputs: Object,
    /// Why the run exists; frozen from here on.
    pub frame: Frame,
    /// How the run behaves.
    pub options: RunOptions,
    /// The trace it belongs to.
    pub trace_id: Option<Arc<str>>,
    /// The id of the run, to which nested runs are linked.
    pub run_id: Option<Arc<str>>,
    /// The run that nests it.
    pub parent_run_id: Option<Arc<str>>,
    /// What a fork changes.
    pub intervention: Option<Intervention>,
}

/// What a run came to. The state is there whether it completed or not.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The state at the end.
    pub state: ExecutionState,
    /// The settled outcome of every executed step, in the order in which they took effect.
    pub outcomes: Vec<StepOutcome>,
    /// Why it failed.
    pub failure: Option<RunFailure>,
    /// What it waits for; it has then neither completed nor failed.
    pub waiting: Option<Waiting>,
}

/// Runs a skill to its end, or until it has to wait.
pub fn run(skill: &Skill, request: RunRequest, capabilities: &mut dyn Capabilities) -> RunReport {
    run_in(skill, &request, ([skill.id.clone()].into(), "".into()), capabilities)
}

/// Runs a skill at its place in a tree of runs.
pub(super) fn run_in(
    skill: &Skill,
    request: &RunRequest,
    (lineage, path): (Names, Arc<str>),
    capabilities: &mut dyn Capabilities,
) -> RunReport {
    let refused = |class: ErrorClass, message: String| {
        let failure = RunFailure::of_run(Failure::new(class, message));
        ended(begin_state(skill, request), Vec::new(), Some(failure))
    };
    let prepared = match Prepared::of(skill, capabilities) {
        Ok(prepared) => prepared,
        Err(problems) => {
            let first = problems.first().map_or_else(String::new, ToString::to_string);
            return refused(ErrorClass::InvalidSkillSpec, first);
        }
    };
    let mut progress = match Progress::begin(&prepared, request, capabilities) {
        Ok(progress) => progress,
        Err(breach) => return refused(ErrorClass::InputMapping, breach.to_string()),
    };
    let mut context = Context {
        capabilities,
        options: &request.options,
        skill_id: skill.id.clone(),
        lineage,
        run_id: request.run_id.clone(),
        path,
        trace_id: request.trace_id.clone(),
    };
    while let Some(step) = progress.start() {
        let outcome = match execute(step, &progress.state().memory, &mut context) {
            Ok(outcome) => outcome,
            Err(waiting) => return progress.wait_for(waiting),
        };
        // With one worker the step that was started is the step that is due.
        if progress.settle(outcome).is_err() {
            break;
        }
    }
    progress.end()
}
