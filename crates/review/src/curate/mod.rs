//! Regrouping actions into meta-actions without changing the actions.
//!
//! Each function takes a trace and gives a new one in which only `meta_actions` and the back-references
//! `meta_action_id` differ. The source of a unit that a person changed becomes `curated`.

mod derive;

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Object, Value};

use crate::vocabulary::{MetaSource, MetaStatus};

pub use derive::{UnitBasis, derive};

/// An error of grouping actions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurateError {
    /// The document is no trace.
    #[error("a trace is an object")]
    NotATrace,
    /// No unit has this id.
    #[error("no meta-action has the id {0:?}")]
    UnknownUnit(String),
    /// No action has this id.
    #[error("no action has the id {0}")]
    UnknownAction(i64),
    /// An action belongs to one unit at most.
    #[error("action {action} belongs to {unit:?} already")]
    Claimed {
        /// The action.
        action: i64,
        /// The unit that has it.
        unit: String,
    },
    /// Units are slices of the actions; these have others between them.
    #[error("the actions are not contiguous")]
    NotContiguous,
    /// Another unit has this id.
    #[error("a meta-action has the id {0:?} already")]
    Taken(String),
    /// A unit cannot enclose itself.
    #[error("{unit:?} cannot lie inside {parent:?}, which lies inside it")]
    Circle {
        /// The unit.
        unit: String,
        /// The requested parent.
        parent: String,
    },
    /// The trace records nothing to derive units from.
    #[error("the trace records no {0} to derive units from")]
    NoBasis(&'static str),
    /// A split needs actions on both sides.
    #[error("action {0} does not divide the unit")]
    NoDivision(i64),
}

/// A unit to set.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Grouping {
    /// The id; an existing unit with it is replaced.
    pub id: String,
    /// The unit of intent in plain language.
    pub title: String,
    /// The ids of the actions.
    pub action_ids: Vec<i64>,
    /// The intent at length.
    pub intent: Option<String>,
    /// The outcome.
    pub outcome: Option<String>,
    /// Whether it was finished.
    pub status: Option<MetaStatus>,
    /// The id of its parent.
    pub parent_id: Option<String>,
}

/// Sets a unit: new, or in the place of the one with its id, whose other members stay.
///
/// # Errors
/// [`CurateError`] when an action does not exist, belongs to another unit or is not contiguous with the others, or the
/// parent is not possible.
pub fn set(trace: &Value, grouping: &Grouping) -> Result<Value, CurateError> {
    let mut plan = Plan::of(trace)?;
    let known = plan.units.iter().position(|unit| unit.id == grouping.id);
    for action in &grouping.action_ids {
        if !plan.order.contains_key(action) {
            return Err(CurateError::UnknownAction(*action));
        }
        let holder = plan.units.iter().find(|unit| unit.id != grouping.id && unit.actions.contains(action));
        if let Some(unit) = holder {
            return Err(CurateError::Claimed { action: *action, unit: unit.id.clone() });
        }
    }
    let actions = plan.slice(&grouping.action_ids)?;
    let before =
        known.and_then(|place| plan.units.get(place)).map(|unit| unit.members.clone()).unwrap_or_default();
    let mut members = before.with("id", grouping.id.as_str()).with("title", grouping.title.as_str());
    if let Some(parent) = &grouping.parent_id {
        plan.check_parent(&grouping.id, parent)?;
    }
    let texts =
        [("intent", &grouping.intent), ("outcome", &grouping.outcome), ("parent_id", &grouping.parent_id)];
    for (key, text) in texts {
        if let Some(text) = text {
            members = members.with(key, text.as_str());
        }
    }
    if let Some(status) = grouping.status {
        members = members.with("status", status);
    }
    let unit = Unit { id: grouping.id.clone(), actions, members: curated(&members) };
    match known.and_then(|place| plan.units.get_mut(place)) {
        Some(slot) => *slot = unit,
        None => plan.units.push(unit),
    }
    Ok(plan.write())
}

