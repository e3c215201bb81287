//! The part of a trace that one record adds, and the units of intent that deltas form.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_cognition::run::StepOutcome;
use hence_journal::RecordIndex;
use hence_review::model::{Action, Artifact, MetaAction, MetaActionId, Residual};
use hence_review::vocabulary::{MetaSource, MetaStatus};
use hence_variables::Event;

/// The part of a trace that one record adds, computed from that record and the records before it.
///
/// A delta is final except for two links that only later records provide: the action that follows a decision
/// (`next_action_id`), and how the unit of an action ended.
#[derive(Clone, Debug)]
pub struct TraceDelta {
    /// The actions, in order. Their numbers continue those applied before.
    pub actions: Vec<Action>,
    /// The artifacts that the actions made.
    pub artifacts: Vec<Artifact>,
    /// The gaps that the record itself shows.
    pub residuals: Vec<Residual>,
    /// The number of actions at the beginning that happened before the call which is about to be made. It is 0 unless the
    /// delta is a preview of a later call of a step.
    pub(crate) happened: usize,
    pub(crate) unit: UnitHead,
    pub(crate) achieved: Achieved,
    pub(crate) facts: Facts,
}

impl TraceDelta {
    /// Returns a delta without actions.
    pub(crate) fn empty(unit: UnitHead, facts: Facts) -> Self {
        let (actions, artifacts, residuals) = (Vec::new(), Vec::new(), Vec::new());
        Self { actions, artifacts, residuals, happened: 0, unit, achieved: Achieved::Unknown, facts }
    }

    /// Writes the id of the delta's unit into its actions.
    pub(crate) fn in_unit(mut self) -> Self {
        for action in &mut self.actions {
            action.common.meta_action_id = Some(self.unit.id.clone());
        }
        self
    }
}

/// Whether a record achieved the intent of its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Achieved {
    Yes,
    /// The step failed, was skipped, or ended at a limit.
    No,
    /// The record does not show it.
    Unknown,
}

/// The unit of intent a delta belongs to.
#[derive(Clone, Debug)]
pub(crate) struct UnitHead {
    pub(crate) id: MetaActionId,
    pub(crate) title: Arc<str>,
    pub(crate) intent: Arc<str>,
    pub(crate) parent: Option<MetaActionId>,
}

/// The facts of a record that a view remembers once the delta is applied.
#[derive(Clone, Debug)]
pub(crate) enum Facts {
    Nothing,
    Reason(crate::reason::Fact),
    Outcome(RecordIndex, Box<StepOutcome>),
    /// The first record returns the run to the state after the second.
    RolledBack(RecordIndex, RecordIndex),
    MissingOutputs(String),
    Completed,
    Event(Box<Event>),
    Solve(crate::solve::SolveFact),
    /// An operation that an agent reported, and its record.
    Reported(RecordIndex, Box<hence_review::authoring::Operation>),
}

/// The units so far. A unit is an unbroken stretch of actions: coming back to an intent begins another unit.
#[derive(Clone, Default)]
pub(crate) struct Units {
    units: Vec<MetaAction>,
    tallies: Vec<Tally>,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    achieved: usize,
    missed: usize,
}

impl Units {
    /// Returns the id of the unit that the last action belongs to.
    pub(crate) fn last(&self) -> Option<&MetaActionId> {
        self.units.last().map(|unit| &unit.id)
    }

    pub(crate) fn apply(&mut self, delta: &TraceDelta) {
        if delta.actions.is_empty() {
            return;
        }
        if self.last() != Some(&delta.unit.id) {
            self.units.push(open_unit(&delta.unit));
            self.tallies.push(Tally::default());
        }
        if let (Some(unit), Some(tally)) = (self.units.last_mut(), self.tallies.last_mut()) {
            for action in &delta.actions {
                unit.action_ids.push(action.common.id);
                unit.produced_artifact_ids.extend(action.common.outputs.iter().cloned());
            }
            match delta.achieved {
                Achieved::Yes => tally.achieved += 1,
                Achieved::No => tally.missed += 1,
                Achieved::Unknown => {}
            }
        }
    }

    /// Returns the units with the gaps their actions introduced and how each one ended.
    pub(crate) fn conclude(&self, actions: &[Action], gaps: &[Residual]) -> Vec<MetaAction> {
        let mut units = self.units.clone();
        let places: BTreeMap<&MetaActionId, usize> =
            self.units.iter().enumerate().map(|(place, unit)| (&unit.id, place)).collect();
        for gap in gaps {
            let introduced = gap.introduced_by_action_id.and_then(|id| action_numbered(actions, id.0));
            let unit = introduced.and_then(|action| action.common.meta_action_id.as_ref());
            let place = unit.and_then(|id| places.get(id));
            if let Some(unit) = place.and_then(|place| units.get_mut(*place)) {
                unit.residual_ids.push(gap.residual_id.clone());
            }
        }
        for (unit, tally) in units.iter_mut().zip(&self.tallies) {
            unit.status = Some(match (tally.achieved, tally.missed) {
                (_, 0) => MetaStatus::Completed,
                (0, _) => MetaStatus::Abandoned,
                _ => MetaStatus::Partial,
            });
            let made = unit.produced_artifact_ids.len();
            unit.outcome = Some(format!("{} actions, {made} artifacts", unit.action_ids.len()).into());
        }
        units
    }
}

/// Returns the action with a number. Actions are numbered from 1 without gaps.
fn action_numbered(actions: &[Action], id: i64) -> Option<&Action> {
    usize::try_from(id).ok()?.checked_sub(1).and_then(|place| actions.get(place))
}

fn open_unit(head: &UnitHead) -> MetaAction {
    MetaAction {
        id: head.id.clone(),
        title: head.title.clone(),
        intent: Some(head.intent.clone()),
        source: Some(MetaSource::PlanDeclared),
        parent_id: head.parent.clone(),
        ..MetaAction::default()
    }
}
