//! Policies judge every call that acts before it is made: rounds, items, branches, attempts and bound steps. A file to
//! which every deed appends a line shows what happened.

use hence_testkit::cli::{World, verified};
use serde_json::{Value, json};

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

/// `deploy` and `push` append a line to `done`; `flaky` does, too, and fails; `push` asks for force from then on.
const CAPABILITIES: &str = r#"
capabilities:
  deploy:
    description: Deploy, and say how often that was done
    action: Deploy
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo deploy >> done; echo \"{\\\"n\\\": $(wc -l < done)}\""]}
  rollout:
    description: Deploy elsewhere
    action: Deploy
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo rollout >> done; echo {}"]}
  flaky:
    description: Deploy and fail
    action: Deploy
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo flaky >> done; exit 3"]}
  push:
    description: Push the branch
    action: GitPush
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo push >> done; echo \"{\\\"arguments\\\": [\\\"--force\\\"], \\\"n\\\": $(wc -l < done)}\""]}
  delete:
    description: Delete a file
    action: DeleteFile
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo delete >> done; echo {}"]}
  arguments:
    description: The arguments to begin with
    effects: reads
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo '{\"arguments\": [\"origin\"]}'"]}
"#;

/// At most this many deployments.
fn at_most(count: u64) -> String {
    json!({"id": "few-deployments", "severity": "error", "statement": "Few deployments.",
           "formula": format!("count(Deploy) <= {count}")})
    .to_string()
}

fn world(steps: &str) -> World {
    let world = World::new();
    world.write("work.yaml", format!("{HEAD}{steps}")).write("capabilities.yaml", CAPABILITIES);
    for count in [2, 4, 40] {
        world.write(&format!("{count}.json"), at_most(count));
    }
    world
}

fn done(world: &World) -> usize {
    std::fs::read_to_string(world.path("done")).unwrap_or_default().lines().count()
}

fn assert_holds(world: &World) {
    for command in ["verify", "replay"] {
        assert_eq!(world.ask(&[command, "r"]).code, 0, "{}", world.cli(&[command, "r"]));
    }
}

fn run(world: &World, policy: &str) -> (i32, String) {
    let answer = world.ask(&["run", "work.yaml", "--run-id", "r", "--policy", policy]);
    (answer.code, answer.stderr)
}

const ROUNDS: &str = "  - {id: d, uses: deploy, input: {env: prod}, output: {n: vars.n}, config: {while: {condition: \"vars.n < 5\", max_iterations: 9}}}\n";

#[test]
fn the_call_that_would_exceed_a_count_is_not_made() {
    for (steps, made, position) in [
        // What is known in advance holds the whole step back.
        ("  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2, 3]\", as: x}}}\n", 0, "item 2: "),
        (
            "  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2, 3]\", as: x, parallel: 3}}}\n",
            0,
            "item 2: ",
        ),
        (ROUNDS, 2, "iteration 2: "),
        ("  - {id: d, uses: flaky, config: {retry: {max_attempts: 5}}}\n", 2, "attempt 3 of 5: "),
        (
            "  - {id: d, uses: flaky, config: {foreach: {items: \"[1, 2]\", as: x, parallel: 2, on_error: continue}, retry: {max_attempts: 5}}}\n",
            2,
            "item 0, attempt 3 of 5: ",
        ),
        (
            "  - {id: a, uses: deploy, config: {foreach: {items: \"[1, 2]\", as: x}}}\n  - {id: d, uses: rollout}\n",
            2,
            "",
        ),
    ] {
        let world = world(steps);
        let (code, said) = run(&world, "2.json");
        assert_eq!((code, done(&world)), (1, made), "{steps}\n{said}");
        assert!(
            said.contains(&format!("  {position}policy few-deployments: Few deployments. Found: ")),
            "{said}"
        );
        assert_holds(&world);
        // Resuming judges again and calls nothing.
        let (code, again) = (world.ask(&["resume", "r"]).code, done(&world));
        assert_eq!((code, again), (1, made), "{steps}");
        assert_holds(&world);
    }
}

