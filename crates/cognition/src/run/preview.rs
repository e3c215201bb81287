//! The calls a step is about to make, for a check before any of them is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::flow::{evaluate, input_of, item_input, write};
use super::step::{blank, route};
use super::{CallError, Effect, MadeCall, Reply, StepOutcome, call_position};
use crate::expression::is_true;
use crate::failure::{ErrorClass, Failure};
use crate::skill::{Flow, ScatterMerge, Step, Uses};
use crate::state::{Memory, StepStatus};

/// A call that a step is about to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PossibleCall {
    /// Which of several calls of the step it is, for a message: `item 2`, or nothing.
    pub position: String,
    /// A successful outcome of the step with an empty output, as if this call were its last. Its input is the input of the
    /// call; `called` counts the calls of the step before it, too.
    pub outcome: StepOutcome,
}

/// Returns the calls that a step is about to make, as far as they are known before the first.
///
/// There is none for a step that makes no call: its condition does not hold, or its input cannot be made. Of a `while`
/// only the first call is known, and of each call only the first attempt.
pub fn possible_calls(step: &Step, memory: &Memory) -> Vec<PossibleCall> {
    calls(step, memory).unwrap_or_default()
}

/// Whether a call has been made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallStage {
    /// It was made: its reply is known.
    Made,
    /// It is about to be made.
    Next,
}

/// Returns the outcome of a step as if one call were its only one, whether the step, a gate or a nested skill makes it.
///
/// Before a call of a nested run the outcome lists the answers of people in that run, which are among `earlier`.
pub fn one_call(
    step: &Step,
    memory: &Memory,
    earlier: &[MadeCall],
    one: &MadeCall,
    stage: CallStage,
) -> StepOutcome {
    let reply = match stage {
        CallStage::Made => one.reply.clone(),
        CallStage::Next => Ok(Reply { output: Object::new().into(), meta: Object::new() }),
    };
    // The attempts before it are calls of their own.
    let listed = MadeCall { reply: reply.clone(), begun: 0, ..one.clone() };
    let outcome = call(step, &Uses::Capability(one.capability.clone()), one.input.clone(), 1);
    let meta = outcome.meta.clone();
    let meta = match route(step, memory) {
        Ok((_, Some(matched))) => meta.with("router_matched", matched),
        _ => meta,
    };
    let meta = match first_count(step, memory, one) {
        Some(count) => meta.with("foreach_count", count),
        None => meta,
    };
    let outcome = StepOutcome { meta, ..outcome };
    if !one.is_own_call_of(&step.id) {
        let path = one.place().path;
        let is_answer = |call: &&MadeCall| call.effect == Effect::Asks && call.place().path == path;
        let answers = earlier.iter().filter(|_| !path.is_empty()).filter(is_answer).cloned();
        let calls = answers.chain([listed]).collect();
        return StepOutcome { called: BTreeMap::new(), calls, ..outcome };
    }
    let outcome = StepOutcome { calls: vec![listed], ..outcome };
    match reply {
        Ok(reply) => {
            StepOutcome { produced: Some(reply.output.clone()), commits: vec![reply.output], ..outcome }
        }
        Err(error) => {
            let message = format_args!("`{}`: {error}", one.capability);
            outcome.failed(Failure::new(ErrorClass::CapabilityExecution, message))
        }
    }
}

/// Returns the number of items of a loop, for its first call: the decision to go through them comes before it.
fn first_count(step: &Step, memory: &Memory, one: &MadeCall) -> Option<usize> {
    if one.item > 0 {
        return None;
    }
    item_count(step, memory)
}

/// Returns the number of items that a step goes through; `None` when it is no loop over items.
pub fn item_count(step: &Step, memory: &Memory) -> Option<usize> {
    let Flow::Foreach(foreach) = &step.control.flow else { return None };
    evaluate(foreach.items(), memory).ok()?.as_array().map(<[Value]>::len)
}

