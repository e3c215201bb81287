//! The calls a step is about to make, for a check before any of them is made.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::StepOutcome;
use super::flow::{evaluate, input_of, item_input};
use super::step::{blank, route};
use crate::expression::is_true;
use crate::skill::{Flow, Step, Uses};
use crate::state::Memory;

/// Returns a successful outcome with an empty output for each call that a step is about to make. The input of each is the
/// input of the call.
///
/// There is none for a step that makes no call: its condition does not hold, or its input cannot be made. Of a `while`
/// only the first call is known.
pub fn possible_outcomes(step: &Step, memory: &Memory) -> Vec<StepOutcome> {
    calls(step, memory).unwrap_or_default()
}

fn calls(step: &Step, memory: &Memory) -> Option<Vec<StepOutcome>> {
    if let Some(condition) = &step.control.condition
        && !is_true(&evaluate(condition, memory).ok()?)
    {
        return None;
    }
    let input = input_of(step, memory).ok()?;
    if let Flow::Scatter(scatter) = &step.control.flow {
        return Some(scatter.branches.iter().map(|uses| call(step, uses, input.clone())).collect());
    }
    let (uses, matched) = route(step, memory).ok()?;
    let routed = |outcome: StepOutcome| match &matched {
        Some(matched) => {
            StepOutcome { meta: outcome.meta.with("router_matched", matched.clone()), ..outcome }
        }
        None => outcome,
    };
    let Flow::Foreach(foreach) = &step.control.flow else {
        return Some(vec![routed(call(step, &uses, input))]);
    };
    let Value::Array(items) = evaluate(foreach.items(), memory).ok()? else { return None };
    let base = input.as_object().cloned().unwrap_or_default();
    let each = items.iter().enumerate().map(|(index, item)| {
        let outcome = call(step, &uses, item_input(foreach, &base, index, item));
        routed(StepOutcome { meta: outcome.meta.with("foreach_count", items.len()), ..outcome })
    });
    Some(each.collect())
}

fn call(step: &Step, uses: &Uses, input: Value) -> StepOutcome {
    let callee: Arc<str> = uses.to_string().into();
    let empty: Value = Object::new().into();
    StepOutcome {
        input,
        produced: Some(empty.clone()),
        commits: vec![empty],
        called: [(callee, 1)].into(),
        ..blank(step)
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::skill::Skill;

    fn inputs(step: &str) -> Vec<String> {
        let document = format!(
            r#"{{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": [{step}]}}"#
        );
        let skill = Skill::read(&parse(document.as_bytes()).unwrap()).skill.unwrap();
        let memory = parse(br#"{"inputs": {"path": "a", "paths": ["b", "c"], "go": false}}"#).unwrap();
        let memory = Memory::from_blocks(&memory).unwrap();
        let outcomes = possible_outcomes(skill.steps.first().unwrap(), &memory);
        for outcome in &outcomes {
            assert_eq!(&StepOutcome::from_value(&outcome.to_value()).unwrap(), outcome);
        }
        let shown = |outcome: &StepOutcome| {
            let called: Vec<&str> = outcome.called.keys().map(|id| &**id).collect();
            format!("{} {}", called.join(","), outcome.input)
        };
        outcomes.iter().map(shown).collect()
    }

    #[test]
    fn every_call_is_known_with_its_input() {
        assert_eq!(
            inputs(r#"{"id": "a", "uses": "rm", "input": {"path": "inputs.path"}}"#),
            [r#"rm {"path":"a"}"#]
        );
        assert_eq!(
            inputs(
                r#"{"id": "a", "uses": "rm", "config": {"foreach": {"items": "inputs.paths", "as": "path"}}}"#
            ),
            [r#"rm {"path":"b"}"#, r#"rm {"path":"c"}"#]
        );
        assert_eq!(
            inputs(r#"{"id": "a", "uses": "x", "config": {"scatter": {"capabilities": ["rm", "mv"]}}}"#),
            ["rm {}", "mv {}"]
        );
        assert_eq!(
            inputs(
                r#"{"id": "a", "uses": "x", "config": {"router": {"on": "inputs.path", "cases": {"a": "rm", "b": "mv"}}}}"#
            ),
            ["rm {}"]
        );
    }

    #[test]
    fn a_step_that_calls_nothing_has_no_calls() {
        for step in [
            r#"{"id": "a", "uses": "rm", "config": {"condition": "inputs.go"}}"#,
            r#"{"id": "a", "uses": "rm", "input": {"path": "vars.missing"}}"#,
            r#"{"id": "a", "uses": "x", "config": {"router": {"on": "inputs.path", "cases": {"b": "mv"}}}}"#,
            r#"{"id": "a", "uses": "rm", "config": {"foreach": {"items": "inputs.path"}}}"#,
        ] {
            assert_eq!(inputs(step), Vec::<String>::new(), "{step}");
        }
    }
}
