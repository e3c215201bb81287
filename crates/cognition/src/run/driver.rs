//! Driving a run with one worker.

use std::sync::Arc;

use hence_canon::Object;

use super::{Capabilities, Context, RunOptions, StepOutcome, execute, settle};
use crate::capability::breach;
use crate::failure::{ErrorClass, ErrorCode, Failure};
use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::skill::{Need, Skill};
use crate::state::{ExecutionState, Frame, RunStatus};

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
}

/// Why a run failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFailure {
    /// What happened, with its causes.
    pub failure: Failure,
    /// The step it happened in.
    pub step_id: Option<Arc<str>>,
}

impl RunFailure {
    /// Returns the code a caller acts on.
    ///
    /// A failing step is a failure of something the run relied on, except where it ran into a limit that the
    /// caller set and can change.
    pub fn code(&self) -> ErrorCode {
        let cause = self.failure.cause.as_deref();
        match (&self.failure.class, cause.map(|cause| &cause.class)) {
            (ErrorClass::StepExecution, Some(ErrorClass::StepTimeout)) => ErrorCode::StepTimeout,
            (ErrorClass::StepExecution, Some(ErrorClass::MaxSkillDepthExceeded)) => {
                ErrorCode::MaxDepthExceeded
            }
            (ErrorClass::StepExecution, _) => ErrorCode::UpstreamFailure,
            _ => self.failure.code(),
        }
    }
}

/// Where a nested run hangs.
pub(super) struct Nesting {
    pub(super) lineage: Vec<Arc<str>>,
    pub(super) parent_run_id: Option<Arc<str>>,
}

/// Runs a skill to its end.
pub fn run(skill: &Skill, request: RunRequest, capabilities: &mut dyn Capabilities) -> RunReport {
    let nesting = Nesting { lineage: vec![skill.id.clone()], parent_run_id: None };
    run_nested(skill, request, nesting, capabilities)
}

pub(super) fn run_nested(
    skill: &Skill,
    request: RunRequest,
    nesting: Nesting,
    capabilities: &mut dyn Capabilities,
) -> RunReport {
    let skill = skill.wired(capabilities);
    let inputs = with_defaults(&skill, &request.inputs);
    let mut state = ExecutionState::new(skill.id.clone(), inputs.clone(), request.frame);
    state.skill_version = Some(skill.version.clone());
    state.parent_run_id = nesting.parent_run_id;
    state.trace_id = request.trace_id.clone();
    state.status = RunStatus::Running;
    state.event("skill_start", format!("skill `{}` started", skill.id), None, Object::new());
    let mut context = Context {
        capabilities,
        options: &request.options,
        skill_id: skill.id.clone(),
        lineage: nesting.lineage,
        run_id: request.run_id,
        trace_id: request.trace_id,
    };
    let mut outcomes = Vec::new();
    let ended = match breach(&skill.inputs, &inputs) {
        Some(breach) => Err(failed(Failure::new(ErrorClass::InputMapping, breach))),
        None => drive(&skill, &mut state, &mut outcomes, &mut context),
    };
    let failure = ended.and_then(|()| final_outputs(&skill, &state)).err();
    state.current_step = None;
    state.status = if failure.is_some() { RunStatus::Failed } else { RunStatus::Completed };
    if failure.is_none() {
        state.event("skill_completed", format!("skill `{}` completed", skill.id), None, Object::new());
    }
    RunReport { state, outcomes, failure }
}

fn failed(failure: Failure) -> RunFailure {
    RunFailure { failure, step_id: None }
}

fn drive(
    skill: &Skill,
    state: &mut ExecutionState,
    outcomes: &mut Vec<StepOutcome>,
    context: &mut Context<'_>,
) -> Result<(), RunFailure> {
    let plan = Plan::of(skill).map_err(|problems| {
        let first = problems.first().map_or_else(String::new, ToString::to_string);
        failed(Failure::new(ErrorClass::InvalidSkillSpec, first))
    })?;
    for early in skill.consumed_too_early(context.capabilities) {
        let message = format!("`{}` consumes {} before any step produces it", early.step_id, early.kind);
        let data = Object::from_iter([("step_id", early.step_id), ("type", early.kind)]);
        state.event("consumes_warning", message, None, data);
    }
    let mut schedule = Schedule::new(&plan, context.options.on_failure);
    let mut first_failure = None;
    while let Some(index) = schedule.start() {
        let Some(step) = skill.steps.get(index.position()) else { continue };
        state.current_step = Some(step.id.clone());
        let outcome = execute(step, &state.memory, context);
        let settled = settle(step, outcome, &state.memory);
        let (status, failure) = (settled.outcome.status, settled.outcome.failure.clone());
        outcomes.push(settled.outcome.clone());
        state.accept(settled);
        schedule.settle(status);
        if let Some(failure) = failure {
            // A denial ends the run in every mode.
            if failure.class.is_safety() {
                return Err(RunFailure { failure, step_id: Some(step.id.clone()) });
            }
            first_failure.get_or_insert((step.id.clone(), failure));
        }
    }
    for step in schedule.blocked().filter_map(|index| skill.steps.get(index.position())) {
        state.block(step);
    }
    match first_failure.filter(|_| context.options.on_failure == crate::schedule::FailureMode::FailFast) {
        None => Ok(()),
        Some((step_id, cause)) => {
            let message = format_args!("step `{step_id}` failed: {cause}");
            let failure = Failure::new(ErrorClass::StepExecution, message).because(cause);
            Err(RunFailure { failure, step_id: Some(step_id) })
        }
    }
}

/// Returns the inputs with declared defaults in place of what is absent.
fn with_defaults(skill: &Skill, inputs: &Object) -> Object {
    let absent = skill.inputs.iter().filter(|(name, _)| !inputs.contains_key(name));
    let defaults = absent.filter_map(|(name, field)| Some((name.clone(), field.default.clone()?)));
    let given = inputs.iter().map(|(name, value)| (name.clone(), value.clone()));
    given.chain(defaults).collect()
}

fn final_outputs(skill: &Skill, state: &ExecutionState) -> Result<(), RunFailure> {
    let required = skill.outputs.iter().filter(|(_, field)| field.need == Need::Required);
    let missing: Vec<&str> = required
        .filter(|(name, _)| state.memory.outputs().get(name).is_none())
        .map(|(name, _)| &**name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format_args!("required outputs were not written: {}", missing.join(", "));
    Err(failed(Failure::new(ErrorClass::FinalOutputValidation, message)))
}