/// Returns whether an outcome is that of one call of a step which has not ended yet.
pub fn is_proposed(outcome: &StepOutcome) -> bool {
    outcome.meta.contains_key(PROPOSED_KEY)
}

/// The member of `meta` that marks the outcome of one call of a step which has not ended yet. No record has it.
const PROPOSED_KEY: &str = "proposed";

/// A call that a step made, as far as its outcome tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallMade {
    /// The callee: a capability, or `skill:` and a skill.
    pub callee: Arc<str>,
    /// The input.
    pub input: Value,
    /// The output, or the failure; `None` when the outcome does not tell.
    pub output: Option<Result<Value, CallError>>,
    /// The call as the record lists it, where it does.
    pub listed: Option<MadeCall>,
}

/// Returns the calls that a step made itself, in order. `memory` is the memory before the step.
///
/// Each time that an undecided call was begun again is a call of its own.
/// A step in trouble lists them. Of any other they follow from its input, its loop and its output.
pub fn calls_made(step: &Step, memory: &Memory, outcome: &StepOutcome) -> Vec<CallMade> {
    let is_listed = is_proposed(outcome) || outcome.lists_calls();
    let listed = outcome.calls.iter().filter(|call| is_listed && call.is_own_call_of(&step.id));
    let listed: Vec<CallMade> = listed
        .flat_map(MadeCall::each_begun)
        .map(|call| CallMade {
            callee: call.capability.clone(),
            input: call.input.clone(),
            output: Some(call.reply.clone().map(|reply| reply.output)),
            listed: Some(call),
        })
        .collect();
    if is_proposed(outcome) {
        return listed;
    }
    if let Flow::Scatter(scatter) = &step.control.flow {
        // Calls of pure branches are not listed.
        let branch = |uses: &Uses| {
            let callee: Arc<str> = uses.to_string().into();
            let own: Vec<CallMade> = listed.iter().filter(|call| call.callee == callee).cloned().collect();
            match own.is_empty() && outcome.called.contains_key(&callee) {
                true => {
                    let output = outcome.produced.as_ref().and_then(|produced| produced.get(&callee));
                    let output = output.filter(|_| scatter.merge == ScatterMerge::Collect).cloned().map(Ok);
                    vec![CallMade { callee, input: outcome.input.clone(), output, listed: None }]
                }
                false => own,
            }
        };
        return scatter.branches.iter().flat_map(branch).collect();
    }
    if !listed.is_empty() || outcome.status != StepStatus::Completed {
        return listed;
    }
    derived(step, memory, outcome).unwrap_or_default()
}

/// Returns the calls of a step that had no trouble.
fn derived(step: &Step, memory: &Memory, outcome: &StepOutcome) -> Option<Vec<CallMade>> {
    let (uses, _) = route(step, memory).ok()?;
    let callee: Arc<str> = uses.to_string().into();
    let made = |input: Value, output: Option<Value>| CallMade {
        callee: callee.clone(),
        input,
        output: output.map(Ok),
        listed: None,
    };
    match &step.control.flow {
        Flow::Foreach(_) => {
            let inputs = possible_calls(step, memory).into_iter().map(|call| call.outcome.input);
            let produced = outcome.produced.as_ref().and_then(Value::as_object);
            let output = |index: usize| -> Option<Value> {
                let members = produced?.iter().filter_map(|(key, values)| {
                    let value = values.as_array()?.get(index).filter(|value| !value.is_null())?;
                    Some((key.clone(), value.clone()))
                });
                Some(members.collect::<Object>().into())
            };
            Some(inputs.enumerate().map(|(index, input)| made(input, output(index))).collect())
        }
        Flow::While(_) => {
            let mut seen = memory.clone();
            let mut rounds = Vec::new();
            for commit in &outcome.commits {
                rounds.push(made(input_of(step, &seen).ok()?, Some(commit.clone())));
                seen = write(step, &seen, commit).ok()?;
            }
            Some(rounds)
        }
        Flow::Once | Flow::Scatter(_) => Some(vec![made(outcome.input.clone(), outcome.produced.clone())]),
    }
}

