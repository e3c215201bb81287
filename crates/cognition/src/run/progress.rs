//! The progress of one run: the steps that may start, the outcome that is due, and the state.
//!
//! A driver alternates between starting what may start and settling what is due; whatever [`Progress::settle`]
//! returns is what it records. To resume a run it passes the recorded outcomes to [`Progress::take_in`] in order, and
//! continues: no step that has an outcome is started again.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::fold::refold;
use super::{
    FoldError, Intervention, Prepared, RunReport, RunRequest, Settled, StepOutcome, Waiting, settle,
};
use crate::capability::{ContractBreach, Registry, breach};
use crate::failure::{ErrorClass, ErrorCode, Failure};
use crate::mapping::{MergeStrategy, Target, set};
use crate::plan::StepIndex;
use crate::schedule::{FailureMode, Schedule};
use crate::skill::{Need, Skill, Step};
use crate::state::{ExecutionState, RunStatus, StepStatus};

/// The failure of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFailure {
    /// The failure with its causes.
    pub failure: Failure,
    /// The step it happened in.
    pub step_id: Option<Arc<str>>,
}

impl RunFailure {
    pub(super) fn of_run(failure: Failure) -> Self {
        Self { failure, step_id: None }
    }

    /// Returns the code that the record of the failed step has, or that of the run if no step failed.
    pub fn recorded_code(&self) -> ErrorCode {
        let of_step = self.failure.cause.as_deref().filter(|_| self.step_id.is_some());
        of_step.unwrap_or(&self.failure).code()
    }

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
            (ErrorClass::StepExecution, Some(ErrorClass::BudgetExceeded)) => ErrorCode::BudgetExceeded,
            (ErrorClass::StepExecution, _) => ErrorCode::UpstreamFailure,
            _ => self.failure.code(),
        }
    }
}

/// A run in progress. A copy taken between two outcomes is a position to return to.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    prepared: &'a Prepared,
    schedule: Schedule<'a>,
    mode: FailureMode,
    state: ExecutionState,
    outcomes: Vec<StepOutcome>,
    first_failure: Option<(Arc<str>, Failure)>,
    /// A change that is still to be made, and the place in the plan it is made at.
    intervention: Option<(usize, Intervention)>,
    /// A denial: it ends the run in every mode.
    denied: Option<RunFailure>,
}

impl<'a> Progress<'a> {
    /// Begins a run.
    ///
    /// # Errors
    /// [`ContractBreach`] when the inputs are not what the skill declares.
    pub fn begin(
        prepared: &'a Prepared,
        request: &RunRequest,
        registry: &dyn Registry,
    ) -> Result<Self, ContractBreach> {
        let skill = prepared.skill();
        let state = begin_state(skill, request);
        if let Some(breach) = breach(&skill.inputs, state.memory.inputs()) {
            return Err(breach);
        }
        let mut progress = Self {
            prepared,
            schedule: Schedule::new(prepared.plan(), request.options.on_failure),
            mode: request.options.on_failure,
            state,
            outcomes: Vec::new(),
            first_failure: None,
            intervention: None,
            denied: None,
        };
        if let Some(change) = &request.intervention {
            let step = skill.steps.iter().position(|step| step.id == change.before);
            let at = step.and_then(|step| prepared.plan().place_of(step));
            progress.intervention = at.map(|at| (at, change.clone()));
            progress.intervene();
        }
        for early in skill.consumed_too_early(registry) {
            let message = format!("`{}` consumes {} before any step produces it", early.step_id, early.kind);
            let data = Object::from_iter([("step_id", early.step_id), ("type", early.kind)]);
            progress.state.event("consumes_warning", message, None, data);
        }
        Ok(progress)
    }

    /// Returns the skill that is run.
    pub fn skill(&self) -> &'a Skill {
        self.prepared.skill()
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ExecutionState {
        &self.state
    }

    /// Returns the settled outcomes so far, in the order in which they took effect.
    pub fn outcomes(&self) -> &[StepOutcome] {
        &self.outcomes
    }

