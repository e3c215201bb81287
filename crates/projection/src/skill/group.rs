//! Units of a skill: the groups it declares, else its steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_cognition::skill::{Skill, Step};
use hence_review::model::MetaActionId;

use crate::piece::UnitHead;
use crate::unit::Units;
use crate::word;

/// The member of a skill's metadata that groups its steps: a list of `{id, title, intent, steps}`.
const GROUPS_MEMBER: &str = "groups";
/// The unit of the run as a whole: what stands around its steps.
pub(super) const PLAN: &str = "plan";
/// The unit behind the last step.
const CONCLUSION: &str = "conclusion";

/// The groups of a skill, and how often the run has come to each.
#[derive(Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    of_step: BTreeMap<Arc<str>, usize>,
}

struct Group {
    id: Arc<str>,
    title: Arc<str>,
    intent: Arc<str>,
    /// The unit the run last was in, and how many there were.
    unit: Option<MetaActionId>,
    visits: usize,
}

impl Groups {
    /// Reads the groups a skill declares. What is not one is left out: metadata promises nothing.
    pub(super) fn of(skill: &Skill) -> Self {
        let declared = skill.metadata.get(GROUPS_MEMBER).and_then(Value::as_array).unwrap_or_default();
        let mut groups = Self::default();
        for value in declared {
            let text =
                |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            let Some(id) = text("id") else { continue };
            let title = text("title").unwrap_or(id);
            let intent = text("intent").unwrap_or(title);
            let steps = value.get("steps").and_then(Value::as_array).unwrap_or_default();
            for step in steps.iter().filter_map(Value::as_str) {
                groups.of_step.entry(step.into()).or_insert(groups.groups.len());
            }
            groups.groups.push(Group {
                id: id.into(),
                title: word::shortened(title).into(),
                intent: word::shortened(intent).into(),
                unit: None,
                visits: 0,
            });
        }
        groups
    }

    /// Returns the unit of a step that comes next. A group the run comes back to is another unit of the same title.
    pub(super) fn unit(&self, step: &Step, units: &Units) -> UnitHead {
        let parent = Some(MetaActionId::new(PLAN));
        let Some(group) = self.of_step.get(&step.id).and_then(|place| self.groups.get(*place)) else {
            let intent = format!("Call {}, as the skill declares", step.uses);
            let id = MetaActionId::new(format!("step:{}", step.id));
            return UnitHead { id, title: format!("Step {}", step.id).into(), intent: intent.into(), parent };
        };
        let id = match &group.unit {
            Some(unit) if units.last() == Some(unit) => unit.clone(),
            Some(_) => MetaActionId::new(format!("group:{}@{}", group.id, group.visits + 1)),
            None => MetaActionId::new(format!("group:{}", group.id)),
        };
        UnitHead { id, title: group.title.clone(), intent: group.intent.clone(), parent }
    }

    /// Remembers which unit a step was in.
    pub(super) fn take(&mut self, unit: &MetaActionId, step: &Arc<str>) {
        let group = self.of_step.get(step).and_then(|place| self.groups.get_mut(*place));
        if let Some(group) = group
            && group.unit.as_ref() != Some(unit)
        {
            group.unit = Some(unit.clone());
            group.visits += 1;
        }
    }
}

/// Returns the unit of the run as a whole.
pub(super) fn plan(skill: &Skill) -> UnitHead {
    UnitHead {
        id: MetaActionId::new(PLAN),
        title: format!("Run the skill {}", skill.name).into(),
        intent: skill.description.clone(),
        parent: None,
    }
}

/// Returns the unit behind the last step.
pub(super) fn conclusion() -> UnitHead {
    UnitHead {
        id: MetaActionId::new(CONCLUSION),
        title: "Conclude".into(),
        intent: "See whether the run gave what the skill declares".into(),
        parent: Some(MetaActionId::new(PLAN)),
    }
}
