//! Reproducing and reviewing without pretending: noise is left out and counted, recorded results are not confirmed by reading
//! them again, and a waiver lets an approval pass.

use hence_testkit::cli::{Answer, World};
use serde_json::{Value, json};

const NOW: [&str; 4] = ["--author", "ada", "--now", "2026-02-03T00:00:00Z"];

fn review(world: &World, arguments: &[&str]) -> Answer {
    world.ask(&[&["review"], arguments, &NOW].concat())
}

/// Runs `cat out` again, which was recorded with a text and an exit code.
fn again(recorded: &str, exit_code: Option<i64>, now: &str, more: &[&str]) -> Value {
    let world = World::new().env("PATH", &std::env::var("PATH").unwrap());
    let evidence = json!([{"type": "CommandOutput", "ref": "cat out", "exit_code": exit_code}]);
    let action = json!({"id": 1, "category": "activity", "type": "RunTests", "label": "l", "rationale": "r",
        "evidence": evidence,
        "reproducibility": {"status": "reproducible", "reproduction_kind": "tool_reexecution",
            "procedure": {"kind": "command", "command": "cat out"},
            "expected_output": {"result_summary": recorded}}});
    let trace = json!({"trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m",
        "timestamp": "2026-01-01T00:00:00Z", "trigger": {"type": "TaskReceived"},
        "outcome": {"type": "ProcessCompleted"}, "artifacts": [], "actions": [action]});
    world.write("t.json", trace.to_string()).write("src/out", now);
    let arguments = ["trace", "reproduce", "t.json", "--run", "--with", "src", "--json"];
    let answer = world.ask(&[&arguments, more].concat());
    assert!(!answer.stdout.is_empty(), "{}", answer.stderr);
    let report = answer.json();
    assert_eq!(answer.code == 0, report["diverged"] == 0, "{report}");
    report["candidates"][0].clone()
}

#[test]
fn a_test_run_that_took_another_time_is_reproduced_and_what_was_left_out_is_told() {
    let row = again("1 passed in 2.52s", Some(0), ".\n1 passed in 0.41s\n", &[]);
    assert_eq!((&row["outcome"], &row["masked"]["duration"]), (&json!("reproduced"), &json!(1)), "{row}");
    let row = again("build-17 ok", None, "build-99 ok\n", &[]);
    assert_eq!((&row["outcome"], &row["difference"].is_string()), (&json!("diverged"), &true), "{row}");
    let row = again("build-17 ok", None, "build-99 ok\n", &["--mask", "build-[0-9]+"]);
    assert_eq!((&row["outcome"], &row["masked"]["declared"]), (&json!("reproduced"), &json!(1)), "{row}");
}

#[test]
fn another_count_or_exit_code_is_always_diverged() {
    for (recorded, code, now) in [
        ("1 passed in 2.52s", Some(0), "2 passed in 2.52s"),
        ("1 passed in 2.52s", Some(0), "1 passed, 1 skipped in 2.52s"),
        ("1 passed in 2.52s", Some(1), "1 passed in 2.52s"),
        ("1 failed in 2.52s", None, "1 failed in 2.52s"),
    ] {
        let row = again(recorded, code, now, &["--mask", "[0-9]+ passed"]);
        assert_eq!(row["outcome"], "diverged", "{row}");
        assert!(row["difference"].is_string(), "{row}");
    }
}

const CAPABILITIES: &str = "\
capabilities:
  tests.run:
    description: Run the tests
    effects: reads
    action: RunTests
    input: {type: object}
    output: {type: object}
    provider: {kind: command, command: [sh, -c, 'cat >/dev/null; echo \"{\\\"exit_code\\\": 0}\"']}
";

const SKILL: &str = "\
id: s
version: 1.0.0
name: n
description: d
inputs: {}
outputs: {}
steps:
  - {id: tests, uses: tests.run, input: {}, output: {exit_code: vars.code}}
";

