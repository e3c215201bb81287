//! Runs of the built-in policies: one action per record.

mod action;
mod begun;
mod command;
mod gap;

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{BlockedAt, Determinism, Engine, StepOutline, attempt};
use hence_journal::{Control, LoopAction, RecordIndex};
use hence_review::model::{Action, ActionId, ActionStep, MetaActionId};
use hence_review::vocabulary::{ActionType, ActionTypes};
use hence_skills::CallHistory;
use hence_state::{CompletionRule, LoopSettings, Outcome, ProblemSpec, StepResult};

use crate::ProjectError;
use crate::delta::{Achieved, Facts, TraceDelta, UnitHead};
use crate::run_info::RunInfo;
use crate::unrecorded::BegunCall;
use crate::view::{Conclusion, Context, Ending, RunView};
pub(crate) use action::begin;

/// The facts that a view remembers of a record.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// A step ran.
    Step {
        name: Arc<str>,
        /// The reason the step failed.
        failed: Option<String>,
        /// The output of Verify and its action.
        verified: Option<(ActionId, Value)>,
        /// The output of Compute.
        concluded: Option<Value>,
    },
    /// A loop decided.
    Loop { action: LoopAction, end_step: Arc<str>, exhausted: Option<String> },
    /// The run is complete.
    Complete,
}

/// The projection of a run of a built-in policy.
pub(crate) struct ReasonView {
    problem: Arc<ProblemSpec>,
    /// The steps of the policy in order; empty when the engine does not know the policy.
    outline: Vec<StepOutline>,
    phase: Phase,
    executed: BTreeSet<Arc<str>>,
    verification: Option<(ActionId, Option<Value>)>,
    /// The newest output of Compute and its action.
    computation: Option<(ActionId, Value)>,
    failed: Option<String>,
    exhausted: Option<String>,
    last: Option<Fact>,
    /// The result of the step that policies blocked last after its call, until the step is recorded.
    blocked: Option<(RecordIndex, StepResult)>,
}

impl ReasonView {
    pub(crate) fn of(engine: &Engine, problem: &Arc<ProblemSpec>) -> Self {
        Self {
            problem: problem.clone(),
            outline: engine.outline(problem).unwrap_or_default(),
            phase: Phase::Before,
            executed: BTreeSet::new(),
            verification: None,
            computation: None,
            failed: None,
            exhausted: None,
            last: None,
            blocked: None,
        }
    }

    fn policy(&self) -> &str {
        self.problem.settings().policy_profile.as_deref().unwrap_or(hence_engine::DEFAULT_POLICY)
    }

    /// Returns the capability that carries out a step, if the settings bind it to one.
    fn capability(&self, step: &str) -> Option<&Arc<str>> {
        let bindings = &self.problem.settings().bindings;
        bindings.iter().find(|binding| &*binding.step == step).map(|binding| &binding.capability)
    }

    /// Returns the action type that the capability of a bound step declares, if it acts. Whoever operates the capability
    /// decided it; a problem cannot give the deed the name of a built-in step and so pass a rule about it.
    fn deed_kind(&self, step: &str, result: &StepResult) -> Option<ActionType> {
        let action = self.known(step)?.deed.as_ref()?.action.as_ref()?;
        // What a limit refused was not called.
        let is_refused = matches!(result.outcome(), Outcome::Failed(errors)
            if errors.iter().any(|error| &*error.code == "budget_exceeded"));
        let mut types = ActionTypes::default();
        // A name that is none was refused when the capabilities were read.
        let _ = types.declare(action);
        types.read(action).ok().filter(|_| !is_refused)
    }

    fn loop_settings(&self) -> Option<&LoopSettings> {
        self.problem.settings().loop_settings.as_ref()
    }

    /// Returns the artifact key of a step's output: the step's name where the engine does not know the step.
    fn artifact_key(&self, step: &Arc<str>) -> Arc<str> {
        self.known(step).map_or_else(|| step.clone(), |known| known.artifact_key.clone())
    }

    /// Returns the determinism of a step. A step the engine does not know can only be read from the journal.
    fn determinism(&self, step: &str) -> Determinism {
        self.known(step).map_or(Determinism::Recorded, |known| known.determinism)
    }

