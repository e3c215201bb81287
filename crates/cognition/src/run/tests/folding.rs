//! The state is a fold of outcomes, and timing never shows.

use std::collections::BTreeMap;

use hence_canon::parse;
use proptest::prelude::*;

use super::world::{World, request, skill};
use crate::plan::{Plan, StepIndex};
use crate::run::{Context, RunOptions, StepOutcome, execute, run, settle};
use crate::schedule::{FailureMode, Schedule};
use crate::state::{ExecutionState, Frame, Memory};
use crate::testing::json;

const STEPS: &str = r#"[
    {"id": "a", "uses": "list", "output": {"l": "working.evidence"}, "config": {"depends_on": [], "merge_strategy": "append"}},
    {"id": "b", "uses": "list", "output": {"l": "working.evidence"}, "config": {"depends_on": [], "merge_strategy": "append"}},
    {"id": "c", "uses": "c", "input": {"e": "working.evidence"}, "output": {"echo": "vars.c"}, "config": {"depends_on": []}},
    {"id": "d", "uses": "map", "output": {"m": "extensions.p.q"}, "config": {"depends_on": ["a"], "merge_strategy": "deep_merge"}},
    {"id": "e", "uses": "map", "output": {"m": "extensions.p"}, "config": {"depends_on": ["b"], "merge_strategy": "deep_merge",
        "while": {"condition": "true", "max_iterations": 2}}},
    {"id": "f", "uses": "bad", "input": {"x": "extensions.p"}, "config": {"depends_on": []}},
    {"id": "g", "uses": "c", "input": {"x": "vars.c"}, "output": {"echo": "outputs.g"}, "config": {"depends_on": ["d", "e"]}},
    {"id": "h", "uses": "c", "config": {"condition": "outputs.g == null"}},
    {"id": "i", "uses": "c", "config": {"depends_on": ["f"]}}]"#;

fn world() -> World {
    World::default()
        .with("c", "{}", &[])
        .with("list", "{}", &[r#"{"l": [1, 2]}"#])
        .with("map", "{}", &[r#"{"m": {"k": [1]}}"#])
        .with("bad", "{}", &["!no"])
}

fn options() -> RunOptions {
    RunOptions { on_failure: FailureMode::Continue, ..RunOptions::default() }
}

#[test]
fn outcomes_survive_being_written_down_and_fold_into_the_same_state() {
    let skill = skill("main", STEPS);
    let mut given = request(r#"{"t": 1}"#);
    given.options = options();
    let report = run(&skill, given, &mut world());
    assert_eq!(report.outcomes.len(), 8);
    let mut memory = Memory::new(json(r#"{"t": 1}"#).as_object().unwrap().clone(), Frame::default());
    let mut folded = ExecutionState::new("main".into(), memory.inputs().clone(), Frame::default());
    for outcome in &report.outcomes {
        let text = outcome.to_value().to_string();
        let read = StepOutcome::from_value(&parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(&read, outcome);
        folded.fold(skill.step(&read.step_id).unwrap(), read).unwrap();
        memory = folded.memory.clone();
    }
    assert_eq!(memory, report.state.memory);
    assert_eq!(folded.trace, report.state.trace);
    let executed = report.state.step_results.len() - 1;
    assert_eq!(folded.step_results, report.state.step_results[..executed]);
}

#[test]
fn an_outcome_of_another_skill_is_refused() {
    let report = run(&skill("main", STEPS), request("{}"), &mut world());
    let other = skill("other", r#"[{"id": "z", "uses": "c"}]"#);
    let mut state = ExecutionState::new("other".into(), Default::default(), Frame::default());
    assert!(state.fold(&other.steps[0], report.outcomes[0].clone()).is_err());
    for text in ["[]", "{}", r#"{"step_id": "a", "uses": "c", "status": "odd"}"#] {
        assert!(StepOutcome::from_value(&json(text)).is_err(), "{text}");
    }
}

/// Runs with many workers whose timing is given by `choices`: which of the steps under way ends next.
fn run_in_parallel(choices: &[usize]) -> (Memory, Vec<StepOutcome>) {
    let skill = skill("main", STEPS);
    let plan = Plan::of(&skill).unwrap();
    let options = options();
    let mut world = world();
    let mut context = Context {
        capabilities: &mut world,
        options: &options,
        skill_id: skill.id.clone(),
        lineage: vec![skill.id.clone()],
        run_id: None,
        trace_id: None,
    };
    let mut schedule = Schedule::new(&plan, options.on_failure);
    let mut memory = Memory::default();
    let mut under_way: Vec<(StepIndex, Memory)> = Vec::new();
    let mut ended: BTreeMap<StepIndex, StepOutcome> = BTreeMap::new();
    let mut outcomes = Vec::new();
    let mut choices = choices.iter().copied().cycle();
    loop {
        while let Some(step) = schedule.start() {
            under_way.push((step, memory.clone()));
        }
        if under_way.is_empty() && ended.is_empty() {
            return (memory, outcomes);
        }
        if !under_way.is_empty() {
            let (index, snapshot) = under_way.swap_remove(choices.next().unwrap_or(0) % under_way.len());
            ended.insert(index, execute(&skill.steps[index.position()], &snapshot, &mut context));
        }
        while let Some(outcome) = schedule.due().and_then(|due| ended.remove(&due)) {
            let step = skill.steps.iter().find(|step| step.id == outcome.step_id).unwrap();
            let settled = settle(step, outcome, &memory);
            memory = settled.memory;
            schedule.settle(settled.outcome.status);
            outcomes.push(settled.outcome);
        }
    }
}

proptest! {
    #[test]
    fn any_timing_of_many_workers_gives_what_one_worker_gives(choices in prop::collection::vec(0usize..9, 1..12)) {
        let mut given = request("{}");
        given.options = options();
        let serial = run(&skill("main", STEPS), given, &mut world());
        let (memory, outcomes) = run_in_parallel(&choices);
        prop_assert_eq!(memory, serial.state.memory);
        prop_assert_eq!(outcomes, serial.outcomes);
    }
}
