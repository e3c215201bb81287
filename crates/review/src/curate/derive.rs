//! Units derived from what the trace records: its plans, or the turns of its conversation.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::vocabulary::{ActionType, ActivityType, ArtifactType, MetaSource, TargetType};
use crate::wire::{Action, Trace};

use super::{CurateError, Plan, Unit};

/// The basis that units are derived from, which each unit names in its `source`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitBasis {
    /// Planning actions: a unit begins with each, and ends before the next (`plan_declared`).
    Plan,
    /// The words of the user: a unit begins where an instruction is first followed or an answer was asked for
    /// (`turn_segmented`).
    Turns,
}

/// Longest title, in characters: a title is read in lists.
const TITLE_CHARS_MAX: usize = 80;

/// Derives units for actions that belong to none; units that are there stay as they are.
///
/// # Errors
/// [`CurateError::NoBasis`] when the trace records no plan, or no turns.
pub fn derive(trace: &Value, basis: UnitBasis) -> Result<Value, CurateError> {
    let mut plan = Plan::of(trace)?;
    let read = Trace::read(trace);
    let begins = match basis {
        UnitBasis::Plan => plans(&read),
        UnitBasis::Turns => turns(&read),
    };
    if begins.iter().all(Option::is_none) {
        return Err(CurateError::NoBasis(match basis {
            UnitBasis::Plan => "planning action",
            UnitBasis::Turns => "user instruction",
        }));
    }
    let grouped: BTreeSet<i64> = plan.units.iter().flat_map(|unit| unit.actions.iter().copied()).collect();
    let mut segments: Vec<(String, Vec<&Action>)> = Vec::new();
    let mut is_running = false;
    for (action, begin) in read.actions().iter().zip(begins) {
        // An action that belongs to a unit, or that has no id of its own to be named by, ends a segment.
        let is_free = action.id().is_some_and(|id| {
            !grouped.contains(&id)
                && read.action_by_id(id).is_some_and(|first| first.position() == action.position())
        });
        match begin {
            Some(title) if is_free => segments.push((title, vec![action])),
            _ if is_free && is_running => {
                if let Some((_, members)) = segments.last_mut() {
                    members.push(action);
                }
            }
            _ => {}
        }
        is_running = is_free && !segments.is_empty();
    }
    let source = match basis {
        UnitBasis::Plan => MetaSource::PlanDeclared,
        UnitBasis::Turns => MetaSource::TurnSegmented,
    };
    for (title, members) in segments {
        let unit = unit(&read, &plan, source, &title, &members);
        plan.units.push(unit);
    }
    // Units are in the order of their first actions.
    plan.units.sort_by_key(|unit| {
        unit.actions.first().and_then(|id| plan.order.get(id).copied()).unwrap_or(usize::MAX)
    });
    Ok(plan.write())
}

/// For each action: the title of the unit that a plan makes begin there.
fn plans(trace: &Trace) -> Vec<Option<String>> {
    let title = |action: &Action| {
        let is_planning = matches!(
            action.action_type(),
            Some(ActionType::Activity(ActivityType::FormulatePlan | ActivityType::DecomposeTask))
        );
        let plan = action.outputs().filter_map(|id| trace.artifact_by_id(id));
        let plan = plan.filter(|artifact| artifact.is(ArtifactType::Plan)).map(|artifact| artifact.about());
        let said = plan.chain([action.label(), action.rationale()]).find(|text| !text.trim().is_empty());
        is_planning.then(|| said.unwrap_or("").to_owned())
    };
    trace.actions().iter().map(title).collect()
}

/// For each action: the title of the unit that a turn of the user makes begin there.
fn turns(trace: &Trace) -> Vec<Option<String>> {
    let mut heard: BTreeSet<&str> = BTreeSet::new();
    let mut asked: Option<&Action> = None;
    let mut begins = Vec::with_capacity(trace.actions().len());
    for action in trace.actions() {
        let mut fresh = None;
        for id in action.inputs().chain(action.outputs()) {
            let said = trace.artifact_by_id(id).filter(|artifact| artifact.is(ArtifactType::UserInstruction));
            if let Some(said) = said.filter(|_| heard.insert(id)) {
                fresh.get_or_insert(said.about());
            }
        }
        let answered = asked.map(Action::label);
        begins.push(fresh.or(answered).map(str::to_owned));
        let is_question = action.action_type() == Some(ActionType::Activity(ActivityType::AskUser));
        asked = is_question.then_some(action);
    }
    // Actions before the first instruction belong to the task the trace began with.
    let has_turns = begins.iter().any(Option::is_some);
    if let Some(first @ None) = begins.first_mut().filter(|_| has_turns) {
        let trigger = trace.trigger();
        let task = trigger.as_ref().and_then(|event| event.text("description").or(event.text("summary")));
        *first = Some(task.unwrap_or("").to_owned());
    }
    begins
}