#[test]
fn a_step_that_was_stopped_between_its_calls_continues_without_repeating_any() {
    for loses_log in [false, true] {
        let world = world(ROUNDS);
        let (code, said) = run(&world, "2.json");
        assert_eq!((code, done(&world)), (1, 2), "{said}");
        assert!(said.contains("policies stopped step d between its calls"), "{said}");
        assert_eq!(said.matches("executed: deploy with").count(), 2, "{said}");
        let why = json(&world, &["why", "r"]);
        assert_eq!(why["executed"].as_array().unwrap().len(), 2, "{why}");
        let trace = json(&world, &["trace", "export", "r"]).to_string();
        assert!(trace.contains("Step d was stopped by policies before deploy with"), "{trace}");
        if loses_log {
            std::fs::remove_file(world.path(".hence/runs/r/calls.ndjson")).unwrap();
        }
        let (code, made) = (world.ask(&["resume", "r", "--policy", "4.json"]).code, done(&world));
        assert_eq!((code, made), (1, 4));
        assert_holds(&world);
        let (code, made) = (world.ask(&["resume", "r", "--policy", "40.json"]).code, done(&world));
        assert_eq!((code, made), (0, 5));
        assert_holds(&world);
        let trace = json(&world, &["trace", "export", "r"]);
        assert_eq!(of_type(&trace, "Deploy").len(), 5, "{trace}");
    }
}

/// Returns the actions of a type.
fn of_type<'t>(trace: &'t serde_json::Value, kind: &str) -> Vec<&'t serde_json::Value> {
    trace["actions"].as_array().unwrap().iter().filter(|action| action["type"] == kind).collect()
}