/// Merges units into the first of them, under a new title.
///
/// # Errors
/// [`CurateError`] when a unit does not exist or other actions are between them.
pub fn merge(trace: &Value, ids: &[&str], title: &str) -> Result<Value, CurateError> {
    let mut plan = Plan::of(trace)?;
    let mut actions = Vec::new();
    for id in ids {
        actions.extend(plan.unit(id)?.actions.iter().copied());
    }
    let actions = plan.slice(&actions)?;
    let Some((first, rest)) = ids.split_first() else { return Ok(plan.write()) };
    let gathered = plan.gathered(ids);
    let outside = plan.parent_outside(first, ids);
    plan.units.retain(|unit| !rest.contains(&unit.id.as_str()) || unit.id == *first);
    for unit in &mut plan.units {
        if unit.id == *first {
            unit.actions.clone_from(&actions);
            let members = gathered.iter().fold(unit.members.with("title", title), |members, (key, ids)| {
                members.with(*key, ids.iter().map(String::as_str).collect::<Value>())
            });
            let members = match &outside {
                Some(parent) => members.with("parent_id", parent.as_str()),
                None => members.without("parent_id"),
            };
            unit.members = curated(&members);
        } else if unit
            .members
            .get("parent_id")
            .and_then(Value::as_str)
            .is_some_and(|parent| rest.contains(&parent))
        {
            unit.members = unit.members.with("parent_id", *first);
        }
    }
    Ok(plan.write())
}

/// Splits a unit in two: the actions from `action` on go to a new unit.
///
/// # Errors
/// [`CurateError`] when the unit does not exist or the action does not divide it.
pub fn split(trace: &Value, id: &str, action: i64, new: (&str, &str)) -> Result<Value, CurateError> {
    let (new_id, new_title) = new;
    let mut plan = Plan::of(trace)?;
    if plan.unit(new_id).is_ok() {
        return Err(CurateError::Taken(new_id.to_owned()));
    }
    let unit = plan.unit(id)?;
    let place = unit.actions.iter().position(|member| *member == action).filter(|place| *place > 0);
    let (left, right) = place
        .and_then(|place| unit.actions.split_at_checked(place))
        .ok_or(CurateError::NoDivision(action))?;
    let (left, right) = (left.to_vec(), right.to_vec());
    let mut members = Object::from_iter([("id", new_id), ("title", new_title)]);
    if let Some(parent) = unit.members.get("parent_id") {
        members = members.with("parent_id", parent.clone());
    }
    let half = Unit { id: new_id.to_owned(), actions: right, members: curated(&members) };
    let at = plan.units.iter().position(|unit| unit.id == id).unwrap_or(plan.units.len());
    if let Some(unit) = plan.units.get_mut(at) {
        unit.actions = left;
        unit.members = curated(&unit.members);
    }
    plan.units.insert((at + 1).min(plan.units.len()), half);
    Ok(plan.write())
}

/// Drops a unit; its actions stay, and units inside it move up.
///
/// # Errors
/// [`CurateError`] when the unit does not exist.
pub fn drop(trace: &Value, id: &str) -> Result<Value, CurateError> {
    let mut plan = Plan::of(trace)?;
    let parent = plan.unit(id)?.members.get("parent_id").cloned();
    plan.units.retain(|unit| unit.id != id);
    for unit in &mut plan.units {
        if unit.members.get("parent_id").and_then(Value::as_str) == Some(id) {
            unit.members = match &parent {
                Some(parent) => unit.members.with("parent_id", parent.clone()),
                None => unit.members.without("parent_id"),
            };
        }
    }
    Ok(plan.write())
}

fn curated(members: &Object) -> Object {
    members.with("source", MetaSource::Curated)
}

struct Unit {
    id: String,
    actions: Vec<i64>,
    members: Object,
}

/// The units of a trace while they are changed.
struct Plan<'a> {
    trace: &'a Object,
    /// The place of each action.
    order: BTreeMap<i64, usize>,
    units: Vec<Unit>,
}

