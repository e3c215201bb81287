//! Runs of the built-in policies: one action per record.

mod action;
mod ending;
mod gap;
mod kind;
mod phase;

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{Determinism, Engine, StepOutline};
use hence_journal::{Control, LoopAction, RecordIndex};
use hence_review::model::{Action, ActionId, ActionStep};
use hence_state::{LoopSettings, Outcome, ProblemSpec, StepResult};

use crate::ProjectError;
use crate::base::Base;
use crate::ending::Ending;
use crate::piece::{Achieved, Facts, Piece};
use crate::view::{Conclusion, Scene, View};
pub(crate) use action::take_in;
use phase::Phase;

/// What is remembered of a record.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// A step ran.
    Step {
        name: Arc<str>,
        /// Why it failed.
        failed: Option<String>,
        /// What Verify gave, and in which action.
        verified: Option<(ActionId, Value)>,
    },
    /// A loop decided.
    Loop { action: LoopAction, end_step: Arc<str>, exhausted: Option<String> },
    /// The run is complete.
    Complete,
}

/// A run of a policy, as far as it was read.
pub(crate) struct Reason {
    problem: Arc<ProblemSpec>,
    /// The steps of the policy in order; empty when the engine does not know the policy.
    outline: Vec<StepOutline>,
    phase: Phase,
    executed: BTreeSet<Arc<str>>,
    verification: Option<(ActionId, Option<Value>)>,
    failed: Option<String>,
    exhausted: Option<String>,
    last: Option<Fact>,
}

impl Reason {
    pub(crate) fn of(engine: &Engine, problem: &Arc<ProblemSpec>) -> Self {
        Self {
            problem: problem.clone(),
            outline: engine.outline(problem).unwrap_or_default(),
            phase: Phase::Before,
            executed: BTreeSet::new(),
            verification: None,
            failed: None,
            exhausted: None,
            last: None,
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

    fn loop_settings(&self) -> Option<&LoopSettings> {
        self.problem.settings().loop_settings.as_ref()
    }

    /// Returns the artifact a step's output becomes: its own name where the engine does not know the step.
    fn artifact_key(&self, step: &Arc<str>) -> Arc<str> {
        self.known(step).map_or_else(|| step.clone(), |known| known.artifact_key.clone())
    }

    /// Returns what a replay does with a step; one that nobody knows can only be read from the journal.
    fn determinism(&self, step: &str) -> Determinism {
        self.known(step).map_or(Determinism::Recorded, |known| known.determinism)
    }

    fn known(&self, step: &str) -> Option<&StepOutline> {
        self.outline.iter().find(|known| &*known.name == step)
    }

    fn aside(&self, facts: Facts) -> Piece {
        self.piece(Vec::new(), Vec::new(), Vec::new(), Achieved::Silent, facts, self.phase)
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

impl View for Reason {
    fn begin(&self, scene: &Scene<'_>) -> Piece {
        let (actions, artifacts) = action::take_in(scene);
        self.piece(actions, artifacts, Vec::new(), Achieved::Yes, Facts::Nothing, self.phase)
    }

    fn step(
        &self,
        scene: &Scene<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<Piece, ProjectError> {
        let made = action::step(self, scene, index, result)?;
        let residuals = gap::of_step(self, scene, result);
        let achieved = match result.outcome() {
            Outcome::Success(_) => Achieved::Yes,
            Outcome::Failed(_) => Achieved::No,
            Outcome::Skipped => Achieved::Silent,
        };
        let phase = self.phase.at(result.step(), self.loop_settings());
        Ok(self.piece(made.actions, made.artifacts, residuals, achieved, Facts::Reason(made.fact), phase))
    }

    fn control(&self, scene: &Scene<'_>, index: RecordIndex, control: &Control) -> Piece {
        match control {
            Control::Loop(control) => {
                let decision = action::decision(self, scene, index, control);
                let residuals = gap::of_loop(scene, control);
                let is_exhausted = control.action == LoopAction::MaxIterationsReached;
                let fact = Fact::Loop {
                    action: control.action,
                    end_step: control.end_step.clone(),
                    exhausted: is_exhausted.then(|| {
                        format!("the loop reached its limit after iteration {}", control.loop_iteration)
                    }),
                };
                let achieved = if is_exhausted { Achieved::No } else { Achieved::Silent };
                self.piece(vec![decision], Vec::new(), residuals, achieved, Facts::Reason(fact), self.phase)
            }
            Control::Complete { .. } => self.piece(
                Vec::new(),
                Vec::new(),
                Vec::new(),
                Achieved::Silent,
                Facts::Reason(Fact::Complete),
                self.phase,
            ),
            // Names of positions and returns to them do nothing that could be reviewed.
            Control::Checkpoint(_) => self.aside(Facts::Nothing),
            Control::Rollback(control) => self.aside(Facts::RolledBack(index, control.to)),
        }
    }

    fn take(&mut self, piece: &Piece) -> Result<(), ProjectError> {
        if let Facts::RolledBack(..) = &piece.facts {
            // What was rolled back did not lead to where the run stands.
            (self.failed, self.exhausted, self.last) = (None, None, None);
        }
        let Facts::Reason(fact) = &piece.facts else { return Ok(()) };
        match fact {
            Fact::Step { name, failed, verified } => {
                self.phase = self.phase.at(name, self.loop_settings());
                self.executed.insert(name.clone());
                self.failed = self.failed.take().or_else(|| failed.clone());
                if &**name == "Verify"
                    && let Some(action) = piece.actions.first()
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

    fn conclude(&self, scene: &Scene<'_>, actions: &[Action]) -> Conclusion {
        let ending = match self.failed.as_ref().or(self.exhausted.as_ref()) {
            Some(reason) => Ending::Failed(reason.clone()),
            None if ending::is_complete(self, scene.base) => Ending::Completed,
            None => Ending::Unfinished,
        };
        let decisions =
            actions.iter().filter(|action| matches!(action.step, ActionStep::Gateway(..))).count();
        Conclusion {
            before: gap::of_whole(self, scene),
            after: gap::of_end(self, scene.base, &ending),
            ending,
            limitations: self.limitations(),
            loops: usize::from(self.loop_settings().is_some()),
            iterations_max: decisions,
        }
    }

    fn plan(&self, _: &Base<'_>) -> String {
        self.policy().to_owned()
    }
}