#[test]
fn a_trace_shows_every_deed_of_a_step_with_its_own_type_request_and_result() {
    let warning =
        r#"{"id": "plain", "severity": "warning", "formula": "G(¬(GitPush ∧ request.force = true))"}"#;
    let items = "  - {id: push, uses: push, config: {foreach: {items: \"[['origin'], ['--force']]\", as: arguments}}}\n";
    let world = self::world(items);
    world.write("plain.json", warning);
    assert_eq!(run(&world, "plain.json").0, 0);
    let trace = json(&world, &["trace", "export", "r"]);
    let pushes = of_type(&trace, "GitPush");
    assert_eq!(pushes.len(), 2, "{trace}");
    assert_eq!(
        (&pushes[0]["request"]["force"], &pushes[1]["request"]["force"]),
        (&json!(false), &json!(true))
    );
    assert_eq!((&pushes[0]["outputs"], pushes[1]["outputs"].as_array().unwrap().len()), (&json!([]), 1));
    let log = String::from_utf8(world.journal("r")).unwrap();
    assert!(log.contains(r#""policy":[{"note":"#), "the warning is recorded with the step");
    assert_eq!(world.ask(&["policy", "check", "r", "--policy", "engineering"]).code, 1);
    assert_holds(&world);

    let branches = "  - {id: s, uses: deploy, config: {scatter: {capabilities: [deploy, push, text.join]}}, input: {parts: [x]}}\n";
    let world = self::world(branches);
    assert_eq!(run(&world, "4.json").0, 0);
    let trace = json(&world, &["trace", "export", "r"]);
    assert_eq!((of_type(&trace, "Deploy").len(), of_type(&trace, "GitPush").len()), (1, 1), "{trace}");
    assert_holds(&world);

    let attempts = "  - {id: d, uses: flaky, config: {retry: {max_attempts: 3}}}\n";
    let world = self::world(attempts);
    assert_eq!((run(&world, "4.json").0, done(&world)), (1, 3));
    let trace = json(&world, &["trace", "export", "r"]);
    let failed = of_type(&trace, "Deploy");
    assert_eq!(failed.len(), 3, "{trace}");
    assert!(failed.iter().all(|action| action["result"]["status"] == "failed"), "{trace}");
    assert_holds(&world);
}

#[test]
fn a_later_call_of_a_step_is_judged_by_what_the_earlier_ones_did() {
    let once = r#"{"id": "once", "severity": "error", "formula": "G(Deploy → ¬P(Deploy))"}"#;
    let careful = r#"{"id": "careful", "severity": "error", "formula": "G(Deploy → ¬P(Deploy ∧ failed))"}"#;
    for (steps, rule, made) in [
        (
            "  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2, 3]\", as: x, parallel: 3}}}\n",
            once,
            1,
        ),
        (ROUNDS, once, 1),
        ("  - {id: d, uses: flaky, config: {retry: {max_attempts: 3}}}\n", careful, 1),
        (
            "  - {id: d, uses: flaky, config: {foreach: {items: \"[1, 2]\", as: x, on_error: continue}}}\n",
            careful,
            1,
        ),
        (
            "  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2]\", as: x, on_error: continue}}}\n",
            careful,
            2,
        ),
    ] {
        let world = world(steps);
        world.write("rule.json", rule);
        let (code, said) = run(&world, "rule.json");
        assert_eq!((code, done(&world)), (i32::from(made == 1), made), "{steps}{said}");
        assert_holds(&world);
        if code == 1 {
            assert_eq!((world.ask(&["resume", "r"]).code, done(&world)), (1, made), "{steps}");
        }
    }
}

#[test]
fn no_further_call_of_a_step_is_made_once_an_earlier_one_violated_a_rule_for_certain() {
    let works = r#"{"id": "works", "severity": "error", "formula": "G(Deploy → ¬failed)"}"#;
    let warns = r#"{"id": "works", "severity": "warning", "formula": "G(Deploy → ¬failed)"}"#;
    let items = |more: &str| {
        format!(
            "  - {{id: d, uses: flaky, config: {{foreach: {{items: \"[1, 2, 3]\", as: x, on_error: continue{more}}}}}}}\n"
        )
    };
    for (steps, rule, made, position) in [
        (items(""), works, 1, "item 1: "),
        (items(", parallel: 3"), works, 1, "item 1: "),
        (
            "  - {id: d, uses: flaky, config: {scatter: {capabilities: [flaky, deploy, rollout]}}}\n"
                .to_owned(),
            works,
            1,
            "branch 1: ",
        ),
        (
            "  - {id: d, uses: flaky, config: {retry: {max_attempts: 3}}}\n".to_owned(),
            works,
            1,
            "attempt 2 of 3: ",
        ),
        // A rule that only warns stops nothing.
        (items(""), warns, 3, ""),
    ] {
        let world = world(&steps);
        world.write("rule.json", rule);
        let (_, said) = run(&world, "rule.json");
        assert_eq!(done(&world), made, "{steps}{said}");
        assert_holds(&world);
        if made > 1 {
            continue;
        }
        assert!(said.contains(&format!("  {position}policy works: ")), "{said}");
        assert_eq!((world.ask(&["resume", "r"]).code, done(&world)), (1, made), "{steps}");
        // What was executed is an action although its step is blocked.
        let trace = json(&world, &["trace", "export", "r"]);
        assert_eq!(of_type(&trace, "Deploy").len(), 1, "{trace}");
        assert_eq!(world.ask(&["policy", "check", "r", "--policy", "rule.json"]).code, 1, "{steps}");
        world.ask(&["resume", "r", "--policy", "40.json"]);
        assert!(done(&world) > made, "{steps}");
        assert_holds(&world);
    }
}

#[test]
fn a_count_that_fits_lets_every_call_through_and_the_check_counts_alike() {
    for steps in [
        "  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2, 3, 4]\", as: x}}}\n",
        "  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2, 3, 4]\", as: x, parallel: 4}}}\n",
        "  - {id: d, uses: deploy, config: {foreach: {items: \"[1, 2, 3]\", as: x}}}\n  - {id: e, uses: rollout}\n",
        "  - {id: d, uses: deploy, config: {scatter: {capabilities: [deploy, rollout]}}}\n  - {id: e, uses: rollout}\n",
    ] {
        let world = world(steps);
        let (code, said) = run(&world, "4.json");
        assert_eq!(code, 0, "{steps}{said}");
        assert_holds(&world);
        let passes = world.ask(&["policy", "check", "r", "--policy", "4.json"]).code == 0;
        let is_over = world.ask(&["policy", "check", "r", "--policy", "2.json"]).code == 1;
        assert_eq!((passes, is_over), (true, true), "{steps}");
    }
}

#[test]
fn the_input_of_a_later_round_is_judged_before_its_call() {
    let steps = "  - {id: first, uses: arguments, output: {arguments: vars.arguments}}\n  \
                 - {id: push, uses: push, input: {arguments: vars.arguments}, output: {arguments: vars.arguments, n: vars.n}, config: {while: {condition: \"vars.n < 3\", max_iterations: 5}}}\n";
    let world = world(steps);
    let (code, said) = run(&world, "engineering");
    assert_eq!((code, done(&world)), (1, 1), "{said}");
    assert!(said.contains("iteration 1: policy no-force-push"), "{said}");
    assert_holds(&world);
    assert_eq!((world.ask(&["resume", "r"]).code, done(&world)), (1, 1));
}

#[test]
fn the_input_of_each_item_is_judged_before_any_call() {
    let steps = "  - {id: push, uses: push, config: {foreach: {items: \"['origin', '--force']\", as: arguments, parallel: 2}}}\n";
    let world = world(steps);
    let (code, said) = run(&world, "engineering");
    assert_eq!((code, done(&world)), (1, 0), "{said}");
    assert!(said.contains("item 1: policy no-force-push"), "{said}");
    assert_holds(&world);
}

#[test]
fn a_provider_cannot_pretend_that_policies_held_a_call_back() {
    let world = world("  - {id: d, uses: liar}\n");
    let liar = "  liar:\n    description: Fails\n    action: Deploy\n    provider: {kind: command, command: [/bin/sh, -c, \"cat >/dev/null; echo liar >> done; echo PolicyViolationError >&2; exit 3\"]}\n";
    world.write("capabilities.yaml", format!("{CAPABILITIES}{liar}"));
    let (code, said) = run(&world, "2.json");
    assert_eq!((code, done(&world)), (1, 1), "{said}");
    assert_eq!(json(&world, &["why", "r"])["standing"], "failed");
    assert_holds(&world);
}

fn question(id: &str, rest: &str) -> String {
    format!(
        "  - id: {id}\n    uses: human.ask\n    \
         input: {{question: \"{id}?\", options: [\"yes\", \"no\"], approves: [\"yes\"], rejects: [\"no\"]}}\n    \
         output: {{value: vars.{id}}}\n{rest}"
    )
}

#[test]
fn a_rejection_wins_over_an_approval_beside_it() {
    let note = "  - {id: note, uses: text.join, input: {parts: [x]}, output: {text: vars.text}}\n";
    let prepared =
        "  - {id: prepare, uses: text.join, input: {parts: [vars.one]}, output: {text: vars.prepared}}\n";
    let custom =
        r#"{"id": "approved", "severity": "error", "formula": "G(DeleteFile → P_chain(UserApproval))"}"#;
    for (delete, policy) in [
        ("input: {path: a, first: vars.one, second: vars.two}", "engineering"),
        ("input: {path: a, first: vars.one, second: vars.two}", "custom.json"),
        (
            "input: {path: a}, config: {condition: \"vars.one != vars.none and vars.two != 'x'\"}",
            "engineering",
        ),
        ("input: {path: a, first: vars.prepared}, config: {depends_on: [two, prepare]}", "engineering"),
        ("input: {path: a}, config: {depends_on: [one, two]}", "engineering"),
        ("input: {path: a}, config: {depends_on: [one, two]}", "custom.json"),
    ] {
        let delete = delete.replace("vars.none", "'none'");
        let steps = question(
            "one",
            &question("two", &format!("{prepared}{note}  - {{id: delete, uses: delete, {delete}}}\n")),
        );
        for (answers, code) in [(["yes", "no"], 1), (["no", "yes"], 1), (["yes", "yes"], 0)] {
            // What was made of a rejected answer does not reject: a later question may approve it.
            if answers == ["no", "yes"] && delete.contains("prepared") {
                continue;
            }
            let world = world(&steps);
            world.write("custom.json", custom);
            let (started, said) = run(&world, policy);
            assert_eq!(started, 3, "{said}");
            world.ask(&["answer", "r", "one", "--value", answers[0], "--by", "ada", "--resume"]);
            let last = world.ask(&["answer", "r", "two", "--value", answers[1], "--by", "ben", "--resume"]);
            assert_eq!(
                (last.code, done(&world)),
                (code, usize::from(code == 0)),
                "{delete} {answers:?} {policy}: {}",
                last.stderr
            );
            assert_holds(&world);
        }
    }
}

/// A problem whose evidence a capability acquires.
fn bound(policy: &str) -> World {
    let world = World::new();
    let problem = json!({
        "version": "1.0.0", "id": "r", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "Which one?"},
        "settings": {"bindings": {"AcquireEvidence": {"capability": "deploy", "input": {"force": {"value": true}}}}}
    });
    let capabilities = "capabilities:\n  deploy:\n    description: Deploy\n    action: Deploy\n    provider: {kind: command, command: [/bin/sh, -c, \"cat >/dev/null; echo deploy >> done; echo '{\\\"evidence\\\": []}'\"]}\n";
    world.write("capabilities.yaml", capabilities).write("problem.json", verified(problem).to_string());
    world.write("rule.json", json!({"id": "rule", "severity": "error", "formula": policy}).to_string());
    world.write("lenient.json", at_most(9));
    world
}

const BOUND: [&str; 8] =
    ["run", "problem.json", "--capabilities", "capabilities.yaml", "--run-id", "r", "--policy", "rule.json"];

#[test]
fn a_bound_step_that_acts_is_judged_before_its_call() {
    for rule in ["G(Deploy → P(Approve))", "count(Deploy) <= 0", "G(¬(request.input.force = true))"] {
        let world = bound(rule);
        let answer = world.ask(&BOUND);
        assert_eq!((answer.code, done(&world)), (1, 0), "{rule}: {}", answer.stderr);
        assert!(answer.stderr.contains("it was not executed"), "{}", answer.stderr);
        assert_holds(&world);
        assert_eq!((world.ask(&["resume", "r"]).code, done(&world)), (1, 0), "{rule}");
        assert_holds(&world);
        let resumed = world.ask(&["resume", "r", "--policy", "lenient.json"]);
        assert_eq!((resumed.code, done(&world)), (0, 1), "{rule}: {}", resumed.stderr);
        assert_holds(&world);
        let trace = json(&world, &["trace", "export", "r"]);
        let deployed = trace["actions"].as_array().unwrap().iter().find(|action| action["type"] == "Deploy");
        assert_eq!(deployed.unwrap()["request"]["input"]["force"], true, "{trace}");
    }
}

#[test]
fn the_commands_of_a_bound_step_are_read_as_what_they_do() {
    let program = |line: &str| format!("[/bin/sh, -c, {}]", json!(line));
    let reply = "cat >/dev/null; echo x >> done; echo '{\"evidence\": []}'";
    for (command, input, code) in [
        (program(reply), json!({"command": "git push --force origin main"}), 1),
        (program(reply), json!({"cmd": ["rm", "-rf", "data"]}), 1),
        (program(reply), json!({"script": "cd x && git push origin +main"}), 1),
        (program(reply), json!({"command": "git push origin main"}), 0),
        (program(reply), json!({"command": "ls"}), 0),
        (program(&format!("git push -f 2>/dev/null; {reply}")), json!({"n": 1}), 1),
    ] {
        let world = bound("count(Deploy) <= 9");
        let bound = json!({"capability": "shell", "input": {"n": {"value": 0}}});
        let mut problem: Value = serde_json::from_slice(&world.read("problem.json")).unwrap();
        problem["settings"]["bindings"]["AcquireEvidence"] = bound;
        let values: serde_json::Map<String, Value> = input
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| (key.clone(), json!({"value": value})))
            .collect();
        problem["settings"]["bindings"]["AcquireEvidence"]["input"] = values.into();
        world.write("problem.json", problem.to_string());
        world.write(
            "capabilities.yaml",
            format!("capabilities:\n  shell:\n    description: Run\n    provider: {{kind: command, command: {command}}}\n"),
        );
        let run = [&BOUND[..7], &["engineering"]].concat();
        let answer = world.ask(&run);
        assert_eq!((answer.code, done(&world)), (code, usize::from(code == 0)), "{input}: {}", answer.stderr);
        assert_holds(&world);
        if code == 0 {
            continue;
        }
        let resumed = world.ask(&["resume", "r", "--policy", "lenient.json"]);
        assert_eq!((resumed.code, done(&world)), (0, 1), "{input}: {}", resumed.stderr);
        let checked = json(&world, &["policy", "check", "r", "--policy", "engineering"]);
        let failed = checked["traces"][0]["verdicts"].as_array().unwrap().iter();
        let failed = failed.filter(|verdict| verdict["status"] == "failed").count();
        assert!(failed > 0, "{input}: {checked}");
        assert_holds(&world);
    }
}

