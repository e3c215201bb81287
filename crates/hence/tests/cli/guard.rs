//! Runs under policies: stopped at the right step with an explanation, fixed, resumed, and visible in the journal.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::{World, problem};

const SKILL: &str = "\
id: release
version: 1.0.0
name: Release
description: Test, then commit
inputs: {}
outputs: {}
capabilities: capabilities.yaml
policies: release.toml
steps:
  - {id: tests, uses: shell.test, output: {summary: vars.summary}}
  - {id: commit, uses: shell.commit, output: {status: vars.committed}}
";

/// The tests pass once there is a file `ok`; every commit leaves a line.
const CAPABILITIES: &str = r#"
capabilities:
  shell.test:
    description: Run the tests
    action: RunTests
    effects: reads
    provider:
      kind: command
      command: [/bin/sh, -c, "cat >/dev/null; if [ -f ok ]; then echo '{\"summary\":\"5 passed\"}'; else echo '{\"summary\":\"2 failed\"}'; fi"]
  shell.commit:
    description: Commit the change
    action: GitCommit
    provider:
      kind: command
      command: [/bin/sh, -c, "cat >/dev/null; echo committed >> commits; echo '{\"status\":\"done\"}'"]
"#;

const POLICIES: &str = r#"
[[policy]]
id = "tests-pass"
severity = "error"
statement = "A test run that did not pass does not enter the record."
formula = "G(RunTests → completed)"

[[policy]]
id = "tests-before-commit"
severity = "error"
formula = "G(GitCommit → P(RunTests ∧ completed))"
"#;

const RUN: [&str; 6] = ["run", "release.yaml", "--run-id", "r1", "--now", "2026-02-02T00:00:00Z"];

fn world() -> World {
    let world = World::new();
    world
        .write("release.yaml", SKILL)
        .write("capabilities.yaml", CAPABILITIES)
        .write("release.toml", POLICIES);
    world
}

pub(crate) fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

pub(crate) fn log(world: &World, run: &str) -> Vec<String> {
    let shown = json(world, &["log", run]);
    let rows = shown["records"].as_array().unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| format!("{} {}", text(row, "what"), text(row, "status")).trim().to_owned())
        .collect()
}

fn holds(world: &World, run: &str) {
    let verified = world.ask(&["verify", run, "--level", "replay"]);
    assert_eq!(verified.code, 0, "{}", String::from_utf8_lossy(&verified.stdout));
    let replayed = world.ask(&["replay", run]);
    assert_eq!(replayed.code, 0, "{}", String::from_utf8_lossy(&replayed.stdout));
}

