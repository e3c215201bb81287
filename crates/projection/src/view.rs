//! The interface between a projection and the kinds of runs.

use std::sync::Arc;

use hence_canon::Canonical;
use hence_cognition::run::Prepared;
use hence_engine::Engine;
use hence_journal::{Control, RecordIndex};
use hence_review::model::{Action, ActionId, Residual, Trace};
use hence_skills::{CallHistory, Host};
use hence_state::{ProblemSpec, StepResult};

use crate::ProjectError;
use crate::artifacts::ArtifactIndex;
use crate::authored::AuthoredView;
use crate::delta::{TraceDelta, Units};
use crate::reason::ReasonView;
use crate::run_info::RunInfo;
use crate::skill::SkillView;
use crate::solve::SolveView;
use crate::trace::RunLink;
use crate::unrecorded::BegunCall;
use crate::variables::VariablesView;

/// Everything known before the record that is being projected.
pub(crate) struct Context<'s> {
    pub(crate) run: &'s RunInfo<'s>,
    pub(crate) artifacts: &'s ArtifactIndex,
    pub(crate) units: &'s Units,
    /// The number of the next action.
    pub(crate) next: ActionId,
}

impl Context<'_> {
    /// Returns the number of the action `offset` places after the next one.
    pub(crate) fn action(&self, offset: usize) -> ActionId {
        // A journal is far shorter than 2^62 actions.
        ActionId(self.next.0.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX)))
    }
}

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Completed,
    /// The run completed, although steps or parts of steps failed: these.
    Partial(String),
    /// The run failed, for this reason.
    Failed(String),
    /// More records should follow.
    Unfinished,
}

/// Facts about a run that are known only at the end of its records.
pub(crate) struct Conclusion {
    pub(crate) ending: Ending,
    /// Gaps of the run as a whole, listed before those of single records.
    pub(crate) before: Vec<Residual>,
    /// Gaps that only the end shows, listed after those of single records.
    pub(crate) after: Vec<Residual>,
    /// The limits of a replay of the whole run; empty when a replay computes every byte again.
    pub(crate) limitations: Vec<String>,
    pub(crate) loops: usize,
    pub(crate) iterations_max: usize,
}

/// The projection of one kind of run. Only `apply` changes a view.
pub(crate) trait RunView {
    /// Projects the header.
    fn begin(&self, context: &Context<'_>) -> TraceDelta;

    /// Projects a step.
    fn step(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<TraceDelta, ProjectError>;

    /// Projects a control record.
    fn control(&self, context: &Context<'_>, index: RecordIndex, control: &Control) -> TraceDelta;

    /// Remembers a delta that became part of the trace.
    fn apply(&mut self, delta: &TraceDelta) -> Result<(), ProjectError>;

    /// Notes a result that policies blocked. It is not an action, but what was executed stays said.
    fn note_blocked(&mut self, _: &RunInfo<'_>, _: RecordIndex, _: &StepResult) -> Result<(), ProjectError> {
        Ok(())
    }

    /// Returns how the run ended and which gaps it leaves.
    fn conclude(&self, context: &Context<'_>, actions: &[Action]) -> Conclusion;

    /// Returns the calls that act, were begun, and that no record covers, in order, with the answers of people about them.
    fn begun_calls(&self, _: &RunInfo<'_>, _: Option<&CallHistory>) -> Result<Vec<BegunCall>, ProjectError> {
        Ok(Vec::new())
    }

    /// Returns the questions that people have not answered, as far as the journal or the call log shows them.
    fn questions(&self, _: &RunInfo<'_>, _: Option<&CallHistory>) -> Vec<Residual> {
        Vec::new()
    }

    /// Returns the gaps of calls that were made for steps without a record, as far as the call log shows them.
    fn unrecorded(&self, _: Option<&CallHistory>) -> Vec<Residual> {
        Vec::new()
    }

    /// Returns the related runs that the run's problem or outcomes name.
    fn links(&self) -> Vec<RunLink> {
        Vec::new()
    }

    /// Completes the trace with what later records said about earlier ones.
    fn finish(&self, _: &mut Trace) {}

    /// Returns the name of the program for people.
    fn plan(&self) -> String;
}

/// The program that a run executes.
#[derive(Clone, Copy)]
pub enum Program<'a> {
    /// The steps of the routing policy a problem names, in an engine that may know it.
    Reason(&'a Engine),
    /// A skill, with the capabilities of its steps.
    Skill {
        /// The skill the problem pins.
        prepared: &'a Prepared,
        /// The skill's document, whose digest the problem must pin.
        source: &'a Canonical,
        /// Contracts and determinism of capabilities. Nothing is called.
        host: &'a dyn Host,
    },
    /// Operations on variables, driven from outside.
    Variables,
    /// The recursive loop.
    Solve,
    /// A trace that an agent of its own reports.
    Trace,
}

impl<'a> Program<'a> {
    pub(crate) fn view(self, problem: &Arc<ProblemSpec>) -> Result<Box<dyn RunView + 'a>, ProjectError> {
        Ok(match self {
            Self::Reason(engine) => Box::new(ReasonView::of(engine, problem)),
            Self::Skill { prepared, source, host } => {
                Box::new(SkillView::of(prepared, source, host, problem)?)
            }
            Self::Variables => Box::new(VariablesView::default()),
            Self::Solve => Box::new(SolveView::default()),
            Self::Trace => Box::new(AuthoredView::new(problem.id())),
        })
    }
}
