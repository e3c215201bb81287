//! Rollbacks and forks of runs under policies.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::guard::{json, log};
use hence_testkit::cli::{World, problem};

const SKILL: &str = "\
id: release
version: 1.0.0
name: Release
description: Build, test, then commit
inputs: {}
outputs: {}
capabilities: capabilities.yaml
policies: release.toml
steps:
  - {id: build, uses: text.join, input: {parts: [a, b]}, output: {text: vars.built}}
  - {id: tests, uses: shell.test, output: {summary: vars.summary}}
  - {id: commit, uses: shell.commit, input: {message: vars.built}, output: {status: vars.committed}}
";

/// The tests pass once there is a file `ok`; every call leaves a line.
const CAPABILITIES: &str = r#"
capabilities:
  shell.test:
    description: Run the tests
    action: RunTests
    effects: reads
    provider:
      kind: command
      command: [/bin/sh, -c, "cat >/dev/null; echo tested >> calls; if [ -f ok ]; then echo '{\"summary\":\"5 passed\"}'; else echo '{\"summary\":\"2 failed\"}'; fi"]
  shell.commit:
    description: Commit the change
    action: GitCommit
    provider:
      kind: command
      command: [/bin/sh, -c, "cat >> calls; echo '{\"status\":\"done\"}'"]
"#;

const POLICIES: &str = r#"
[[policy]]
id = "tests-pass"
severity = "error"
formula = "G(RunTests → completed)"

[[policy]]
id = "planned"
severity = "warning"
formula = "G(GitCommit → P(FormulatePlan))"
"#;

const RUN: [&str; 6] = ["run", "release.yaml", "--run-id", "r", "--now", "2026-02-02T00:00:00Z"];