    /// Takes the next step that may start now. It is executed on a snapshot of the memory of this moment.
    pub fn start(&mut self) -> Option<&'a Step> {
        if self.denied.is_some() || self.has_answer() {
            return None;
        }
        let limit = self.intervention.as_ref().map(|(at, _)| *at);
        let step = self.schedule.start_before(limit).and_then(|index| self.step(index))?;
        self.state.current_step = Some(step.id.clone());
        Some(step)
    }

    /// Returns the step whose outcome is to be settled next, if any is left.
    pub fn due(&self) -> Option<&'a Step> {
        let is_over = self.denied.is_some() || self.has_answer();
        if is_over { None } else { self.schedule.due().and_then(|index| self.step(index)) }
    }

    /// Settles the outcome of the step that is due and returns the outcome to record.
    ///
    /// # Errors
    /// [`FoldError::OtherStep`] when it is not the outcome of the step that is due.
    pub fn settle(&mut self, outcome: StepOutcome) -> Result<&StepOutcome, FoldError> {
        let settled = self.propose_owned(outcome)?;
        Ok(self.accept(settled))
    }

    /// Says what became of a proposed outcome whose writes are refused: the step has failed and written nothing.
    pub fn refuse(&self, proposed: Settled, failure: Failure) -> Settled {
        Settled { outcome: proposed.outcome.failed(failure), memory: self.state.memory.clone() }
    }

    /// Takes a variable out of memory: its time is over.
    pub fn forget(&mut self, variable: &str) {
        self.state.memory.vars.remove(variable);
    }

    /// Returns whether a step gave the answer of the whole run, which ends it.
    pub fn has_answer(&self) -> bool {
        self.state.answer().is_some()
    }

    /// Says what settling the outcome of the step that is due would give. Nothing changes until
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    /// [`FoldError::OtherStep`] when it is not the outcome of the step that is due.
    pub fn propose(&self, outcome: StepOutcome) -> Result<Settled, FoldError> {
        let step = self.expect(&outcome)?;
        Ok(settle(step, outcome, self.state.memory.clone()))
    }

    /// As [`propose`](Self::propose), for an outcome that cannot be refused: the memory moves to what
    /// is returned, which spares copying what changes. The state has none until that is accepted.
    ///
    /// # Errors
    /// [`FoldError::OtherStep`] when it is not the outcome of the step that is due.
    pub fn propose_owned(&mut self, outcome: StepOutcome) -> Result<Settled, FoldError> {
        let step = self.expect(&outcome)?;
        Ok(settle(step, outcome, std::mem::take(&mut self.state.memory)))
    }

    /// Applies an outcome that was settled and recorded before.
    ///
    /// # Errors
    /// [`FoldError`] when it is not the outcome of the step that is due, or does not fit the state.
    pub fn take_in(&mut self, outcome: StepOutcome) -> Result<&StepOutcome, FoldError> {
        let step = self.expect(&outcome)?;
        let (memory, written) = refold(step, &outcome, std::mem::take(&mut self.state.memory));
        match written {
            Ok(()) => Ok(self.accept(Settled { outcome, memory })),
            Err(error) => {
                self.state.memory = memory;
                Err(error)
            }
        }
    }

    /// Ends the run and reports.
    pub fn end(mut self) -> RunReport {
        let blocked: Vec<&Step> = self.schedule.blocked().filter_map(|index| self.step(index)).collect();
        if self.denied.is_none() && !self.has_answer() {
            blocked.into_iter().for_each(|step| self.state.block(step));
        }
        let failure = self.failure();
        ended(self.state, self.outcomes, failure)
    }

    /// Returns the failure of a run that ends here.
    pub fn failure(&self) -> Option<RunFailure> {
        let failed = self.denied.clone().or_else(|| self.failed_step());
        // An answer completes the run, whatever else it was to give.
        let unanswered = !self.has_answer();
        failed.or_else(|| missing_outputs(self.prepared.skill(), &self.state).filter(|_| unanswered))
    }

    /// Reports a run that cannot continue before someone has answered. It is resumed from its outcomes.
    pub fn wait_for(self, waiting: Waiting) -> RunReport {
        RunReport { state: self.state, outcomes: self.outcomes, failure: None, waiting: Some(waiting) }
    }

    /// Makes the change that is due. One that cannot be made is refused before a run begins, so here it is left out.
    fn intervene(&mut self) {
        let is_due = |(at, _): &mut (usize, Intervention)| *at <= self.schedule.due_place();
        let Some((_, change)) = self.intervention.take_if(is_due) else { return };
        if let Ok(memory) = change.apply(&self.state.memory) {
            self.state.memory = memory;
            for (place, value) in &change.set {
                let message = format!("`{place}` was set before step `{}`", change.before);
                let data =
                    Object::from_iter([("place", Value::from(place.clone())), ("value", value.clone())]);
                self.state.event("intervention", message, None, data);
            }
        }
    }

    fn failed_step(&self) -> Option<RunFailure> {
        let (step_id, cause) = self.first_failure.as_ref().filter(|_| self.mode == FailureMode::FailFast)?;
        let message = format_args!("step `{step_id}` failed: {cause}");
        let failure = Failure::new(ErrorClass::StepExecution, message).because(cause.clone());
        Some(RunFailure { failure, step_id: Some(step_id.clone()) })
    }

    fn step(&self, index: StepIndex) -> Option<&'a Step> {
        self.prepared.skill().steps.get(index.position())
    }

    fn expect(&self, outcome: &StepOutcome) -> Result<&'a Step, FoldError> {
        let found = outcome.step_id.clone();
        match self.due() {
            Some(step) if step.id == found => Ok(step),
            Some(step) => Err(FoldError::OtherStep { expected: step.id.clone(), found }),
            None => Err(FoldError::Ended { found }),
        }
    }

    /// Applies the proposal for the step that is due and returns the outcome to record.
    pub fn accept(&mut self, settled: Settled) -> &StepOutcome {
        let Settled { outcome, memory } = settled;
        self.state.accept(&outcome, memory);
        self.schedule.settle(outcome.status);
        self.intervene();
        if let Some(failure) = &outcome.failure {
            let step_id = outcome.step_id.clone();
            if failure.class.is_safety() {
                self.denied = Some(RunFailure { failure: failure.clone(), step_id: Some(step_id) });
            } else {
                self.first_failure.get_or_insert((step_id, failure.clone()));
            }
        }
        debug_assert!(outcome.status == StepStatus::Failed || outcome.failure.is_none());
        // The outcome in memory is the one a journal gives back.
        let calls = if outcome.lists_calls() { outcome.calls } else { Vec::new() };
        self.outcomes.push(StepOutcome { calls, ..outcome });
        self.outcomes.last().expect("one was pushed on the line before")
    }
}

