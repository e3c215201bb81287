//! `hence run --policy engineering` holds deeds back: what would violate a policy is not executed. A file that every
//! deed writes shows whether it happened.

use hence_testkit::cli::World;

use crate::guard::json;

const HEAD: &str = "\
id: work
version: 1.0.0
name: Work
description: Work under rules
inputs: {}
outputs: {}
capabilities: capabilities.yaml
steps:
";

/// Every deed leaves its input in a file of its own.
const CAPABILITIES: &str = r#"
capabilities:
  tests.run:
    description: Run the tests
    action: RunTests
    effects: reads
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; cat tests.json"]}
  tests.more:
    description: Run other tests
    action: RunTests
    effects: reads
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; cat more.json"]}
  git.hang:
    description: Commit the change and say nothing
    action: GitCommit
    provider: {kind: command, command: [/bin/sh, -c, "cat >> committed; sleep 30"]}
  git.commit:
    description: Commit the change
    action: GitCommit
    provider: {kind: command, command: [/bin/sh, -c, "cat >> committed; echo '{\"status\":\"done\"}'"]}
  bucket.delete:
    description: Delete a bucket
    action: DeleteFile
    provider: {kind: command, command: [/bin/sh, -c, "cat >> deleted; echo '{\"status\":\"done\"}'"]}
  git.push:
    description: Push the branch
    action: GitPush
    provider: {kind: command, command: [/bin/sh, -c, "cat >> pushed; echo '{\"status\":\"done\"}'"]}
  bucket.purge:
    description: Delete a bucket, once a person has confirmed it
    action: DeleteFile
    confirmation: required
    provider: {kind: command, command: [/bin/sh, -c, "cat >> purged; echo '{\"status\":\"done\"}'"]}
  notes.write:
    description: Write a note
    action: CreateFile
    provider: {kind: command, command: [/bin/sh, -c, "cat >> written; echo '{\"status\":\"done\"}'"]}
"#;

fn world(steps: &str) -> World {
    let world = World::new();
    world.write("work.yaml", format!("{HEAD}{steps}")).write("capabilities.yaml", CAPABILITIES);
    world
}

fn run(world: &World) -> i32 {
    world.ask(&["run", "work.yaml", "--run-id", "r", "--policy", "engineering"]).code
}

/// Asserts that the run was blocked, that nothing happened, and that the record says so.
fn assert_held_back(world: &World, deed: &str, policy: &str) {
    assert!(!world.path(deed).exists(), "{deed}: {}", String::from_utf8_lossy(&world.read(deed)));
    let why = json(world, &["why", "r"]);
    assert_eq!(why["standing"], "blocked", "{why}");
    assert!(why["says"].as_str().unwrap().contains(policy), "{why}");
    for command in ["verify", "replay"] {
        assert_eq!(world.ask(&[command, "r"]).code, 0, "{}", world.cli(&[command, "r"]));
    }
}

const DELETE: &str = "  - {id: delete, uses: bucket.delete, input: {path: data/prod}";

#[test]
fn an_unapproved_deletion_is_not_executed_whatever_the_form_of_its_step() {
    for rest in [
        "}\n",
        ", config: {condition: \"1 == 1\"}}\n",
        ", config: {foreach: {items: \"['a', 'b']\", as: path}}}\n",
        ", config: {foreach: {items: \"['a', 'b']\", as: path, parallel: 2}}}\n",
        ", config: {while: {condition: \"1 == 2\"}}}\n",
        ", config: {retry: {max_attempts: 2}}}\n",
    ] {
        let world = world(&format!("{DELETE}{rest}"));
        assert_eq!(run(&world), 1, "{rest}");
        assert_held_back(&world, "deleted", "destructive-actions-confirmed");
    }
    let routed = "  - {id: a, uses: text.join, input: {parts: [x]}, output: {text: vars.t}}\n  \
                  - {id: delete, uses: notes.write, input: {path: p}, config: {router: {on: vars.t, cases: {x: bucket.delete}}}}\n";
    let scattered = "  - {id: delete, uses: notes.write, input: {path: p}, config: {scatter: {capabilities: [notes.write, bucket.delete]}}}\n";
    for steps in [routed, scattered] {
        let world = world(steps);
        assert_eq!(run(&world), 1, "{steps}");
        assert_held_back(&world, "deleted", "destructive-actions-confirmed");
        assert!(!world.path("written").exists(), "the other branch was held back with it");
    }
}

