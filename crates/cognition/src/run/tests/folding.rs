//! The state is a fold of outcomes, and timing never shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::parse;
use proptest::prelude::*;

use super::world::{World, request, skill};
use crate::run::{
    Context, FoldError, Prepared, Progress, RunOptions, RunReport, RunRequest, SharedValues, StepOutcome,
    execute, run,
};
use crate::schedule::FailureMode;
use crate::skill::Step;
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

fn prepared() -> Prepared {
    Prepared::of(&skill("main", STEPS), &world()).unwrap()
}

fn given() -> RunRequest {
    RunRequest { options: options(), ..request("{}") }
}

fn context<'a>(world: &'a mut World, options: &'a RunOptions) -> Context<'a> {
    Context {
        capabilities: world,
        options,
        skill_id: "main".into(),
        lineage: ["main".into()].into(),
        run_id: None,
        path: "".into(),
        trace_id: None,
        idempotency_root: None,
        shared: SharedValues::default(),
        made: Vec::new(),
    }
}

/// Runs with many workers whose timing is given by `choices`: which of the steps under way ends next.
fn run_in_parallel(choices: &[usize]) -> RunReport {
    let (prepared, options) = (prepared(), options());
    let mut world = world();
    let mut progress = Progress::begin(&prepared, &given(), &world).unwrap();
    let mut context = context(&mut world, &options);
    let mut under_way: Vec<(&Step, Memory)> = Vec::new();
    let mut ended: BTreeMap<Arc<str>, StepOutcome> = BTreeMap::new();
    let mut choices = choices.iter().copied().cycle();
    loop {
        while let Some(step) = progress.start() {
            under_way.push((step, progress.state().memory.clone()));
        }
        if under_way.is_empty() {
            assert!(ended.is_empty());
            return progress.end();
        }
        let (step, snapshot) = under_way.swap_remove(choices.next().unwrap_or(0) % under_way.len());
        ended.insert(step.id.clone(), execute(step, &snapshot, &mut context).unwrap());
        while let Some(outcome) = progress.due().and_then(|due| ended.remove(&due.id)) {
            progress.settle(outcome).unwrap();
        }
    }
}

#[test]
fn a_run_taken_up_after_any_step_ends_the_same_and_repeats_nothing() {
    let (prepared, options) = (prepared(), options());
    let whole = run(&skill("main", STEPS), given(), &mut world());
    for kept in 0..=whole.outcomes.len() {
        let mut world = world();
        let mut progress = Progress::begin(&prepared, &given(), &world).unwrap();
        for outcome in &whole.outcomes[..kept] {
            let text = outcome.to_value().to_string();
            progress.take_in(StepOutcome::from_value(&json(&text)).unwrap()).unwrap();
        }
        let mut context = context(&mut world, &options);
        while let Some(step) = progress.start() {
            let outcome = execute(step, &progress.state().memory, &mut context).unwrap();
            progress.settle(outcome).unwrap();
        }
        let report = progress.end();
        assert_eq!(report.outcomes, whole.outcomes);
        assert_eq!(report.state, whole.state);
        let called: u64 = whole.outcomes[kept..].iter().flat_map(|outcome| outcome.called.values()).sum();
        assert_eq!(world.calls.len() as u64, called);
    }
}

#[test]
fn an_outcome_out_of_turn_is_refused() {
    let prepared = prepared();
    let whole = run(&skill("main", STEPS), given(), &mut world());
    let mut progress = Progress::begin(&prepared, &given(), &world()).unwrap();
    assert!(matches!(progress.take_in(whole.outcomes[1].clone()), Err(FoldError::OtherStep { .. })));
    let mut forged = whole.outcomes[0].clone();
    forged.commits = vec![json(r#"{"l": "not a list"}"#)];
    assert!(matches!(progress.take_in(forged), Err(FoldError::Write { .. })));
    whole.outcomes.iter().for_each(|outcome| {
        progress.take_in(outcome.clone()).unwrap();
    });
    assert!(matches!(progress.take_in(whole.outcomes[0].clone()), Err(FoldError::Ended { .. })));
}

proptest! {
    #[test]
    fn any_timing_of_many_workers_gives_what_one_worker_gives(choices in prop::collection::vec(0usize..9, 1..12)) {
        let serial = run(&skill("main", STEPS), given(), &mut world());
        let parallel = run_in_parallel(&choices);
        prop_assert_eq!(parallel.state, serial.state);
        prop_assert_eq!(parallel.outcomes, serial.outcomes);
    }
}