impl<'a> Plan<'a> {
    fn of(trace: &'a Value) -> Result<Self, CurateError> {
        let trace = trace.as_object().ok_or(CurateError::NotATrace)?;
        let items = |key: &str| trace.get(key).and_then(Value::as_array).unwrap_or(&[]);
        let ids = items("actions").iter().enumerate();
        let order = ids.filter_map(|(place, action)| Some((action.get("id")?.as_i64()?, place))).collect();
        let unit = |members: &Object| Unit {
            id: members.get("id").and_then(Value::as_str).unwrap_or("").to_owned(),
            actions: members
                .get("action_ids")
                .and_then(Value::as_array)
                .unwrap_or(&[])
                .iter()
                .filter_map(Value::as_i64)
                .collect(),
            members: members.clone(),
        };
        let units = items("meta_actions").iter().filter_map(Value::as_object).map(unit).collect();
        Ok(Self { trace, order, units })
    }

    fn unit(&self, id: &str) -> Result<&Unit, CurateError> {
        self.units.iter().find(|unit| unit.id == id).ok_or_else(|| CurateError::UnknownUnit(id.to_owned()))
    }

    fn parent(&self, id: &str) -> Option<&str> {
        self.unit(id).ok()?.members.get("parent_id").and_then(Value::as_str)
    }

    /// Returns the nearest unit around one that is not among `ids`.
    fn parent_outside(&self, id: &str, ids: &[&str]) -> Option<String> {
        let mut around = self.parent(id);
        // As many steps as there are units: a circle that is written down must not hold us.
        for _ in &self.units {
            match around {
                Some(parent) if ids.contains(&parent) => around = self.parent(parent),
                _ => break,
            }
        }
        around.filter(|parent| !ids.contains(parent)).map(str::to_owned)
    }

    /// Refuses a parent that does not exist or is inside the unit.
    fn check_parent(&self, unit: &str, parent: &str) -> Result<(), CurateError> {
        self.unit(parent)?;
        let mut around = Some(parent);
        for _ in 0..=self.units.len() {
            match around {
                Some(found) if found == unit => {
                    return Err(CurateError::Circle { unit: unit.to_owned(), parent: parent.to_owned() });
                }
                Some(found) => around = self.parent(found),
                None => break,
            }
        }
        Ok(())
    }

    /// Returns actions in the order of the trace, if they are a slice of it.
    fn slice(&self, ids: &[i64]) -> Result<Vec<i64>, CurateError> {
        let places: BTreeMap<usize, i64> =
            ids.iter().filter_map(|id| Some((*self.order.get(id)?, *id))).collect();
        let bounds = places.first_key_value().zip(places.last_key_value());
        match bounds {
            Some(((first, _), (last, _))) if last - first + 1 != places.len() => {
                Err(CurateError::NotContiguous)
            }
            _ => Ok(places.into_values().collect()),
        }
    }

    /// Joins what units produced and left open.
    fn gathered(&self, ids: &[&str]) -> [(&'static str, BTreeSet<String>); 2] {
        ["produced_artifact_ids", "residual_ids"].map(|key| {
            let units = self.units.iter().filter(|unit| ids.contains(&unit.id.as_str()));
            let lists = units.filter_map(|unit| unit.members.get(key)?.as_array());
            (key, lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect())
        })
    }

    fn write(&self) -> Value {
        let mut unit_of: BTreeMap<i64, &str> = BTreeMap::new();
        for unit in &self.units {
            unit_of.extend(unit.actions.iter().map(|action| (*action, unit.id.as_str())));
        }
        let actions = self.trace.get("actions").and_then(Value::as_array).unwrap_or(&[]);
        let placed = actions.iter().map(|action| {
            let Value::Object(members) = action else { return action.clone() };
            let unit = members.get("id").and_then(Value::as_i64).and_then(|id| unit_of.get(&id));
            match unit {
                Some(unit) => members.with("meta_action_id", *unit).into(),
                None if members.contains_key("meta_action_id") => members.without("meta_action_id").into(),
                None => action.clone(),
            }
        });
        let units = self
            .units
            .iter()
            .map(|unit| unit.members.with("action_ids", unit.actions.iter().copied().collect::<Value>()));
        self.trace
            .with("actions", placed.collect::<Value>())
            .with("meta_actions", units.collect::<Value>())
            .into()
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::validate::validate;

    fn trace() -> Value {
        let action = |id: i64, unit: &str| {
            format!(
                r#"{{"id": {id}, "category": "activity", "type": "Lint", "label": "l", "rationale": "r", "meta_action_id": "{unit}"}}"#
            )
        };
        let actions = [action(1, "m1"), action(2, "m1"), action(3, "m2"), action(4, "m2")].join(",");
        parse(
            format!(
                r#"{{"trace_id": "t", "spec_version": "1.6", "trigger": {{"type": "TaskReceived"}},
                    "outcome": {{"type": "ProcessCompleted"}}, "actions": [{actions}], "meta_actions": [
                    {{"id": "m1", "title": "one", "action_ids": [1, 2], "source": "plan_declared"}},
                    {{"id": "m2", "title": "two", "action_ids": [3, 4], "source": "turn_segmented", "parent_id": "m1"}}]}}"#
            )
            .as_bytes(),
        )
        .unwrap()
    }