#[test]
fn a_deletion_that_is_not_due_blocks_nothing() {
    let before = "  - {id: a, uses: text.join, input: {parts: [x]}, output: {text: vars.t}}\n";
    for rest in
        [", config: {condition: \"vars.t == 'y'\"}}\n", ", config: {foreach: {items: \"[]\", as: path}}}\n"]
    {
        let world = world(&format!("{before}{DELETE}{rest}"));
        assert_eq!(run(&world), 0, "{rest}");
        assert!(!world.path("deleted").exists());
    }
}

fn asked(rest: &str) -> String {
    format!(
        "  - id: approve\n    uses: human.ask\n    \
         input: {{question: \"Delete it?\", options: [\"yes\", \"no\"], approves: [\"yes\"], rejects: [\"no\"]}}\n    \
         output: {{value: vars.answer}}\n{rest}"
    )
}

#[test]
fn a_yes_lets_the_deletion_through_and_a_no_does_not() {
    let plain = asked(&format!("{DELETE}}}\n"));
    let between = format!("  - {{id: note, uses: text.join, input: {{parts: [x]}}}}\n{DELETE}");
    let read = asked(&format!("{between}, config: {{condition: \"vars.answer != 'later'\"}}}}\n"));
    let named = asked(&format!("{between}, config: {{depends_on: [approve]}}}}\n"));
    for steps in [plain, read, named] {
        for (answer, code) in [("yes", 0), ("no", 1)] {
            let world = world(&steps);
            assert_eq!(run(&world), 3, "{steps}");
            let given = world.ask(&["answer", "r", "approve", "--value", answer, "--by", "eve", "--resume"]);
            assert_eq!(given.code, code, "{steps} {answer}: {}", given.stderr);
            if answer == "yes" {
                assert!(world.path("deleted").exists());
            } else {
                assert_held_back(&world, "deleted", "destructive-actions-confirmed");
            }
        }
    }
}

#[test]
fn an_approval_of_something_else_and_an_answer_without_a_declaration_approve_nothing() {
    let two = asked(&format!(
        "  - id: other\n    uses: human.ask\n    input: {{question: \"Publish?\", approves: [\"yes\"], rejects: [\"no\"]}}\n{DELETE}}}\n"
    ));
    let world = self::world(&two);
    assert_eq!(run(&world), 3);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "no", "--resume"]).code, 3);
    assert_eq!(world.ask(&["answer", "r", "other", "--value", "\"yes\"", "--resume"]).code, 1);
    assert_held_back(&world, "deleted", "destructive-actions-confirmed");
    let undeclared = asked(&format!("{DELETE}}}\n")).replace(", approves: [\"yes\"], rejects: [\"no\"]", "");
    let world = self::world(&undeclared);
    assert_eq!(run(&world), 3);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "yes", "--resume"]).code, 1);
    assert_held_back(&world, "deleted", "destructive-actions-confirmed");
}

const COMMIT: &str = "  - {id: tests, uses: tests.run, output: {summary: vars.summary}}\n  \
                      - {id: commit, uses: git.commit, input: {message: done}}\n";