#[test]
fn a_bound_step_that_was_executed_and_then_blocked_is_not_executed_again() {
    let world = bound("G(Deploy → result_summary = \"reviewed\")");
    let answer = world.ask(&BOUND);
    assert_eq!((answer.code, done(&world)), (1, 1), "{}", answer.stderr);
    assert!(answer.stderr.contains("was executed, then blocked"), "{}", answer.stderr);
    assert!(answer.stderr.contains("executed: deploy with {\"force\":true}"), "{}", answer.stderr);
    let records = world.journal("r");
    for _ in 0..2 {
        let again = world.ask(&["resume", "r"]);
        assert_eq!((again.code, done(&world)), (1, 1), "{}", again.stderr);
    }
    assert_eq!(world.journal("r"), records);
    let resumed = world.ask(&["resume", "r", "--policy", "lenient.json"]);
    assert_eq!((resumed.code, done(&world)), (0, 1), "{}", resumed.stderr);
    assert_holds(&world);
}

#[test]
fn the_end_of_a_run_and_a_check_of_it_count_alike() {
    for steps in ["  - {id: d, uses: deploy}\n", "  - {id: a, uses: arguments}\n", ROUNDS] {
        let world = world(steps);
        for pack in ["engineering", "budgets", "records", "reasoning", "data-flow"] {
            let report = json(&world, &["run", "work.yaml", "--fresh", "--run-id", pack, "--policy", pack]);
            let Some(counts) = report["policies"].as_object() else { continue };
            let checked = json(&world, &["policy", "check", pack]);
            let summary = &checked["summary"];
            for (ended, checked) in [
                ("exercised", "proven"),
                ("absent", "absent"),
                ("vacuous", "vacuous"),
                ("violated", "failed"),
            ] {
                assert_eq!(counts[ended], summary[checked], "{pack} {ended}: {summary}");
            }
        }
    }
}