    fn known(&self, step: &str) -> Option<&StepOutline> {
        self.outline.iter().find(|known| &*known.name == step)
    }

    /// Returns a delta without actions in the current phase.
    fn empty(&self, facts: Facts) -> TraceDelta {
        TraceDelta::empty(self.unit(self.phase), facts)
    }

    fn unit(&self, phase: Phase) -> UnitHead {
        let settings = self.loop_settings();
        let (title, intent) = match (phase, settings) {
            (Phase::Iteration(number), Some(settings)) => (
                format!("Iteration {number} of {} … {}", settings.start_step, settings.end_step),
                "Repeat the segment until its condition is met",
            ),
            (Phase::After, _) => ("Conclude".to_owned(), "Turn what the loop gathered into an answer"),
            (_, Some(_)) => ("Prepare".to_owned(), "Bring the problem into the form the loop works on"),
            (_, None) => (
                format!("Run the plan of policy {}", self.policy()),
                "Answer the problem by the steps of its policy",
            ),
        };
        let id = MetaActionId::new(phase.id(settings));
        UnitHead { id, title: title.into(), intent: intent.into(), parent: None }
    }

    /// Returns whether the run did everything its plan asks for.
    ///
    /// A profile records the completion, or the run is complete when its plan has no step left.
    fn is_complete(&self, run: &RunInfo<'_>) -> bool {
        if run.profile.completion == CompletionRule::Recorded {
            return matches!(self.last, Some(Fact::Complete));
        }
        let last_step = self.outline.last().map(|step| &*step.name);
        match &self.last {
            Some(Fact::Step { name, .. }) => {
                let loop_decides =
                    self.loop_settings().is_some_and(|settings| Some(&*settings.end_step) == last_step);
                Some(&**name) == last_step && !loop_decides
            }
            Some(Fact::Loop { action, end_step, .. }) => {
                *action == LoopAction::Stop && Some(&**end_step) == last_step
            }
            Some(Fact::Complete) | None => false,
        }
    }

    fn limitations(&self) -> Vec<String> {
        if self.outline.is_empty() {
            return vec![format!("this engine does not know the policy {}", self.policy())];
        }
        let recorded: Vec<&str> = self
            .outline
            .iter()
            .filter(|step| step.determinism == Determinism::Recorded)
            .map(|step| &*step.name)
            .collect();
        if recorded.is_empty() {
            Vec::new()
        } else {
            vec![format!("a replay reads these results from the journal: {}", recorded.join(", "))]
        }
    }
}

impl RunView for ReasonView {
    fn begin(&self, context: &Context<'_>) -> TraceDelta {
        begin(context, self.unit(self.phase))
    }