#[test]
fn a_commit_after_failing_tests_is_not_executed_and_passing_tests_let_it_through() {
    for (tests, code) in [(r#"{"summary": "5 passed"}"#, 0), (r#"{"summary": "2 failed"}"#, 1)] {
        let world = world(COMMIT);
        world.write("tests.json", tests);
        assert_eq!(run(&world), code, "{tests}");
        if code == 0 {
            assert!(world.path("committed").exists());
        } else {
            assert_held_back(&world, "committed", "tests-pass-before-commit");
        }
    }
    let untested = COMMIT.lines().skip(1).collect::<String>() + "\n";
    let world = world(&untested);
    assert_eq!(run(&world), 1);
    assert_held_back(&world, "committed", "tests-pass-before-commit");
}

#[test]
fn tests_that_failed_stop_a_commit_however_their_output_says_it() {
    let failed = [
        r#"{"summary": "ok", "exit_code": "1"}"#,
        r#"{"summary": "ok", "exit_code": 1.0}"#,
        r#"{"summary": "ok", "exit_code": true}"#,
        r#"{"summary": "ok", "exit_code": "exit status 1"}"#,
        r#"{"summary": "ok", "ExitCode": 1}"#,
        r#"{"summary": "ok", "exit-code": 1}"#,
        r#"{"summary": "ok", "status": 1}"#,
        r#"{"summary": "ok", "ok": 0}"#,
        r#"{"summary": "ok", "runs": [{"exit_code": 0}, {"exit_code": 1}]}"#,
        r#"{"summary": "3 passed", "num_failed": 3}"#,
        r#"{"summary": "3 passed", "numFailedTests": 1}"#,
        r#"{"summary": "3 passed", "failed_tests": ["x"]}"#,
        r#"{"summary": "3 passed", "result": "fail"}"#,
        r#"{"summary": "3 passed", "state": "failed"}"#,
    ];
    let passed = [
        r#"{"summary": "ok", "exit_code": "0"}"#,
        r#"{"summary": "ok", "exit_code": 0.0}"#,
        r#"{"summary": "3 passed", "num_failed": 0}"#,
        r#"{"summary": "3 passed", "failed_tests": [], "result": "pass"}"#,
        r#"{"summary": "3 passed", "runs": [{"exit_code": 0}, {"exit_code": 0}]}"#,
    ];
    let mut wrong = Vec::new();
    for (tests, code) in failed.iter().map(|tests| (tests, 1)).chain(passed.iter().map(|tests| (tests, 0))) {
        let world = world(COMMIT);
        world.write("tests.json", tests);
        let found = run(&world);
        if found != code || world.path("committed").exists() != (code == 0) {
            wrong.push(format!("{tests}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tests_that_fail_after_others_passed_stop_a_commit() {
    let steps = "  - {id: unit, uses: tests.run}\n  - {id: more, uses: tests.more}\n  \
                 - {id: commit, uses: git.commit, input: {message: done}}\n";
    let (passed, failed) = (r#"{"summary": "5 passed", "exit_code": 0}"#, r#"{"summary": "1 failed"}"#);
    for (unit, more, code) in [(passed, failed, 1), (failed, passed, 0), (passed, passed, 0)] {
        let world = world(steps);
        world.write("tests.json", unit).write("more.json", more);
        assert_eq!(run(&world), code, "{unit} {more}");
        assert_eq!(world.path("committed").exists(), code == 0);
    }
}

#[test]
fn a_commit_of_which_nobody_knows_whether_it_happened_counts() {
    let world = world(
        "  - {id: commit, uses: git.hang, input: {message: done}, config: {timeout_seconds: 1, recovery: fail}}\n",
    );
    assert_eq!(world.ask(&["run", "work.yaml", "--run-id", "r"]).code, 1);
    assert!(world.path("committed").exists());
    let trace = json(&world, &["trace", "export", "r"]);
    let commit = trace["actions"].as_array().unwrap().iter().find(|action| action["type"] == "GitCommit");
    assert_eq!(commit.unwrap()["result"]["status"], "unknown", "{commit:?}");
    let checked =
        world.ask(&["policy", "check", "r", "--policy", "engineering", "--only", "tests-pass-before-commit"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
}

/// A rule about the result of a commit: nothing is known about that before.
const REVIEWED: &str = r#"{"id": "reviewed-commits", "severity": "error", "formula": "G(GitCommit → result_summary = \"reviewed\")"}"#;
const LENIENT: &str = r#"{"id": "short", "severity": "error", "formula": "count(action) <= 20"}"#;

fn run_reviewed(steps: &str) -> World {
    let world = world(steps);
    world.write("reviewed.json", REVIEWED).write("lenient.json", LENIENT);
    let run = ["run", "work.yaml", "--run-id", "r", "--policy", "reviewed.json"];
    let answer = world.ask(&run);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    assert!(
        answer.stderr.contains("policy reviewed-commits is judged after a step has acted")
            && answer.stderr.contains("it cannot hold it back"),
        "{}",
        answer.stderr
    );
    assert!(answer.stderr.contains("was executed, then blocked by policies"), "{}", answer.stderr);
    assert!(answer.stderr.contains("idempotency key"), "{}", answer.stderr);
    world
}

fn lines(world: &World, file: &str) -> usize {
    String::from_utf8(world.read(file)).unwrap().lines().count()
}

#[test]
fn what_was_executed_and_then_blocked_says_so_and_is_not_executed_again() {
    for (steps, calls) in [
        ("  - {id: commit, uses: git.commit, input: {message: done}}\n", 1),
        (
            // The rule is violated by the first item, so a second one would not be called.
            "  - {id: commit, uses: git.commit, input: {message: done}, config: {foreach: {items: \"[1]\", as: n}}}\n",
            1,
        ),
    ] {
        let world = run_reviewed(steps);
        assert_eq!(lines(&world, "committed"), calls);
        let records = world.journal("r");
        // Resuming repeats neither the calls nor the record.
        for _ in 0..2 {
            let again = world.ask(&["resume", "r"]);
            assert_eq!(again.code, 1);
            assert!(again.stderr.contains("was executed, then blocked"), "{}", again.stderr);
        }
        assert_eq!((lines(&world, "committed"), world.journal("r") == records), (calls, true));
        let why = json(&world, &["why", "r"]);
        assert!(
            why["says"].as_str().unwrap().starts_with("step commit was executed, then blocked by policies")
        );
        assert_eq!(why["executed"].as_array().unwrap().len(), calls);
        assert_eq!(why["executed"][0]["input"]["message"], "done");
        assert_eq!(why["executed"][0]["idempotency_key"].as_str().unwrap().len(), 64);
        assert_eq!(why["commands"][0], "hence resume r --policy FILE");
        let trace = json(&world, &["trace", "export", "r"]).to_string();
        assert!(trace.contains("Step commit was executed, then blocked by policies"), "{trace}");
        assert!(!trace.contains("no result on record"), "{trace}");
        // Other policies let the recorded reply in.
        assert_eq!(world.ask(&["resume", "r", "--policy", "lenient.json"]).code, 0);
        assert_eq!(lines(&world, "committed"), calls, "the call was not repeated");
        for command in ["verify", "replay"] {
            assert_eq!(world.ask(&[command, "r"]).code, 0, "{}", world.cli(&[command, "r"]));
        }
    }
}

#[test]
fn a_blocked_deed_survives_the_loss_of_its_call_log() {
    let world = run_reviewed("  - {id: commit, uses: git.commit, input: {message: done}}\n");
    std::fs::remove_file(world.path(".hence/runs/r/calls.ndjson")).ok();
    assert_eq!(world.ask(&["resume", "r"]).code, 1);
    assert_eq!(world.ask(&["resume", "r", "--policy", "lenient.json"]).code, 0);
    assert_eq!(lines(&world, "committed"), 1);
}

#[test]
fn a_run_under_policies_ends_with_how_many_were_exercised() {
    let world = world("  - {id: note, uses: notes.write, input: {path: a}}\n");
    let report = json(&world, &["run", "work.yaml", "--run-id", "r", "--policy", "engineering"]);
    let counts = &report["policies"];
    assert_eq!((&counts["exercised"], &counts["violated"]), (&0.into(), &0.into()), "{counts}");
    assert!(
        counts["absent"].as_u64().unwrap() + counts["vacuous"].as_u64().unwrap() > 3
            && counts["judged_afterwards"].as_array().unwrap().is_empty()
    );
    let text = world.cli(&["run", "work.yaml", "--run-id", "r2", "--policy", "engineering"]);
    assert!(text.contains("0 violated; nothing they speak of occurred"), "{text}");
    let budgets = json(&world, &["run", "work.yaml", "--run-id", "r3", "--policy", "budgets"]);
    assert_eq!(budgets["policies"]["judged_afterwards"][0]["policy"], "action-cost-bounded");
    let none = json(&world, &["run", "work.yaml", "--run-id", "r4"]);
    assert!(none["policies"].is_null());
}

#[test]
fn a_forced_push_is_not_executed_and_a_plain_one_is() {
    for (input, code) in [
        ("{arguments: [origin, main]}", 0),
        ("{arguments: [--force, origin, main]}", 1),
        ("{arguments: [-f, origin]}", 1),
        ("{force: true}", 1),
        ("{arguments: [origin, +main]}", 1),
        ("{arguments: [--force-with-lease, origin]}", 1),
    ] {
        let world = world(&format!("  - {{id: push, uses: git.push, input: {input}}}\n"));
        assert_eq!(run(&world), code, "{input}");
        if code == 0 {
            assert!(world.path("pushed").exists());
        } else {
            assert_held_back(&world, "pushed", "no-force-push");
        }
    }
}

#[test]
fn a_secret_in_a_commit_is_not_committed() {
    let secret = &format!("ghp_{}", "a1B2".repeat(9));
    let write = |content: &str| {
        format!("  - {{id: write, uses: notes.write, input: {{path: a.env, content: \"{content}\"}}}}\n")
    };
    let commit = |message: &str| {
        format!(
            "  - {{id: tests, uses: tests.run, output: {{summary: vars.summary}}}}\n  \
             - {{id: commit, uses: git.commit, input: {{message: \"{message}\"}}}}\n"
        )
    };
    for (steps, code) in [
        (write("hello") + &commit("done"), 0),
        (write(secret) + &commit("done"), 1),
        (write("hello") + &commit(secret), 1),
    ] {
        let world = world(&steps);
        world.write("tests.json", r#"{"summary": "5 passed", "exit_code": 0}"#);
        assert_eq!(run(&world), code, "{steps}");
        if code == 0 {
            assert!(world.path("committed").exists());
        } else {
            assert_held_back(&world, "committed", "no-secrets-committed");
        }
    }
}

#[test]
fn a_confirmation_is_an_approval_and_its_refusal_makes_no_call() {
    for (answer, code) in [("yes", 0), ("no", 1)] {
        let world = world("  - {id: purge, uses: bucket.purge, input: {path: data/prod}}\n");
        assert_eq!(run(&world), 3, "the question is asked before the policies could block anything");
        let given = world.ask(&["answer", "r", "purge", "--value", answer, "--by", "eve", "--resume"]);
        assert_eq!(given.code, code, "{}", given.stderr);
        assert_eq!(world.path("purged").exists(), answer == "yes");
        let trace = json(&world, &["trace", "export", "r"]);
        let actions = trace["actions"].as_array().unwrap();
        let expected = if answer == "yes" { "Approve" } else { "Reject" };
        assert_eq!((&actions[1]["type"], &actions[1]["agent"]), (&expected.into(), &"eve".into()), "{trace}");
        let deletions = actions.iter().filter(|action| action["type"] == "DeleteFile").count();
        assert_eq!(deletions, usize::from(answer == "yes"), "what was refused did not happen");
        let mut artifacts = trace["artifacts"].as_array().unwrap().iter();
        assert_eq!(artifacts.any(|made| made["artifact_type"] == "UserApproval"), answer == "yes");
        for command in ["verify", "replay"] {
            assert_eq!(world.ask(&[command, "r"]).code, 0, "{}", world.cli(&[command, "r"]));
        }
    }
}