fn world() -> World {
    let world = World::new();
    world
        .write("release.yaml", SKILL)
        .write("capabilities.yaml", CAPABILITIES)
        .write("release.toml", POLICIES)
        .write("lenient.json", r#"{"id": "short", "severity": "error", "formula": "count(GitCommit) <= 9"}"#);
    world
}

fn passing() -> World {
    let world = world();
    world.write("ok", "");
    done(&world, &RUN);
    world
}

/// A run that was killed before its verdicts and its completion.
fn stopped() -> World {
    let world = passing();
    world.cut("r", 2);
    world
}

fn done(world: &World, arguments: &[&str]) {
    let answer = world.ask(arguments);
    assert_eq!(answer.code, 0, "{arguments:?}: {}{}", String::from_utf8_lossy(&answer.stdout), answer.stderr);
}

fn holds(world: &World, run: &str) {
    done(world, &["verify", run, "--level", "replay"]);
    done(world, &["replay", run]);
    done(world, &["trace", "export", run]);
}

fn calls(world: &World) -> Vec<String> {
    String::from_utf8(world.read("calls")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_skill_under_policies_rolls_back_and_is_checked_again_from_there() {
    let world = stopped();
    done(&world, &["checkpoint", "r", "built", "--at", "build"]);
    done(&world, &["rollback", "r", "built", "--yes"]);
    holds(&world, "r");
    done(&world, &["resume", "r"]);
    assert_eq!(
        log(&world, "r"),
        [
            "strict",
            "$policies success",
            "build success",
            "tests success",
            "commit success",
            "checkpoint built: after record 2",
            "rollback to built: after record 2",
            "tests success",
            "commit success",
            "$verdicts success",
            "complete"
        ]
    );
    assert_eq!(calls(&world).iter().filter(|line| *line == "tested").count(), 2);
    holds(&world, "r");
    // The rollback does not undo effects: a rule that counts sees both commits.
    world.write("once.json", r#"{"id": "once", "severity": "error", "formula": "count(GitCommit) <= 1"}"#);
    assert_eq!(world.ask(&["policy", "check", "r", "--policy", "once.json"]).code, 1);
}

#[test]
fn a_run_that_rolls_back_to_its_start_installs_its_policies_again() {
    let world = stopped();
    done(&world, &["rollback", "r", "initial_state", "--yes"]);
    assert_eq!(json(&world, &["why", "r"])["standing"], "stopped");
    done(&world, &["resume", "r"]);
    let log = log(&world, "r");
    assert!(log[5].starts_with("rollback") && log[6] == "$policies success", "{log:?}");
    holds(&world, "r");
}

#[test]
fn a_rollback_past_a_block_undoes_the_amended_policies() {
    let world = world();
    assert_eq!(world.ask(&RUN).code, 1);
    done(&world, &["checkpoint", "r", "built", "--at", "build"]);
    holds(&world, "r");
    done(&world, &["resume", "r", "--policy", "lenient.json"]);
    holds(&world, "r");
    world.cut("r", 2);
    done(&world, &["rollback", "r", "built", "--yes"]);
    // In force is again what was in force when the position was passed, and tests that failed stay tests that failed.
    let before = calls(&world);
    let again = world.cli(&["resume", "r"]);
    assert!(again.contains("policy tests-pass") && again.contains("[exit 1]"), "{again}");
    assert_eq!(calls(&world), before, "what can only be blocked is not executed");
    holds(&world, "r");
    done(&world, &["resume", "r", "--policy", "lenient.json"]);
    holds(&world, "r");
    let log = log(&world, "r");
    let amendments = log.iter().filter(|line| *line == "$policies success").count();
    assert_eq!((amendments, log.last().unwrap().as_str()), (3, "complete"), "{log:?}");
}

#[test]
fn a_blocked_run_rolls_back_and_its_old_result_is_not_checked_again() {
    let world = world();
    assert_eq!(world.ask(&RUN).code, 1);
    done(&world, &["rollback", "r", "initial_state", "--yes"]);
    holds(&world, "r");
    world.write("ok", "");
    done(&world, &["resume", "r"]);
    assert_eq!(calls(&world).iter().filter(|line| *line == "tested").count(), 2);
    holds(&world, "r");
}

#[test]
fn a_problem_under_policies_rolls_back_to_a_checkpoint() {
    let world = World::new();
    world.write("problem.json", problem("p1").to_string());
    world.write(
        "rules.yaml",
        "policies:\n  - {id: audited, severity: error, formula: 'G(RunTests -> F(RecordAudit))'}\n  \
         - {id: planned, severity: warning, formula: 'G(DecomposeTask -> P(FormulatePlan))'}\n",
    );
    done(&world, &["run", "problem.json", "--policy", "rules.yaml"]);
    world.cut("p1", 2);
    done(&world, &["checkpoint", "p1", "computed", "--at", "Compute"]);
    for name in ["computed", "initial_state", "computed"] {
        done(&world, &["rollback", "p1", name, "--yes"]);
        done(&world, &["verify", "p1", "--level", "spec"]);
        done(&world, &["resume", "p1"]);
        holds(&world, "p1");
        world.cut("p1", 2);
    }
}

#[test]
fn a_fork_of_a_run_under_policies_is_checked_against_them() {
    let world = passing();
    let fork = ["fork", "r", "--from", "commit", "--set", "vars.built=other", "--run-id", "f", "--yes"];
    done(&world, &fork);
    assert_eq!(log(&world, "f"), log(&world, "r"));
    assert_eq!(calls(&world).last().unwrap(), r#"{"message":"other"}"#);
    holds(&world, "f");
    assert_eq!(json(&world, &["verify", "f"])["links"][0]["verdict"], "holds");
    let problem: Value = serde_json::from_slice(&world.read(".hence/runs/f/problem.json")).unwrap();
    let origin = &problem["settings"]["origin"];
    assert_eq!((&origin["record"], &origin["from"]), (&json!(3), &json!("commit")));
    // Both journals have the warning next to its step.
    let remarks =
        |run: &str| String::from_utf8(world.journal(run)).unwrap().matches(r#""policy":[{"#).count();
    assert_eq!((remarks("r"), remarks("f")), (1, 1));
    done(&world, &["fork", "r", "--from", "build", "--run-id", "whole", "--yes"]);
    holds(&world, "whole");
}

#[test]
fn a_fork_shares_blocked_attempts_and_amendments() {
    let world = world();
    assert_eq!(world.ask(&RUN).code, 1);
    done(&world, &["resume", "r", "--policy", "lenient.json"]);
    done(&world, &["fork", "r", "--from", "commit", "--run-id", "f", "--yes"]);
    assert_eq!(log(&world, "f"), log(&world, "r"));
    holds(&world, "f");
    // From the blocked step on, the amendment that let it through is not shared.
    let blocked = world.cli(&["fork", "r", "--from", "tests", "--run-id", "g", "--yes"]);
    assert!(blocked.contains("step tests was executed, then blocked by policies"), "{blocked}");
    holds(&world, "g");
    done(&world, &["resume", "g", "--policy", "lenient.json"]);
    holds(&world, "g");
}

#[test]
fn a_fork_uses_other_policies_if_they_allow_the_shared_steps() {
    let world = passing();
    done(&world, &["fork", "r", "--from", "commit", "--policy", "lenient.json", "--run-id", "f", "--yes"]);
    holds(&world, "f");
    assert!(String::from_utf8(world.journal("f")).unwrap().contains("count(GitCommit) <= 9"));
    world.write("none.json", r#"{"id": "none", "severity": "error", "formula": "G(!RunTests)"}"#);
    assert_snapshot!(world.refused(&["fork", "r", "--from", "commit", "--policy", "none.json", "--yes"]), @r"
    --- stderr
    error[E0311]: run r: step `tests` is to be shared, and the policies block it: policy none: action 3 (RunTests): `¬RunTests` does not hold
    hint: fork from `tests` or an earlier step, or leave --policy out; `hence explain E0311` says more
    [exit 1]
    ");
    done(&world, &["verify", "f"]);
    // A run without policies can be forked into one with.
    world.write("plain.yaml", SKILL.replace("policies: release.toml\n", ""));
    done(&world, &["run", "plain.yaml", "--run-id", "plain"]);
    done(
        &world,
        &["fork", "plain", "--from", "commit", "--policy", "release.toml", "--run-id", "judged", "--yes"],
    );
    holds(&world, "judged");
    assert!(log(&world, "judged").contains(&"$verdicts success".to_owned()));
}
