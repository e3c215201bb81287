//! Calls that were begun and that no record has yet are actions of the exported trace, so that rules apply to them.

use hence_testkit::cli::{World, verified};
use serde_json::{Value, json};

use crate::guard::json;

const HEAD: &str = "\
id: work
version: 1.0.0
name: Work
description: Acts
inputs: {}
outputs: {}
capabilities: capabilities.yaml
skills: [inner.yaml]
steps:
";

/// `push` ends by a signal unless its input is `fine`: nobody knows whether it took effect. `deploy` does, too.
const CAPABILITIES: &str = r#"
capabilities:
  push:
    description: Push the branch
    action: GitPush
    provider: {kind: command, command: [/bin/sh, -c, "grep -q fine && echo '{}' && exit; kill -9 $$"]}
  deploy:
    description: Deploy
    action: Deploy
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; kill -9 $$"]}
"#;

const INNER: &str = "\
id: inner
version: 1.0.0
name: Inner
description: Pushes inside
inputs: {}
outputs: {}
steps:
  - {id: inside, uses: push, input: {arguments: [--force]}}
";

fn world(steps: &str) -> World {
    let world = World::new();
    world
        .write("work.yaml", format!("{HEAD}{steps}"))
        .write("inner.yaml", INNER)
        .write("capabilities.yaml", CAPABILITIES);
    world
}

fn of_type(trace: &Value, kind: &str) -> Vec<Value> {
    let actions = trace["actions"].as_array().unwrap();
    actions.iter().filter(|action| action["type"] == kind).cloned().collect()
}

/// Returns the verdict about forced pushes.
fn verdict(world: &World) -> Value {
    let arguments = ["policy", "check", "r", "--policy", "engineering", "--only", "no-force-push"];
    json(world, &arguments)["traces"][0]["verdicts"][0].clone()
}

#[test]
fn an_undecided_call_is_an_action_whose_status_is_unknown() {
    for (steps, count) in [
        ("  - {id: push, uses: push, input: {arguments: [--force]}}\n", 1),
        (
            "  - {id: push, uses: push, config: {foreach: {items: \"[['fine'], ['--force']]\", as: arguments}}}\n",
            2,
        ),
        (
            "  - {id: push, uses: push, input: {arguments: [--force], parts: [x]}, config: {scatter: {capabilities: [push, text.join]}}}\n",
            1,
        ),
        ("  - {id: nest, uses: \"skill:inner\"}\n", 1),
    ] {
        let world = world(steps);
        let ran = world.ask(&["run", "work.yaml", "--run-id", "r"]);
        assert_eq!(ran.code, 3, "{steps}{}", ran.stderr);
        let trace = json(&world, &["trace", "export", "r"]);
        let pushes = of_type(&trace, "GitPush");
        assert_eq!(pushes.len(), count, "{steps}{trace}");
        let last = pushes.last().unwrap();
        assert_eq!((&last["result"]["status"], &last["request"]["force"]), (&json!("unknown"), &json!(true)));
        assert_eq!(last["evidence"][0]["ref"], "hence why r", "{last}");
        assert!(pushes.iter().take(count - 1).all(|push| push["result"]["status"] == "completed"), "{trace}");
        world.write("t.json", trace.to_string());
        assert_eq!(
            world.ask(&["trace", "validate", "t.json"]).code,
            0,
            "{}",
            world.cli(&["trace", "validate", "t.json"])
        );
        let found = verdict(&world);
        assert_eq!(found["status"], "failed", "it is not absent: {found}");
        // Given up, the call is in the record, once.
        let why = json(&world, &["why", "r"]);
        let key = why["waiting"][0]["key"].as_str().unwrap().to_owned();
        let given = world.ask(&["answer", "r", &key, "--fail", "--by", "ada", "--resume"]);
        // A branch that succeeded leaves a part of the step.
        let code = if steps.contains("scatter") { 5 } else { 1 };
        assert_eq!(given.code, code, "{steps}{}", given.stderr);
        let trace = json(&world, &["trace", "export", "r"]);
        assert_eq!(of_type(&trace, "GitPush").len(), count, "{steps}{trace}");
        assert_eq!(verdict(&world)["status"], "failed");
    }
}

#[test]
fn a_call_that_a_person_decided_to_repeat_stays_an_action_until_it_is_recorded() {
    let world = world("  - {id: push, uses: push, input: {arguments: [--force]}}\n");
    assert_eq!(world.ask(&["run", "work.yaml", "--run-id", "r"]).code, 3);
    assert_eq!(world.ask(&["answer", "r", "push", "--retry"]).code, 0);
    assert_eq!(verdict(&world)["status"], "failed", "nobody knows whether the first attempt happened");
}

#[test]
fn the_undecided_call_of_a_bound_step_is_an_action() {
    let world = world("");
    let problem = json!({
        "version": "1.0.0", "id": "r", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "Which one?"},
        "settings": {"bindings": {"AcquireEvidence": {"capability": "deploy", "input": {"to": {"value": "prod"}}}}}
    });
    world.write("problem.json", verified(problem).to_string());
    world.write("rule.json", r#"{"id": "none", "severity": "error", "formula": "G(¬(Deploy ∧ ¬failed))"}"#);
    let run = ["run", "problem.json", "--capabilities", "capabilities.yaml", "--run-id", "r"];
    assert_eq!(world.ask(&run).code, 3);
    let check = ["policy", "check", "r", "--policy", "rule.json"];
    let trace = json(&world, &["trace", "export", "r"]);
    let deployed = of_type(&trace, "Deploy");
    assert_eq!((deployed.len(), &deployed[0]["result"]["status"]), (1, &json!("unknown")), "{trace}");
    assert_eq!(deployed[0]["request"]["input"], json!({"to": "prod"}), "{trace}");
    assert_eq!(world.ask(&check).code, 1);
    world.ask(&["answer", "r", "AcquireEvidence", "--fail", "--by", "ada", "--resume"]);
    let trace = json(&world, &["trace", "export", "r"]);
    let deployed = of_type(&trace, "Deploy");
    assert_eq!((deployed.len(), &deployed[0]["result"]["status"]), (1, &json!("unknown")), "{trace}");
    assert_eq!(world.ask(&check).code, 1);
}
