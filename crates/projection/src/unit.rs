//! Units of intent, grown piece by piece.

use std::collections::BTreeMap;

use hence_canon::Object;
use hence_review::model::{Action, MetaAction, MetaActionId, Residual};
use hence_review::vocabulary::{MetaSource, MetaStatus};

use crate::piece::{Achieved, Piece, UnitHead};

/// The units so far. A unit is a stretch of actions without a gap: whoever comes back to one begins another.
#[derive(Default)]
pub(crate) struct Units {
    units: Vec<MetaAction>,
    tally: Vec<Tally>,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    achieved: usize,
    not: usize,
}

impl Units {
    /// Returns the id of the unit the last action belongs to.
    pub(crate) fn last(&self) -> Option<&MetaActionId> {
        self.units.last().map(|unit| &unit.id)
    }

    pub(crate) fn take(&mut self, piece: &Piece) {
        if piece.actions.is_empty() {
            return;
        }
        if self.last() != Some(&piece.unit.id) {
            self.units.push(begun(&piece.unit));
            self.tally.push(Tally::default());
        }
        if let (Some(unit), Some(tally)) = (self.units.last_mut(), self.tally.last_mut()) {
            for action in &piece.actions {
                unit.action_ids.push(action.common.id);
                unit.produced_artifact_ids.extend(action.common.outputs.iter().cloned());
            }
            match piece.achieved {
                Achieved::Yes => tally.achieved += 1,
                Achieved::No => tally.not += 1,
                Achieved::Silent => {}
            }
        }
    }

    /// Attaches the gaps each unit's actions introduced, and says how it ended.
    pub(crate) fn concluded(&self, actions: &[Action], gaps: &[Residual]) -> Vec<MetaAction> {
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
        for (unit, tally) in units.iter_mut().zip(&self.tally) {
            unit.status = Some(match (tally.achieved, tally.not) {
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

/// Actions are numbered from 1 without gaps.
fn action_numbered(actions: &[Action], id: i64) -> Option<&Action> {
    usize::try_from(id).ok()?.checked_sub(1).and_then(|place| actions.get(place))
}

fn begun(head: &UnitHead) -> MetaAction {
    MetaAction {
        id: head.id.clone(),
        title: head.title.clone(),
        intent: Some(head.intent.clone()),
        action_ids: Vec::new(),
        outcome: None,
        status: None,
        source: Some(MetaSource::PlanDeclared),
        parent_id: head.parent.clone(),
        produced_artifact_ids: Vec::new(),
        residual_ids: Vec::new(),
        tags: Vec::new(),
        extra: Object::new(),
    }
}
