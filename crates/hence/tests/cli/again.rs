//! Running again: a new run each time, unless the run is named.

use std::collections::BTreeSet;

use hence_testkit::cli::{World, assert_unchanged, problem};
use serde_json::json;

const COUNTING: &str = "\
capabilities:
  count.up:
    description: Leave a line
    effects: writes
    input: {type: object}
    output: {type: object}
    provider: {kind: command, command: [sh, -c, 'cat >/dev/null; echo x >>calls; echo \"{}\"']}
";

const SKILL: &str = "\
id: tidy.up
name: tidy
version: 1.0.0
description: Count
inputs: {n: {type: integer}}
outputs: {}
steps:
  - {id: count, uses: count.up, input: {n: inputs.n}, output: {}}
";

fn world() -> World {
    let world = World::new();
    world.write("capabilities.yaml", COUNTING).write("skill.yaml", SKILL);
    world
}

const RUN: [&str; 6] = ["run", "skill.yaml", "--input", "n=1", "--capabilities", "capabilities.yaml"];

fn calls(world: &World) -> usize {
    std::fs::read_to_string(world.path("calls")).map_or(0, |text| text.lines().count())
}

fn run(world: &World, more: &[&str]) -> (i32, serde_json::Value) {
    let answer = world.ask(&[&RUN[..], more, &["--json"]].concat());
    assert!(!answer.stdout.is_empty(), "{}", answer.stderr);
    (answer.code, answer.json())
}

#[test]
fn a_skill_starts_a_new_run_each_time() {
    let world = world();
    let mut ids = BTreeSet::new();
    for round in 1..=3 {
        let (code, report) = run(&world, &[]);
        assert_eq!((code, report["start"].as_str()), (0, Some("created")));
        let id = report["run"].as_str().unwrap().to_owned();
        assert!(id.starts_with("tidy.up-"), "{id}");
        assert!(ids.insert(id), "{ids:?}");
        assert_eq!(calls(&world), round);
    }
    let (_, report) = run(&world, &["--fresh"]);
    assert!(ids.insert(report["run"].as_str().unwrap().to_owned()));
    assert_eq!(calls(&world), 4);
}

#[test]
fn a_skill_under_a_named_id_is_executed_once() {
    let world = world();
    assert_eq!(run(&world, &["--run-id", "r"]).1["start"], "created");
    let before = world.stored();
    let answer = world.ask(&[&RUN[..], &["--run-id", "r"]].concat());
    assert_eq!(answer.code, 0);
    assert!(answer.stderr.contains("run r: already completed; nothing was run again"), "{}", answer.stderr);
    assert_eq!(run(&world, &["--run-id", "r"]).1["start"], "already_ended");
    assert_unchanged(&before, &world.stored());
    assert_eq!(calls(&world), 1);
    // --fresh numbers it.
    assert_eq!(run(&world, &["--run-id", "r", "--fresh"]).1["run"], "r-2");
    assert_eq!(run(&world, &["--run-id", "r", "--fresh"]).1["run"], "r-3");
    assert_eq!(calls(&world), 3);
    // Other inputs under the same id are refused.
    let other =
        ["run", "skill.yaml", "--input", "n=2", "--capabilities", "capabilities.yaml", "--run-id", "r"];
    assert!(world.refused(&other).contains("E0204"));
    assert_eq!(calls(&world), 3);
}

#[test]
fn a_failed_run_that_is_named_stays_failed_and_says_what_to_do() {
    let world = world();
    world.write("capabilities.yaml", COUNTING.replace("echo \"{}\"", "exit 3"));
    assert_eq!(run(&world, &["--run-id", "r"]).0, 1);
    let answer = world.ask(&[&RUN[..], &["--run-id", "r"]].concat());
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("run r: already failed; nothing was run again"), "{}", answer.stderr);
    assert!(answer.stderr.contains("`hence retry r` continues it"), "{}", answer.stderr);
    assert_eq!(calls(&world), 1);
    let (code, report) = run(&world, &[]);
    assert_eq!(
        (code, report["status"].as_str(), report["start"].as_str()),
        (1, Some("failed"), Some("created"))
    );
    assert_eq!(calls(&world), 2);
}

#[test]
fn a_problem_starts_a_new_run_each_time_and_numbers_it() {
    let world = World::with_run("refund-42");
    let first = world.journal("refund-42");
    let answer = world.ask(&["run", "problem.json"]);
    assert_eq!(answer.code, 0);
    assert!(
        answer.stderr.contains("refund-42-2 is a new run, because refund-42 exists; `--run-id refund-42`"),
        "{}",
        answer.stderr
    );
    let third = world.ask(&["run", "problem.json", "--json"]).json();
    assert_eq!((&third["run"], &third["start"]), (&json!("refund-42-3"), &json!("created")));
    assert_eq!(world.journal("refund-42"), first);
    for run in ["refund-42", "refund-42-2", "refund-42-3"] {
        assert_eq!(world.ask(&["verify", run]).code, 0, "{run}");
    }
    // Another problem with the same id is a run of its own as well.
    let mut other = problem("refund-42");
    other["inputs"]["prompt"] = json!("Which other one?");
    world.write("other.json", other.to_string());
    assert_eq!(world.ask(&["run", "other.json", "--json"]).json()["run"], "refund-42-4");
}

#[test]
fn processes_that_start_at_once_get_a_run_each() {
    let world = World::new();
    world.write("problem.json", problem("same").to_string());
    let children: Vec<_> =
        (0..6).map(|_| world.command(&["run", "problem.json", "--json"]).spawn().unwrap()).collect();
    let ids: BTreeSet<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(report["start"], "created");
            report["run"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids.len(), 6);
    assert!(ids.contains("same") && ids.contains("same-2"), "{ids:?}");
}

#[test]
fn a_misspelt_setting_is_refused_with_what_was_meant() {
    for (wrong, meant) in [
        ("evidence_bacth", "evidence_batch"),
        ("evidence_requried", "evidence_required"),
        ("max_step", "max_steps"),
        ("limts", "limits"),
    ] {
        let world = World::new();
        let mut problem = problem("p");
        problem["settings"][wrong] = json!(1);
        world.write("problem.json", problem.to_string());
        let refused = world.refused(&["run", "problem.json"]);
        let expected = format!("settings.{wrong}: there is no such setting; did you mean `{meant}`?");
        assert!(refused.contains(&expected) && refused.contains("E0102"), "{refused}");
    }
    // A setting of somebody else's is left alone.
    let world = World::new();
    let mut problem = problem("p");
    problem["settings"]["owner_team"] = json!("billing");
    world.write("problem.json", problem.to_string());
    assert_eq!(world.ask(&["run", "problem.json"]).code, 0);
}
