//! Bound steps with effects: after a crash they behave like steps of skills.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::{World, verified};

/// The number of times runs are killed, for each recovery.
const KILLS: u64 = 12;

/// `pay` logs its input; with a file `broken` it then fails, with `odd` it returns an unusable result.
fn capabilities(recovery: &str) -> String {
    format!(
        r#"
capabilities:
  pay:
    description: Writes down what it was asked for
    recovery: {recovery}
    provider:
      kind: command
      command:
        - /bin/sh
        - -c
        - 'cat > /dev/null; echo "$HENCE_IDEMPOTENCY_KEY" >> effects.log; [ -f broken ] && exit 3; [ -f odd ] && echo "{{\"evidence\": 1}}" && exit; echo "{{\"evidence\": [{{\"paid\": true}}]}}"'
"#
    )
}

/// A problem that takes evidence three times.
fn world(recovery: &str) -> World {
    let world = World::new();
    let problem = json!({
        "version": "1.0.0", "id": "r", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "Which one?"},
        "settings": {
            "bindings": {"AcquireEvidence": {"capability": "pay", "input": {"prompt": {"at": "/problem/inputs/prompt"}}}},
            "loop": {
                "enabled": true, "start_step": "AcquireEvidence", "end_step": "Verify", "max_iterations": 3,
                "stop_condition": {"path": "artifacts.verification.evidence_count", "operator": "gte", "value": 9}
            }
        }
    });
    world
        .write("capabilities.yaml", capabilities(recovery))
        .write("problem.json", verified(problem).to_string());
    world
}

const RUN: [&str; 6] = ["run", "problem.json", "--capabilities", "capabilities.yaml", "--run-id", "r"];
const CALLS: &str = ".hence/runs/r/calls.ndjson";

fn effects(world: &World) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(world.path("effects.log")).unwrap_or_default();
    let mut counts = BTreeMap::new();
    text.lines().for_each(|line| *counts.entry(line.to_owned()).or_default() += 1);
    counts
}