    fn units(trace: &Value) -> Vec<String> {
        let units = trace.get("meta_actions").and_then(Value::as_array).unwrap();
        let word = |unit: &Value, key: &str| unit.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        units
            .iter()
            .map(|unit| {
                format!("{} {} {}", word(unit, "id"), unit.get("action_ids").unwrap(), word(unit, "source"))
            })
            .collect()
    }

    #[test]
    fn every_operation_gives_a_trace_without_findings() {
        let merged = merge(&trace(), &["m1", "m2"], "both").unwrap();
        assert_eq!(units(&merged), ["m1 [1,2,3,4] curated"]);
        let upwards = merge(&trace(), &["m2", "m1"], "both").unwrap();
        assert_eq!(units(&upwards), ["m2 [1,2,3,4] curated"]);
        let parted = split(&trace(), "m2", 4, ("m3", "three")).unwrap();
        assert_eq!(units(&parted), ["m1 [1,2] plan_declared", "m2 [3] curated", "m3 [4] curated"]);
        let dropped = drop(&trace(), "m1").unwrap();
        assert_eq!(units(&dropped), ["m2 [3,4] turn_segmented"]);
        let grouping =
            Grouping { id: "m1".into(), title: "first".into(), action_ids: vec![1], ..Grouping::default() };
        let narrowed = set(&trace(), &grouping).unwrap();
        assert_eq!(units(&narrowed), ["m1 [1] curated", "m2 [3,4] turn_segmented"]);
        for curated in [merged, upwards, parted, dropped, narrowed] {
            assert_eq!(validate(&curated).findings(), []);
            assert_eq!(curated.get("actions").and_then(Value::as_array).map(<[Value]>::len), Some(4));
        }
    }

    #[test]
    fn groupings_that_do_not_fit_are_refused() {
        let grouping = |ids: &[i64]| Grouping {
            id: "n".into(),
            title: "n".into(),
            action_ids: ids.to_vec(),
            ..Grouping::default()
        };
        assert_eq!(set(&trace(), &grouping(&[9])), Err(CurateError::UnknownAction(9)));
        let claimed = CurateError::Claimed { action: 1, unit: "m1".into() };
        assert_eq!(set(&trace(), &grouping(&[1])), Err(claimed));
        assert_eq!(split(&trace(), "m1", 1, ("x", "x")), Err(CurateError::NoDivision(1)));
        assert_eq!(split(&trace(), "m1", 2, ("m2", "x")), Err(CurateError::Taken("m2".into())));
        let inside = Grouping {
            parent_id: Some("m2".into()),
            id: "m1".into(),
            title: "t".into(),
            ..Grouping::default()
        };
        assert!(matches!(set(&trace(), &inside), Err(CurateError::Circle { .. })));
        assert_eq!(drop(&trace(), "x"), Err(CurateError::UnknownUnit("x".into())));
        let loose = drop(&drop(&trace(), "m1").unwrap(), "m2").unwrap();
        assert_eq!(set(&loose, &grouping(&[1, 3])), Err(CurateError::NotContiguous));
        assert_eq!(merge(&Value::Null, &[], "x"), Err(CurateError::NotATrace));
    }
}