#[test]
fn a_recorded_result_is_not_confirmed_by_reading_it_again() {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL);
    let run = ["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"];
    assert_eq!(world.ask(&run).code, 0);
    assert_eq!(review(&world, &["open", "r"]).code, 0);
    let packet = world.ask(&["review", "handoff", "r", "--json"]).json();
    let claims = packet["evidence"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["recorded"] == true).unwrap_or_else(|| panic!("{packet}"));
    let id = claim["artifact_id"].as_str().unwrap();
    assert_eq!(claim["command"], Value::Null);
    assert!(claim["again"][0].as_str().unwrap().contains("call `tests.run` (command `sh -c"), "{claim}");
    let text = world.cli(&["review", "handoff", "r"]);
    assert!(text.contains("confirms nothing") && text.contains("to check it: call"), "{text}");
    assert!(!text.contains("again: hence replay"), "{text}");
    for note in [
        None,
        Some("hence replay"),
        Some("hence replay r: every byte is equal"),
        Some("replayed it"),
        Some(" "),
    ] {
        let note: Vec<&str> = note.iter().flat_map(|note| ["--note", note]).collect();
        let refused = review(&world, &[&["check", "r", "confirmed", id], &note[..]].concat());
        assert_eq!(refused.code, 1, "{note:?}");
        assert!(
            refused.stderr.contains("E0701") && refused.stderr.contains("call `tests.run`"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(review(&world, &["check", "r", "reread", id, "--note", "hence replay"]).code, 0);
    let refused = review(&world, &["approve", "r"]);
    assert_eq!(refused.code, 1);
    let packet = world.ask(&["review", "handoff", "r", "--json"]).json();
    let obstacles = packet["verdict"]["obstacles"].to_string();
    assert!(obstacles.contains("only read again from the record"), "{obstacles}");
    let confirmed =
        review(&world, &["check", "r", "confirmed", id, "--note", "ran the tests by hand: exit 0"]);
    assert_eq!(confirmed.code, 0, "{}", confirmed.stderr);
    let packet = world.ask(&["review", "handoff", "r", "--json"]).json();
    assert!(!packet["verdict"]["obstacles"].to_string().contains(id), "{packet}");
    // A recorded result does not count as one that can be replayed.
    assert_eq!(world.ask(&["trace", "export", "r", "--out", "t.json"]).code, 0);
    let trace: Value = serde_json::from_slice(&world.read("t.json")).unwrap();
    let actions = trace["actions"].as_array().unwrap().iter();
    let described = actions.filter(|action| action["reproducibility"].is_object());
    let computed =
        described.filter(|action| action["execution"]["determinism"] != "nondeterministic").count();
    let grade = world.ask(&["trace", "grade", "t.json", "--json"]).json().to_string();
    assert!(grade.contains(&format!("{computed} replayable")), "{grade}");
}

#[test]
fn a_waiver_lets_an_approval_pass() {
    let world = World::new();
    let trace = json!({"trace_id": "t", "actions": [], "artifacts": [], "residuals": [
        {"residual_id": "u1", "kind": "unverified", "severity": "low", "statement": "nobody looked"},
        {"residual_id": "as1", "kind": "assumption", "severity": "low", "statement": "the clock is right"}]});
    world.write("t.json", trace.to_string());
    assert_eq!(review(&world, &["open", "t.json"]).code, 0);
    for id in ["u1", "as1"] {
        let refused = review(&world, &["approve", "t"]);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains("E0605"), "{}", refused.stderr);
        assert!(refused.stderr.contains("`hence review waive REVIEW GAP --note WHY`"), "{}", refused.stderr);
        // An acknowledgement is not a waiver.
        assert_eq!(review(&world, &["ack", "t", id]).code, 0);
        assert_eq!(review(&world, &["approve", "t"]).code, 1);
        assert_eq!(review(&world, &["waive", "t", id, "--note", "known"]).code, 0);
    }
    let approved = review(&world, &["approve", "t"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert_eq!(world.ask(&["review", "status", "t", "--json"]).json()["holds"], true);
}

#[test]
fn a_gap_that_the_trace_itself_calls_waived_is_waived_by_nobody() {
    let world = World::new();
    let trace = json!({"trace_id": "t", "actions": [], "artifacts": [], "residuals": [
        {"residual_id": "as1", "kind": "assumption", "severity": "low", "status": "waived", "statement": "s"}]});
    world.write("t.json", trace.to_string());
    assert_eq!(review(&world, &["open", "t.json"]).code, 0);
    let refused = review(&world, &["approve", "t"]);
    assert!(refused.code == 1 && refused.stderr.contains("E0605"), "{}", refused.stderr);
}