fn json_of(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

/// Leaves the run as a crash between intent and reply of the second call would.
fn crashed(recovery: &str) -> World {
    let world = world(recovery);
    world.write("broken", "");
    assert_eq!(world.ask(&RUN).code, 1);
    let first = String::from_utf8(world.read(CALLS)).unwrap();
    let intent = first.lines().next().unwrap();
    assert!(
        intent.contains(r#""kind":"intent""#) && intent.contains("AcquireEvidence/2.0/call/pay/1"),
        "{intent}"
    );
    // A process that dies after the intent leaves the intent, and perhaps the effect.
    world.write(CALLS, format!("{intent}\n"));
    std::fs::remove_file(world.path("broken")).unwrap();
    world
}

#[test]
fn a_bound_step_with_effects_logs_an_intent_and_asks_after_a_crash() {
    let world = crashed("ask");
    assert_eq!(json_of(&world, &["why", "r"])["standing"], "undecided");
    assert_snapshot!(world.cli(&["resume", "r"]), @r#"
    waits   AcquireEvidence: did `pay` happen?
    input   {"prompt":"Which one?"}
    key     <digest>
    answer  hence answer r AcquireEvidence --done OUTPUT
    answer  hence answer r AcquireEvidence --retry
    answer  hence answer r AcquireEvidence --fail
    used    1 call
    status  waiting
    run     r
    head    <digest>:3
    record  .hence/runs/r/trace.ndjson
    [exit 3]
    "#);
    assert_eq!(effects(&world).values().sum::<usize>(), 1, "nothing was called again");
    assert_eq!(json_of(&world, &["runs", "--waiting"])["runs"][0]["status"], "waiting");
    assert_eq!(json_of(&world, &["why", "r"])["standing"], "waiting");
    assert!(world.refused(&["answer", "r", "AcquireEvidence", "--value", "1"]).contains("E0307"));
    let done = ["answer", "r", "AcquireEvidence", "--done", r#"{"evidence": [{"paid": true}]}"#, "--resume"];
    let finished = world.ask(&done);
    // The run ends at its limit of iterations; two more calls were made for it.
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    let counts = effects(&world);
    assert_eq!((counts.len(), counts.values().sum::<usize>()), (3, 3));
    assert!(!world.path(CALLS).exists(), "what was under way is recorded");
    for level in ["replay", "spec"] {
        assert_eq!(world.ask(&["verify", "r", "--level", level]).code, 0);
    }
}

#[test]
fn an_undecided_call_follows_its_recovery_rule() {
    let world = crashed("retry");
    assert_eq!(world.ask(&["resume", "r"]).code, 1);
    assert_eq!(effects(&world).values().copied().max(), Some(2), "made again, with the same key");
    let world = crashed("fail");
    let failed = world.cli(&["resume", "r"]);
    assert!(failed.contains("call_failed") && failed.contains("undecided after a crash"), "{failed}");
    assert_eq!(json_of(&world, &["why", "r"])["standing"], "failed");
    assert_eq!(effects(&world).values().sum::<usize>(), 1);
    for (decision, effects_made) in [("--retry", 4), ("--fail", 1)] {
        let world = crashed("ask");
        assert_eq!(world.ask(&["resume", "r"]).code, 3);
        assert_eq!(world.ask(&["answer", "r", "AcquireEvidence", decision, "--resume"]).code, 1);
        assert_eq!(effects(&world).values().sum::<usize>(), effects_made, "{decision}");
        assert_eq!(world.ask(&["verify", "r"]).code, 0);
    }
}

#[test]
fn a_retry_asks_about_a_call_that_was_given_up_and_keeps_its_key() {
    let world = crashed("ask");
    assert_eq!(world.ask(&["resume", "r"]).code, 3);
    assert_eq!(world.ask(&["answer", "r", "AcquireEvidence", "--fail", "--resume"]).code, 1);
    let before = effects(&world);
    let key = before.keys().next().unwrap();
    let errors = json_of(&world, &["show", "r", "AcquireEvidence"]).to_string();
    assert!(errors.contains(&format!("idempotency key {key}")), "the record names the call: {errors}");
    assert_eq!(world.ask(&["retry", "r"]).code, 3, "nobody knows whether it happened");
    assert_eq!(effects(&world), before);
    // The run ends at its limit of iterations.
    assert_eq!(world.ask(&["answer", "r-retry-1", "AcquireEvidence", "--retry", "--resume"]).code, 1);
    assert_eq!(effects(&world)[key], 2, "made again with the same key");
    for run in ["r", "r-retry-1"] {
        assert_eq!(
            world.ask(&["verify", run, "--level", "replay"]).code,
            0,
            "{}",
            world.cli(&["verify", run])
        );
    }
}

#[test]
fn a_failed_call_that_may_have_acted_is_not_retried_silently() {
    for file in ["broken", "odd"] {
        let world = world("ask");
        world.write(file, "");
        assert!(world.cli(&RUN).contains("E0335"));
        std::fs::remove_file(world.path(file)).unwrap();
        assert_eq!(world.ask(&["resume", "r"]).code, 3, "somebody is asked first");
        assert_eq!(effects(&world).values().sum::<usize>(), 1);
        assert_eq!(world.ask(&["answer", "r", "AcquireEvidence", "--retry", "--resume"]).code, 1);
        assert_eq!(effects(&world).values().sum::<usize>(), 4);
        // An answer the step cannot use can be replaced.
        let world = self::world("ask");
        world.write(file, "");
        assert_eq!(world.ask(&RUN).code, 1);
        assert_eq!(world.ask(&["resume", "r"]).code, 3);
        let odd = world.cli(&["answer", "r", "AcquireEvidence", "--done", r#"{"evidence": 1}"#, "--resume"]);
        assert!(odd.contains("expected a list of objects"), "{odd}");
        std::fs::remove_file(world.path(file)).unwrap();
        assert_eq!(world.ask(&["resume", "r"]).code, 1);
        assert_eq!(world.ask(&["verify", "r"]).code, 0);
    }
}

#[test]
fn a_person_can_do_the_work_of_a_step() {
    let world = World::new();
    world.write(
        "problem.json",
        verified(json!({"version": "1.0.0", "id": "r", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "Why?"},
            "settings": {"bindings": {"Synthesize": {"capability": "human.ask", "output": "/value",
                "input": {"question": {"value": "What follows?"}, "type": {"value": "object"}}}}}}))
        .to_string(),
    );
    assert_snapshot!(world.cli(&["run", "problem.json"]), @r"
    verification  passed
    waits         Synthesize: What follows?
    answer        hence answer r Synthesize --value @FILE
    status        waiting
    run           r
    head          <digest>:6
    record        .hence/runs/r/trace.ndjson
    [exit 3]
    ");
    let answer =
        ["answer", "r", "Synthesize", "--value", r#"{"summary": "it rained"}"#, "--by", "ada", "--resume"];
    let report = json_of(&world, &answer);
    assert_eq!((&report["status"], &report["answer"]["summary"]), (&json!("completed"), &json!("it rained")));
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
}

#[test]
fn a_run_killed_anywhere_acts_once_unless_its_recovery_is_retry() {
    let undisturbed = world("ask");
    assert_eq!(undisturbed.ask(&RUN).code, 1);
    let whole = undisturbed.journal("r");
    for recovery in ["ask", "retry"] {
        for kill in 0..KILLS {
            let world = world(recovery);
            let mut child = world.command(&RUN).spawn().unwrap();
            let length = |name: &str| std::fs::metadata(world.path(name)).map_or(0, |found| found.len());
            let bytes = whole.len() as u64 * kill / KILLS;
            while length(".hence/runs/r/trace.ndjson") + length(CALLS) < bytes
                && child.try_wait().unwrap().is_none()
            {
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let mut code = world.ask(&RUN).code;
            while code == 3 {
                let happened = effects(&world).len() as u64;
                let due = json_of(&world, &["why", "r"])["waiting"][0]["key"].as_str().unwrap().to_owned();
                // Whoever looks outside knows: each call leaves a line when it has happened.
                let index: u64 = due.split(['/', '.']).nth(1).unwrap().parse().unwrap();
                let nth = (index - 2) / 3 + 1;
                let done = r#"{"evidence": [{"paid": true}]}"#;
                let decision: &[&str] = if happened >= nth { &["--done", done] } else { &["--retry"] };
                let answer = [&["answer", "r", due.as_str()], decision, &["--resume"]].concat();
                code = world.ask(&answer).code;
            }
            assert_eq!(code, 1, "kill {kill}: the run ends at its limit");
            let counts = effects(&world);
            assert_eq!(counts.len(), 3, "kill {kill}, {recovery}");
            if recovery == "ask" {
                assert_eq!(counts.values().sum::<usize>(), 3, "kill {kill}: an effect was executed twice");
            }
            assert_eq!(world.ask(&["verify", "r", "--level", "replay"]).code, 0, "kill {kill}, {recovery}");
        }
    }
}

#[test]
fn amended_policies_check_the_blocked_result_and_a_rollback_calls_again() {
    let world = world("ask");
    world.write(
        "never.json",
        r#"{"id": "never", "severity": "error", "formula": "G(execution.tool = pay → result_summary = \"reviewed\")"}"#,
    );
    world.write(
        "lenient.json",
        r#"{"id": "short", "severity": "error", "formula": "count(ReadDocumentation) <= 9"}"#,
    );
    let run = [&RUN[..], &["--policy", "never.json"]].concat();
    let blocked = world.cli(&run);
    assert!(blocked.contains("step AcquireEvidence was executed, then blocked by policies"), "{blocked}");
    assert_eq!(effects(&world).values().sum::<usize>(), 1);
    assert_eq!(world.ask(&["resume", "r", "--policy", "lenient.json"]).code, 1, "it ends at its limit");
    assert_eq!(effects(&world).values().sum::<usize>(), 3, "nothing is called twice for a change of rules");
    assert_eq!(world.ask(&["verify", "r", "--level", "replay"]).code, 0);
    world.cut("r", 1);
    assert_eq!(world.ask(&["checkpoint", "r", "split", "--at", "Decompose"]).code, 0);
    let refused = world.refused(&["rollback", "r", "split"]);
    assert!(refused.contains("step AcquireEvidence called"), "{refused}");
    assert_eq!(world.ask(&["rollback", "r", "split", "--yes"]).code, 0);
    let again = world.cli(&["resume", "r"]);
    assert!(again.contains("step AcquireEvidence was executed, then blocked by policies"), "{again}");
    assert_eq!(world.ask(&["verify", "r", "--level", "spec"]).code, 0);
}

#[test]
fn a_bound_call_that_runs_out_of_time_is_undecided_and_a_crash_while_it_is_repeated_asks_again() {
    let world = world("ask");
    let slow = capabilities("ask")
        .replace("cat > /dev/null;", "cat > /dev/null; [ -f slow ] && echo x >> tried && sleep 600;");
    let problem = String::from_utf8(world.read("problem.json")).unwrap();
    let short = problem.replace(r#""capability":"pay""#, r#""capability":"pay","timeout_seconds":1"#);
    assert_ne!(short, problem);
    world.write("capabilities.yaml", slow).write("problem.json", short).write("slow", "");
    assert_eq!(world.ask(&RUN).code, 3, "nobody knows whether it happened");
    let why = json_of(&world, &["why", "r"]);
    assert!(why["waiting"][0]["question"].as_str().unwrap().contains("no reply within"), "{why}");
    for round in 2..4 {
        assert_eq!(world.ask(&["answer", "r", "AcquireEvidence", "--retry"]).code, 0);
        assert_eq!(json_of(&world, &["why", "r"])["standing"], "answered");
        let mut child = world.command(&["resume", "r"]).spawn().unwrap();
        while String::from_utf8(world.read("tried")).unwrap().lines().count() < round {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(json_of(&world, &["why", "r"])["standing"], "undecided", "round {round}");
        assert_eq!(world.ask(&["resume", "r"]).code, 3);
    }
    std::fs::remove_file(world.path("slow")).unwrap();
    assert_eq!(world.ask(&["answer", "r", "AcquireEvidence", "--retry", "--resume"]).code, 1);
    let counts = effects(&world);
    assert_eq!((counts.len(), counts.values().sum::<usize>()), (3, 3));
}