fn unit(trace: &Trace, plan: &Plan<'_>, source: MetaSource, title: &str, members: &[&Action]) -> Unit {
    let actions: Vec<i64> = members.iter().filter_map(|action| action.id()).collect();
    let (first, last) = (actions.first().copied().unwrap_or(0), actions.last().copied().unwrap_or(0));
    let mut id = format!("unit-{first}");
    while plan.units.iter().any(|unit| unit.id == id) {
        id.push('\'');
    }
    let flat = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = flat.chars().take(TITLE_CHARS_MAX).collect();
    let title = if short.is_empty() { format!("actions {first} to {last}") } else { short };
    let produced: Vec<&str> = members.iter().flat_map(|action| action.outputs()).collect();
    let produced: Vec<&str> = produced.into_iter().filter(|id| trace.artifact_by_id(id).is_some()).collect();
    let members = Object::from_iter([
        ("id", Value::from(id.as_str())),
        ("title", title.into()),
        ("source", source.into()),
        ("residual_ids", residuals(trace, &actions, &produced)),
        ("produced_artifact_ids", produced.into_iter().collect()),
    ]);
    Unit { id, actions, members }
}

/// The gaps that were introduced by these actions, or are about them or what they made.
fn residuals(trace: &Trace, actions: &[i64], produced: &[&str]) -> Value {
    let found = trace.residuals().filter(|residual| {
        let introduced = residual.int("introduced_by_action_id").is_some_and(|id| actions.contains(&id));
        let about = residual.target().is_some_and(|target| {
            let id = target.target_id().unwrap_or("");
            match target.target_type() {
                Some(TargetType::Action) => id.parse().is_ok_and(|id: i64| actions.contains(&id)),
                Some(TargetType::Artifact) => produced.contains(&id),
                _ => false,
            }
        });
        introduced || about
    });
    found.filter_map(|residual| residual.id().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::validate::validate;

    fn trace() -> Value {
        let action = |id: i64, kind: &str, more: &str| {
            format!(
                r#"{{"id": {id}, "category": "activity", "type": "{kind}", "label": "step {id}", "rationale": "r"{more}}}"#
            )
        };
        let actions = [
            action(1, "ReadFile", ""),
            action(2, "FormulatePlan", r#", "inputs": ["u1"], "outputs": ["p"]"#),
            action(3, "EditFile", r#", "outputs": ["d"]"#),
            action(4, "DecomposeTask", ""),
            action(5, "AskUser", ""),
            action(6, "Lint", ""),
        ];
        parse(
            format!(
                r#"{{"trace_id": "t", "spec_version": "1.6", "trigger": {{"type": "TaskReceived", "description": "mend it"}},
                "outcome": {{"type": "ProcessCompleted"}}, "actions": [{}],
                "artifacts": [{{"artifact_id": "u1", "artifact_type": "UserInstruction", "summary": "first read, then mend", "producer_action_id": 1}},
                    {{"artifact_id": "p", "artifact_type": "Plan", "summary": "three steps", "producer_action_id": 2}},
                    {{"artifact_id": "d", "artifact_type": "Diff", "producer_action_id": 3}}],
                "residuals": [{{"residual_id": "r", "kind": "limitation", "statement": "s", "severity": "low", "status": "open",
                    "source": "agent_declared", "target": {{"target_type": "artifact", "target_id": "d"}}}}]}}"#,
                actions.join(",")
            )
            .replace(r#""label": "step 1", "rationale": "r""#, r#""label": "step 1", "rationale": "r", "outputs": ["u1"]"#)
            .as_bytes(),
        )
        .unwrap()
    }

    fn units(value: &Value) -> Vec<String> {
        let units = value.get("meta_actions").and_then(Value::as_array).unwrap();
        let word = |unit: &Value, key: &str| unit.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        units
            .iter()
            .map(|unit| {
                format!(
                    "{} {} {}",
                    word(unit, "title"),
                    unit.get("action_ids").unwrap(),
                    word(unit, "source")
                )
            })
            .collect()
    }

    #[test]
    fn units_follow_plans_or_turns_and_say_which() {
        let planned = derive(&trace(), UnitBasis::Plan).unwrap();
        assert_eq!(units(&planned), ["three steps [2,3] plan_declared", "step 4 [4,5,6] plan_declared"]);
        let turned = derive(&trace(), UnitBasis::Turns).unwrap();
        let expected = ["first read, then mend [1,2,3,4,5] turn_segmented", "step 5 [6] turn_segmented"];
        assert_eq!(units(&turned), expected);
        for value in [&planned, &turned] {
            assert_eq!(validate(value).errors().count(), 0, "{:?}", validate(value).findings());
        }
        let first = planned.get("meta_actions").unwrap().at(0).unwrap();
        assert_eq!(first.get("residual_ids").unwrap().to_string(), r#"["r"]"#);
        assert_eq!(first.get("produced_artifact_ids").unwrap().to_string(), r#"["p","d"]"#);
    }

    #[test]
    fn units_that_are_there_stay_and_nothing_is_invented() {
        let planned = derive(&trace(), UnitBasis::Plan).unwrap();
        let both = derive(&planned, UnitBasis::Turns).unwrap();
        assert_eq!(units(&both).len(), 3);
        assert_eq!(units(&both)[0], "first read, then mend [1] turn_segmented");
        let silent = parse(br#"{"trace_id": "t", "actions": [{"id": 1, "type": "Lint"}]}"#).unwrap();
        assert_eq!(derive(&silent, UnitBasis::Plan), Err(CurateError::NoBasis("planning action")));
        assert_eq!(derive(&silent, UnitBasis::Turns), Err(CurateError::NoBasis("user instruction")));
    }
}