    fn step(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<TraceDelta, ProjectError> {
        let (actions, artifacts, fact) = action::step(self, context, index, result)?;
        let phase = self.phase.at(result.step(), self.loop_settings());
        let delta = TraceDelta {
            actions,
            artifacts,
            residuals: gap::of_step(self, context, result).into_iter().collect(),
            happened: 0,
            unit: self.unit(phase),
            achieved: match result.outcome() {
                Outcome::Success(_) => Achieved::Yes,
                Outcome::Failed(_) => Achieved::No,
                Outcome::Skipped => Achieved::Unknown,
            },
            facts: Facts::Reason(fact),
        };
        Ok(delta.in_unit())
    }

    fn control(&self, context: &Context<'_>, index: RecordIndex, control: &Control) -> TraceDelta {
        match control {
            Control::Loop(control) => {
                let is_exhausted = control.action == LoopAction::MaxIterationsReached;
                let fact = Fact::Loop {
                    action: control.action,
                    end_step: control.end_step.clone(),
                    exhausted: is_exhausted.then(|| {
                        format!("the loop reached its limit after iteration {}", control.loop_iteration)
                    }),
                };
                let delta = TraceDelta {
                    actions: vec![action::decision(self, context, index, control)],
                    residuals: gap::of_loop(context, control).into_iter().collect(),
                    achieved: if is_exhausted { Achieved::No } else { Achieved::Unknown },
                    ..self.empty(Facts::Reason(fact))
                };
                delta.in_unit()
            }
            Control::Complete { .. } => self.empty(Facts::Reason(Fact::Complete)),
            // Checkpoints and rollbacks contain nothing to review.
            Control::Checkpoint(_) => self.empty(Facts::Nothing),
            Control::Rollback(control) => self.empty(Facts::RolledBack(index, control.to)),
        }
    }

    fn apply(&mut self, delta: &TraceDelta) -> Result<(), ProjectError> {
        if let Facts::RolledBack(..) = &delta.facts {
            // The records that were rolled back no longer count.
            (self.failed, self.exhausted, self.last) = (None, None, None);
            self.blocked = None;
        }
        let Facts::Reason(fact) = &delta.facts else { return Ok(()) };
        match fact {
            Fact::Step { name, failed, verified, concluded } => {
                self.blocked = None;
                self.phase = self.phase.at(name, self.loop_settings());
                self.executed.insert(name.clone());
                self.failed = self.failed.take().or_else(|| failed.clone());
                if let (Some(output), Some(action)) = (concluded, delta.actions.first()) {
                    self.computation = Some((action.common.id, output.clone()));
                }
                if &**name == "Verify"
                    && let Some(action) = delta.actions.first()
                {
                    let output = verified.as_ref().map(|(_, output)| output.clone());
                    self.verification = Some((action.common.id, output));
                }
            }
            Fact::Loop { action, exhausted, .. } => {
                self.phase = self.phase.after(*action);
                self.exhausted = self.exhausted.take().or_else(|| exhausted.clone());
            }
            Fact::Complete => {}
        }
        self.last = Some(fact.clone());
        Ok(())
    }

    fn note_blocked(
        &mut self,
        _: &RunInfo<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<(), ProjectError> {
        if BlockedAt::of(result) == BlockedAt::AfterExecution {
            self.blocked = Some((index, attempt(result)));
        }
        Ok(())
    }

    fn begun_calls(
        &self,
        run: &RunInfo<'_>,
        calls: Option<&CallHistory>,
    ) -> Result<Vec<BegunCall>, ProjectError> {
        Ok(self.calls_begun(run, calls))
    }

    fn conclude(&self, context: &Context<'_>, actions: &[Action]) -> Conclusion {
        let ending = match self.failed.as_ref().or(self.exhausted.as_ref()) {
            Some(reason) => Ending::Failed(reason.clone()),
            None if self.is_complete(context.run) => Ending::Completed,
            None => Ending::Unfinished,
        };
        let decisions =
            actions.iter().filter(|action| matches!(action.step, ActionStep::Gateway(..))).count();
        Conclusion {
            before: gap::of_whole(self, context),
            after: gap::of_end(self, context.run, &ending),
            ending,
            limitations: self.limitations(),
            loops: usize::from(self.loop_settings().is_some()),
            iterations_max: decisions,
        }
    }

    fn plan(&self) -> String {
        self.policy().to_owned()
    }
}

/// The segment of the plan that a run is in. With a loop, each iteration is a unit, and so are the parts before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Before,
    Iteration(u64),
    After,
}

impl Phase {
    /// Returns the phase of a step. The first step of the segment begins the first iteration.
    fn at(self, step: &str, settings: Option<&LoopSettings>) -> Self {
        match (self, settings) {
            (Self::Before, Some(settings)) if *settings.start_step == *step => Self::Iteration(1),
            (phase, _) => phase,
        }
    }

    /// Returns the phase after a loop's decision.
    fn after(self, action: LoopAction) -> Self {
        match (self, action) {
            (Self::Iteration(number), LoopAction::Repeat) => Self::Iteration(number + 1),
            (Self::Iteration(_), _) => Self::After,
            (phase, _) => phase,
        }
    }

    fn id(self, settings: Option<&LoopSettings>) -> String {
        match self {
            Self::Before if settings.is_none() => "plan".to_owned(),
            Self::Before => "before-loop".to_owned(),
            Self::Iteration(number) => format!("iteration-{number}"),
            Self::After => "after-loop".to_owned(),
        }
    }
}
