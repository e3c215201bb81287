//! Segments of a plan as units of intent.
//!
//! Without a loop the whole plan is one unit. With one, each iteration is a unit, and so is what comes before and after.

use hence_journal::LoopAction;
use hence_review::model::{Action, Artifact, MetaActionId, Residual};
use hence_state::LoopSettings;

use super::Reason;
use crate::piece::{Achieved, Facts, Piece, UnitHead};

/// Where in its plan a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Before,
    Iteration(u64),
    After,
}

impl Phase {
    /// Returns the phase a step belongs to: the first step of the segment begins the first iteration.
    pub(super) fn at(self, step: &str, settings: Option<&LoopSettings>) -> Self {
        match (self, settings) {
            (Self::Before, Some(settings)) if *settings.start_step == *step => Self::Iteration(1),
            (phase, _) => phase,
        }
    }

    /// A decision ends an iteration: another follows, or what comes behind the loop.
    pub(super) fn after(self, action: LoopAction) -> Self {
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

impl Reason {
    /// Puts a piece together and tells its actions their unit.
    pub(super) fn piece(
        &self,
        mut actions: Vec<Action>,
        artifacts: Vec<Artifact>,
        residuals: Vec<Residual>,
        achieved: Achieved,
        facts: Facts,
        phase: Phase,
    ) -> Piece {
        let unit = self.unit(phase);
        for action in &mut actions {
            action.common.meta_action_id = Some(unit.id.clone());
        }
        Piece { actions, artifacts, residuals, unit, achieved, facts }
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
}
