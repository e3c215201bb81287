//! Forged records of runs of every kind: problems with loops, positions, questions, and tasks in runs of their own.

use hence_testkit::cli::World;
use serde_json::json;

use super::forging::{ENGINE, MARKS, ReadPlaces, forge_run};
use super::{READ_FROM_RECORD, READ_OF_VARIABLES, step, world};

#[test]
fn records_of_problems_with_loops_cannot_be_forged() {
    let world = World::new();
    world.run_problem(&hence_testkit::cli::problem_with_evidence("r", 2));
    let read: &ReadPlaces = &[("/engine_version", ENGINE)];
    let (found, passed) = forge_run(&world, "r", read);
    assert!(found > 200 && passed <= 1, "{found} found, {passed} passed");
}

#[test]
fn checkpoints_rollbacks_and_answers_pass_only_as_other_wishes() {
    let world = world(
        vec![
            step("once", "fx.read", json!({"a": "inputs.xs"}), json!({"n": "vars.n"}), json!({})),
            step("again", "fx.read", json!({"a": "vars.n"}), json!({"n": "vars.m"}), json!({})),
            step("asks", "fx.asks", json!({"to": "inputs.n"}), json!({}), json!({})),
        ],
        &[],
    );
    let ask = |words: &[&str]| {
        let answer = world.ask(words);
        assert!([0, 3].contains(&answer.code), "{words:?}: {}", answer.stderr);
    };
    ask(&["checkpoint", "r", "here", "--at", "1"]);
    ask(&["rollback", "r", "here", "--yes"]);
    ask(&["resume", "r"]);
    ask(&["answer", "r", "asks", "--value", "yes", "--by", "ada", "--resume"]);
    let mut read = READ_FROM_RECORD.to_vec();
    read.extend([("/name", MARKS), ("/position", MARKS), ("/to", MARKS)]);
    let (found, passed) = forge_run(&world, "r", &read);
    assert!(found > passed && found > 100, "{found} found, {passed} passed");
}

/// Makes a world with a task `r` that spawned the task `child`, whose end it recorded.
fn tasks() -> World {
    let world = World::new();
    for line in [
        "vars init r 'Do it' --session s1 --tree tree-00000001",
        "vars set r fact_a 1 -t number --scope tree",
        "vars spawn r child 'A part of it'",
        "vars set child found_b two --scope tree",
        "vars final child 'the part'",
        "vars set r fact_c 3 -t number",
        "vars checkpoint r here",
        "vars final r done",
    ] {
        let answer = world.hence(line);
        assert!(answer.contains("[exit 0]"), "{line}: {answer}");
    }
    world
}

#[test]
fn records_of_spawned_tasks_pass_only_as_other_operations() {
    let world = tasks();
    for run in ["r", "child"] {
        let (found, passed) = forge_run(&world, run, &READ_OF_VARIABLES);
        assert!(found > passed && found > 100, "{run}: {found} found, {passed} passed");
    }
}

#[test]
fn the_end_of_a_spawned_task_is_compared_with_its_run() {
    let world = tasks();
    let report = world.ask(&["verify", "r", "--json"]).json();
    let links = report["links"].as_array().unwrap();
    assert!(links.iter().any(|link| link["relation"] == "spawned" && link["verdict"] == "holds"), "{report}");
    let child = world.ask(&["verify", "child", "--json"]).json();
    let links = child["links"].as_array().unwrap();
    assert!(links.iter().any(|link| link["relation"] == "parent" && link["verdict"] == "holds"), "{child}");
    // The answer that the parent records is another one than that of the child.
    let journal = String::from_utf8(world.journal("r")).unwrap();
    let mut records: Vec<serde_json::Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let returned = records.iter_mut().find(|record| record["result"]["step"] == "vars.return").unwrap();
    let forged = returned["result"]["output"].to_string().replace("the part", "a forgery");
    returned["result"]["output"] = serde_json::from_str(&forged).unwrap();
    let problem = world.read(".hence/runs/r/problem.json");
    world.set_journal("r", super::seal::seal(&records, &problem));
    let forged = world.ask(&["verify", "r", "--json"]);
    assert_eq!(forged.code, 1, "{}", String::from_utf8_lossy(&forged.stdout));
    let report = forged.json();
    let link = report["links"].as_array().unwrap().iter().find(|link| link["relation"] == "spawned").unwrap();
    assert_eq!(link["verdict"], "broken", "{report}");
    assert!(link["detail"].as_str().unwrap().contains("another answer"), "{report}");
}