/// Returns the state of a run that begins, inputs completed by declared defaults.
pub(super) fn begin_state(skill: &Skill, request: &RunRequest) -> ExecutionState {
    let inputs = with_defaults(skill, &request.inputs);
    let mut state = ExecutionState::new(skill.id.clone(), inputs, request.frame.clone());
    state.skill_version = Some(skill.version.clone());
    state.parent_run_id = request.parent_run_id.clone();
    state.trace_id = request.trace_id.clone();
    for shared in request.shared.of_skill(skill) {
        // A name that is no target is refused when the variables of the run begin.
        if let Ok(target) = Target::parse(&format!("vars.{}", shared.name)) {
            let _ = set(&mut state.memory, &target, shared.value.clone(), MergeStrategy::Replace);
        }
    }
    state.status = RunStatus::Running;
    state.event("skill_start", format!("skill `{}` started", skill.id), None, Object::new());
    state
}

/// Returns the report of a run that has ended.
pub(super) fn ended(
    mut state: ExecutionState,
    outcomes: Vec<StepOutcome>,
    failure: Option<RunFailure>,
) -> RunReport {
    state.current_step = None;
    state.status = if failure.is_some() { RunStatus::Failed } else { RunStatus::Completed };
    if failure.is_none() {
        let message = format!("skill `{}` completed", state.skill_id);
        state.event("skill_completed", message, None, Object::new());
    }
    RunReport { state, outcomes, failure, waiting: None }
}

/// Returns the inputs with declared defaults in place of what is absent.
fn with_defaults(skill: &Skill, inputs: &Object) -> Object {
    let absent = skill.inputs.iter().filter(|(name, _)| !inputs.contains_key(name));
    let defaults = absent.filter_map(|(name, field)| Some((name.clone(), field.default.clone()?)));
    let given = inputs.iter().map(|(name, value)| (name.clone(), value.clone()));
    given.chain(defaults).collect()
}

fn missing_outputs(skill: &Skill, state: &ExecutionState) -> Option<RunFailure> {
    let required = skill.outputs.iter().filter(|(_, field)| field.need == Need::Required);
    let missing: Vec<&str> = required
        .filter(|(name, _)| state.memory.outputs().get(name).is_none())
        .map(|(name, _)| &**name)
        .collect();
    if missing.is_empty() {
        return None;
    }
    let message = format_args!("required outputs were not written: {}", missing.join(", "));
    Some(RunFailure::of_run(Failure::new(ErrorClass::FinalOutputValidation, message)))
}
