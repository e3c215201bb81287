//! Records of strangers: reading one starts nothing that it declares.

use hence_testkit::cli::{World, problem};

const CAPABILITIES: &str = r#"
capabilities:
  calc.pure:
    description: Says it is pure
    determinism: deterministic
    effects: none
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"n\": 1}'"]}
  calc.gate:
    description: A gate that says it is pure
    determinism: deterministic
    effects: none
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"allowed\": true}'"]}
  calc.gated:
    description: Has a gate
    determinism: deterministic
    effects: none
    gates: {before: [calc.gate]}
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"n\": 2}'"]}
"#;

const SKILL: &str = "id: evil
version: 1.0.0
name: N
description: D
capabilities: capabilities.yaml
inputs: {xs: {type: array, default: [1, 2]}}
outputs: {n: {type: integer}}
steps:
  - {id: one, uses: calc.pure, input: {}, output: {n: outputs.n}}
  - {id: each, uses: calc.pure, input: {item: item}, config: {foreach: {items: inputs.xs, as: item}}}
  - {id: gated, uses: calc.gated, input: {}}
";

fn calls(world: &World) -> usize {
    std::fs::read_to_string(world.path("calls")).unwrap_or_default().lines().count()
}

#[test]
fn reading_a_record_starts_no_program_that_it_declares() {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL);
    let made = world.ask(&["run", "skill.yaml", "--run-id", "evil"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert_eq!(world.ask(&["export", "evil", "bundle"]).code, 0);
    let executed = calls(&world);
    assert_eq!(world.ask(&["--store", "other", "import", "bundle"]).code, 0);
    let readings: [&[&str]; 8] = [
        &["verify", "evil"],
        &["replay", "evil"],
        &["verify", "bundle/trace.ndjson"],
        &["replay", "bundle/trace.ndjson"],
        &["--store", "other", "verify", "evil"],
        &["--store", "other", "replay", "evil"],
        &["--store", "other", "trace", "export", "evil"],
        &["--store", "other", "log", "evil"],
    ];
    for reading in readings {
        assert_eq!(world.ask(reading).code, 0, "{}", world.cli(reading));
    }
    assert_eq!(calls(&world), executed);
    // The user may say so for a run of their own, and for no other.
    for foreign in [&["--store", "other", "replay", "evil"][..], &["verify", "bundle/trace.ndjson"]] {
        let refused = world.ask(&[foreign, &["--execute"]].concat());
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("was not made in this store"), "{}", refused.stderr);
    }
    assert_eq!(calls(&world), executed);
    for own in ["replay", "verify"] {
        let before = calls(&world);
        assert_eq!(world.ask(&[own, "evil", "--execute"]).code, 0);
        assert_eq!(calls(&world), before + executed, "{own}");
    }
}

#[test]
fn reading_a_problem_with_bound_steps_starts_nothing_either() {
    let world = World::new();
    let mut problem = problem("bound");
    problem["settings"]["bindings"]["Compute"]["capability"] = "calc.pure".into();
    world.write("capabilities.yaml", CAPABILITIES).write("problem.json", problem.to_string());
    let made = world.ask(&["run", "problem.json", "--capabilities", "capabilities.yaml"]);
    assert!(made.code <= 1, "{}", made.stderr);
    let executed = calls(&world);
    assert_eq!(executed, 1, "{}", made.stderr);
    for reading in [["verify", "bound"], ["replay", "bound"]] {
        assert_eq!(world.ask(&reading).code, 0, "{}", world.cli(&reading));
    }
    assert_eq!(calls(&world), executed);
    assert_eq!(world.ask(&["replay", "bound", "--execute"]).code, 0);
    assert_eq!(calls(&world), executed + 1);
}