fn calls(step: &Step, memory: &Memory) -> Option<Vec<PossibleCall>> {
    if let Some(condition) = &step.control.condition
        && !is_true(&evaluate(condition, memory).ok()?)
    {
        return None;
    }
    let input = input_of(step, memory).ok()?;
    let placed = |item: usize, outcome: StepOutcome| PossibleCall {
        position: call_position(step, 0, item as u64, 1),
        outcome,
    };
    if let Flow::Scatter(scatter) = &step.control.flow {
        let branches = scatter.branches.iter().enumerate().map(|(item, uses)| {
            let before = scatter.branches.iter().take(item).filter(|branch| *branch == uses).count();
            placed(item, call(step, uses, input.clone(), before + 1))
        });
        return Some(branches.collect());
    }
    let (uses, matched) = route(step, memory).ok()?;
    let routed = |outcome: StepOutcome| match &matched {
        Some(matched) => {
            StepOutcome { meta: outcome.meta.with("router_matched", matched.clone()), ..outcome }
        }
        None => outcome,
    };
    let Flow::Foreach(foreach) = &step.control.flow else {
        return Some(vec![placed(0, routed(call(step, &uses, input, 1)))]);
    };
    let Value::Array(items) = evaluate(foreach.items(), memory).ok()? else { return None };
    let base = input.as_object().cloned().unwrap_or_default();
    let each = items.iter().enumerate().map(|(index, item)| {
        let outcome = call(step, &uses, item_input(foreach, &base, index, item), index + 1);
        let outcome =
            routed(StepOutcome { meta: outcome.meta.with("foreach_count", items.len()), ..outcome });
        placed(index, outcome)
    });
    Some(each.collect())
}

/// Returns the outcome of a step that has made a call `times` times.
fn call(step: &Step, uses: &Uses, input: Value, times: usize) -> StepOutcome {
    let callee: Arc<str> = uses.to_string().into();
    let empty: Value = Object::new().into();
    StepOutcome {
        input,
        produced: Some(empty.clone()),
        commits: vec![empty],
        called: [(callee, times as u64)].into(),
        meta: Object::from_iter([(PROPOSED_KEY, true)]),
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
        let outcomes = possible_calls(skill.steps.first().unwrap(), &memory);
        for PossibleCall { outcome, .. } in &outcomes {
            assert_eq!(&StepOutcome::from_value(&outcome.to_value()).unwrap(), outcome);
        }
        let shown = |PossibleCall { position, outcome }: &PossibleCall| {
            let called = outcome.called.iter().map(|(id, times)| format!("{id}*{times}"));
            let position = if position.is_empty() { String::new() } else { format!("{position}: ") };
            format!("{position}{} {}", called.collect::<Vec<_>>().join(","), outcome.input)
        };
        outcomes.iter().map(shown).collect()
    }

    #[test]
    fn every_call_is_known_with_its_input() {
        assert_eq!(
            inputs(r#"{"id": "a", "uses": "rm", "input": {"path": "inputs.path"}}"#),
            [r#"rm*1 {"path":"a"}"#]
        );
        assert_eq!(
            inputs(
                r#"{"id": "a", "uses": "rm", "config": {"foreach": {"items": "inputs.paths", "as": "path"}}}"#
            ),
            [r#"item 0: rm*1 {"path":"b"}"#, r#"item 1: rm*2 {"path":"c"}"#]
        );
        assert_eq!(
            inputs(r#"{"id": "a", "uses": "x", "config": {"scatter": {"capabilities": ["rm", "mv"]}}}"#),
            ["branch 0: rm*1 {}", "branch 1: mv*1 {}"]
        );
        assert_eq!(
            inputs(
                r#"{"id": "a", "uses": "x", "config": {"router": {"on": "inputs.path", "cases": {"a": "rm", "b": "mv"}}}}"#
            ),
            ["rm*1 {}"]
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