#[test]
fn a_skill_stops_at_the_blocked_step_and_continues_once_the_cause_is_fixed() {
    let world = world();
    assert_snapshot!(world.cli(&RUN), @r"
    --- stderr
    policy tests-pass is judged after a step has acted (`completed`); it cannot hold it back
    error[E0603]: run r1: step tests was executed, then blocked by policies (record 2)
      policy tests-pass: A test run that did not pass does not enter the record. Found: action 2 (RunTests): `RunTests` holds; `completed` does not hold
    hint: fix the cause, then `hence resume r1` tries this step again, or `hence fork r1 --from STEP` repeats an earlier one; `hence resume r1 --policy FILE` continues under other policies; `hence explain E0603` says more
    [exit 1]
    ");
    assert!(!world.path("commits").exists(), "nothing was committed");
    assert_eq!(json(&world, &["runs"])["runs"][0]["status"], "blocked");
    holds(&world, "r1");

    world.write("ok", "");
    assert_eq!(world.ask(&["resume", "r1"]).code, 0);
    assert_eq!(
        log(&world, "r1"),
        [
            "strict",
            "$policies success",
            "tests blocked",
            "tests success",
            "commit success",
            "$verdicts success",
            "complete"
        ]
    );
    assert_eq!(world.read("commits"), b"committed\n");
    holds(&world, "r1");

    let trace = json(&world, &["trace", "export", "r1"]);
    let evaluation = &trace["policy_evaluations"][0];
    assert_eq!((&evaluation["policy_id"], &evaluation["status"]), (&json!("tests-pass"), &json!("passed")));
    assert_eq!(evaluation["events"][0]["decision"], "blocked");
    assert_snapshot!(world.cli(&["policy", "check", "r1", "--policy", "release.toml"]), @r"
    r1: passes
      pass tests-pass [guessed from words: completed]
      pass tests-before-commit [guessed from words: completed]
      2 proven, 0 absent, 0 failed, 0 vacuous, 0 unknown; 2 rest on words looked for in texts
    [exit 0]
    ");
}

#[test]
fn amended_policies_are_recorded_and_check_the_blocked_result() {
    let world = world();
    assert_eq!(world.ask(&RUN).code, 1);
    world.write("lenient.json", r#"{"id": "short", "severity": "error", "formula": "count(action) <= 9"}"#);
    assert_eq!(world.ask(&["resume", "r1", "--policy", "lenient.json"]).code, 0);
    assert_eq!(
        log(&world, "r1"),
        [
            "strict",
            "$policies success",
            "tests blocked",
            "$policies success",
            "tests success",
            "commit success",
            "$verdicts success",
            "complete"
        ]
    );
    holds(&world, "r1");
    assert_snapshot!(world.refused(&["resume", "r1", "--policy", "lenient.json"]), @r"
    --- stderr
    error[E0604]: run r1: nothing is blocked, so the policies cannot be amended
    hint: name the policies the run pins, or leave --policy out; `hence explain E0604` says more
    [exit 1]
    ");
}

#[test]
fn a_step_that_would_act_against_a_policy_is_not_executed() {
    let world = world();
    let skill = SKILL.replace("  - {id: tests, uses: shell.test, output: {summary: vars.summary}}\n", "");
    world.write("release.yaml", skill);
    assert_snapshot!(world.cli(&RUN), @r"
    --- stderr
    policy tests-pass is judged after a step has acted (`completed`); it cannot hold it back
    error[E0603]: run r1: policies block step commit (record 2): it was not executed
      policy tests-before-commit: action 2 (GitCommit): `GitCommit` holds; no earlier action in scope of `P(RunTests ∧ completed)` satisfies `RunTests ∧ completed`
    hint: fix the cause, then `hence resume r1` tries this step again, or `hence fork r1 --from STEP` repeats an earlier one; `hence resume r1 --policy FILE` continues under other policies; `hence explain E0603` says more
    [exit 1]
    ");
    assert!(!world.path("commits").exists(), "the commit was blocked before it was made");
    holds(&world, "r1");
    world.write("lenient.json", r#"{"id": "short", "severity": "error", "formula": "count(action) <= 9"}"#);
    assert_eq!(world.ask(&["resume", "r1", "--policy", "lenient.json"]).code, 0);
    assert_eq!(world.read("commits"), b"committed\n");
    holds(&world, "r1");
}

#[test]
fn a_problem_runs_under_policies_too() {
    let world = World::new();
    world.write("problem.json", problem("p1").to_string());
    world.write(
        "rules.yaml",
        "policies:\n  - {id: audited, severity: error, formula: 'G(RunTests -> F(RecordAudit))'}\n  \
         - {id: planned, severity: warning, formula: 'G(DecomposeTask -> P(FormulatePlan))'}\n",
    );
    let answer = world.ask(&["run", "problem.json", "--policy", "rules.yaml"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    holds(&world, "p1");
    // The warning is next to its step.
    let journal = String::from_utf8(world.journal("p1")).unwrap();
    assert_eq!(journal.matches(r#""policy":[{"#).count(), 1);
    // A bundle carries the policies in its journal.
    assert_eq!(world.ask(&["export", "p1", "bundle"]).code, 0);
    assert_eq!(world.ask(&["verify", "bundle/trace.ndjson", "--level", "replay"]).code, 0);

    // Its problem pins them: others, or none, are refused.
    let pinned = world.read(".hence/runs/p1/problem.json");
    world.write("pinned.json", pinned);
    assert_snapshot!(world.refused(&["run", "pinned.json", "--trace-id", "p2"]), @r"
    --- stderr
    error[E0604]: pinned.json: the problem pins policies 72f9e97c, given are none
    hint: name the policies it pins with --policy FILE|PACK; `hence explain E0604` says more
    [exit 1]
    ");
    assert_eq!(world.ask(&["run", "pinned.json", "--trace-id", "p2", "--policy", "rules.yaml"]).code, 0);
}

#[test]
fn policies_that_cannot_be_enforced_are_refused_before_anything_runs() {
    let world = world();
    world.write("problem.json", problem("p1").to_string());
    world.write("broken.json", r#"{"id": "b", "severity": "error", "formula": "G("}"#);
    assert_snapshot!(world.refused(&["run", "problem.json", "--policy", "broken.json"]), @r"
    --- stderr
    error[E0601]: broken.json: policy b: expected a formula, found the end of the formula at column 3
    hint: `hence policy lint FILE` lists every finding; `hence explain E0601` says more
    [exit 2]
    ");
    world.write("none.json", "[]");
    assert_snapshot!(world.refused(&["run", "problem.json", "--policy", "none.json"]), @r"
    --- stderr
    error[E0601]: none.json: no policies here; expected a policy, a list of policies, or an object with `policies`
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    world.write("twice.json", r#"{"id": "tests-pass", "formula": "F(x)"}"#);
    assert_snapshot!(world.refused(&[&RUN[..], &["--policy", "twice.json"]].concat()), @r"
    --- stderr
    error[E0601]: twice.json: policy `tests-pass` is already defined in release.toml, `/policy/0`
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["run", "problem.json", "--profile", "compat", "--policy", "records"]), @r"
    --- stderr
    error[E0103]: policies apply in the strict profile only
    hint: fix the argument or leave it out; --help lists what the command takes; nothing was run or stored; `hence explain E0103` says more
    [exit 2]
    ");
}

#[test]
fn gaps_of_failed_policies_are_shown_and_written_into_the_trace() {
    let world = world();
    world.write(
        "trace.json",
        r#"{"trace_id": "t", "actions": [{"id": 1, "type": "GitCommit"}], "artifacts": []}"#,
    );
    let check = ["policy", "check", "trace.json", "--policy", "release.toml"];
    assert_snapshot!(world.cli(&[&check[..], &["--residuals", "--into", "recorded.json"]].concat()), @r"
    trace.json: does not pass
      FAIL tests-before-commit: action 1 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` (0 looked at)
      n/a  tests-pass: `RunTests` never holds
      gap  policy-tests-before-commit (high): Mend what violates the policy, or have the violation accepted.
      0 proven, 0 absent, 1 failed, 1 vacuous, 0 unknown
    [exit 1]
    ");
    let recorded: Value = serde_json::from_slice(&world.read("recorded.json")).unwrap();
    assert_eq!(recorded["residuals"][0]["source"], "policy_derived");
    assert_eq!(recorded["residuals"][0]["target"], json!({"target_type": "action", "target_id": 1}));
    assert_eq!(recorded["policy_evaluations"].as_array().unwrap().len(), 2);
    // Checking what was recorded records the same.
    assert_eq!(
        world
            .ask(&["policy", "check", "recorded.json", "--policy", "release.toml", "--into", "again.json"])
            .code,
        1
    );
    assert_eq!(world.read("again.json"), world.read("recorded.json"));
}

#[test]
fn policies_about_gaps_gate_an_approval() {
    let world = World::new();
    let trace = |target: &str| {
        format!(
            r#"{{"trace_id": "t", "actions": [], "artifacts": [], "residuals": [{{"residual_id": "r1",
                "kind": "assumption", "severity": "low", "statement": "the clock is right"{target}}}]}}"#
        )
    };
    let stamp = ["--author", "ada", "--now", "2026-02-03T00:00:00Z"];
    let review = |arguments: &[&str]| world.ask(&[&["review"], arguments, &stamp].concat());
    world.write("bare.json", trace(""));
    assert_eq!(review(&["open", "bare.json"]).code, 0);
    assert_snapshot!(world.refused(&[&["review", "approve", "t"], &stamp[..]].concat()), @r"
    --- stderr
    error[E0605]: 1 of 4 policies about gaps do not allow the approval
      policy assumptions-located: `r.kind = Assumption → r.target ≠ ∅ ∨ r.related_artifact_ids ≠ ∅` does not hold for `r1`
    hint: waive each gap that is listed, with a reason: `hence review waive REVIEW GAP --note WHY`; `hence policy show ID` shows a policy; `hence explain E0605` says more
    [exit 1]
    ");
    world.write("located.json", trace(r#", "target": {"target_type": "trace"}"#).replace(r#""t""#, r#""u""#));
    assert_eq!(review(&["open", "located.json"]).code, 0);
    let approved = review(&["approve", "u"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
}
