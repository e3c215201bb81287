//! Declared capabilities on the command line: refused with their place, pinned, stored, called once, gated.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::World;

const COUNTING: &str = r#"
capabilities:
  count.up:
    description: Counts how often it was called
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"said\": \"hello\"}'"]}
    input: {type: object, required: [name], properties: {name: {type: string, maxLength: 5}}}
    output: {type: object, required: [said], properties: {said: {type: string}}}
"#;

fn skill(steps: &str) -> String {
    format!(
        "id: x\nversion: 1.0.0\nname: X\ndescription: Calls\ninputs: {{}}\noutputs: {{}}\ncapabilities: capabilities.yaml\nsteps:\n{steps}"
    )
}

const CALL: &str = "  - {id: call, uses: count.up, input: {name: Ada}, output: {said: outputs.said}}\n";

fn world() -> World {
    let world = World::new();
    world.write("capabilities.yaml", COUNTING).write("skill.yaml", skill(CALL));
    world
}

fn run(world: &World, id: &str) -> Value {
    let answer = world.ask(&["run", "skill.yaml", "--run-id", id, "--json"]);
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

fn calls(world: &World) -> usize {
    std::fs::read_to_string(world.path("calls")).unwrap_or_default().lines().count()
}

#[test]
fn a_declared_capability_is_called_once_however_often_its_run_is_read() {
    let world = world();
    assert_eq!(run(&world, "once")["outputs"]["said"], "hello");
    for arguments in [&["replay", "once"][..], &["verify", "once"], &["resume", "once"], &["state", "once"]] {
        assert_eq!(world.ask(arguments).code, 0, "{}", world.cli(arguments));
    }
    assert_eq!(run(&world, "once")["start"], "already_ended");
    assert_eq!(calls(&world), 1);
    // The run pins a digest of the file.
    let problem: Value = serde_json::from_slice(&world.read(".hence/runs/once/problem.json")).unwrap();
    assert_eq!(problem["settings"]["capabilities"]["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_run_resumes_with_the_capabilities_it_was_started_with() {
    let world = world();
    run(&world, "old");
    let whole = world.journal("old");
    let header = whole.split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    world.set_journal("old", header);
    let changed = COUNTING.replace("hello", "goodbye").replace("count.up", "count.down");
    world.write("capabilities.yaml", changed);
    assert_snapshot!(world.refused(&["resume", "old", "--capabilities", "capabilities.yaml"]), @r"
    --- stderr
    error[E0321]: run old pins capabilities 0cd17b7f, the files given say ceb3c408
      capability `count.up` is not there any more
      capability `count.down` is new
    hint: leave --capabilities out to continue with the capabilities stored with the run; `hence explain E0321` says more
    [exit 1]
    ");
    assert_snapshot!(world.refused(&["replay", "old", "--capabilities", "capabilities.yaml"]), @r"
    --- stderr
    error[E0321]: run old pins capabilities 0cd17b7f, the files given say ceb3c408
      capability `count.up` is not there any more
      capability `count.down` is new
    hint: leave --capabilities out to continue with the capabilities stored with the run; `hence explain E0321` says more
    [exit 1]
    ");
    // The run resumes with the copy stored next to it.
    assert_eq!(world.ask(&["resume", "old"]).code, 0, "{}", world.cli(&["resume", "old"]));
    assert!(world.journal("old") == whole);
    // A fork may use other capabilities, and is another run.
    let kept = COUNTING.replace("hello", "goodbye");
    world.write("new.yaml", kept);
    let fork = ["fork", "old", "--from", "call", "--capabilities", "new.yaml", "--yes", "--json"];
    assert_eq!(world.ask(&fork).json()["outputs"]["said"], "goodbye", "{}", world.cli(&fork));
    assert!(world.journal("old") == whole);
    // The same words in another place are the same.
    world.write("elsewhere/same.yaml", COUNTING);
    assert_eq!(world.ask(&["replay", "old", "--capabilities", "elsewhere/same.yaml"]).code, 0);
}

#[test]
fn a_run_without_its_capabilities_is_refused() {
    let world = world();
    run(&world, "bare");
    std::fs::remove_file(world.path(".hence/runs/bare/capabilities.json")).unwrap();
    assert_snapshot!(world.refused(&["resume", "bare"]), @r"
    --- stderr
    error[E0321]: bare: the capabilities it was run with are missing
    hint: name the file the run was started with: --capabilities FILE; `hence explain E0321` says more
    [exit 1]
    ");
    assert_eq!(world.ask(&["resume", "bare", "--capabilities", "capabilities.yaml"]).code, 0);
    world.write(".hence/runs/bare/capabilities.json", r#"{"files": []}"#);
    assert!(world.refused(&["resume", "bare"]).contains("E0321"));
}

#[test]
fn a_capabilities_file_is_refused_with_every_finding_in_its_line() {
    let world = world();
    world.write(
        "capabilities.yaml",
        "capabilities:\n  a:\n    description: x\n    provider: {kind: command, command: [x], shell: true}\n    trust: high\n  text.split:\n    provider: {kind: command, command: []}\n",
    );
    assert_snapshot!(world.refused(&["run", "skill.yaml"]), @r#"
    --- stderr
    error[E0320]: capabilities.yaml is refused: 5 findings
      capabilities.yaml:4:45: at `/capabilities/a/provider/shell`: unknown member; expected command, directory, environment, kind, secret_environment
      capabilities.yaml:5:5: at `/capabilities/a/trust`: expected one of sandbox, standard, elevated, privileged, found "high"
      capabilities.yaml:6:3: at `/capabilities/text.split`: `text.split` is the id of a built-in capability
      capabilities.yaml:6:3: at `/capabilities/text.split`: `description` is missing
      capabilities.yaml:7:5: at `/capabilities/text.split/provider`: `command` is a list that begins with a program
    hint: fix what is listed; `hence schema capabilities` describes the file; `hence explain E0320` says more
    [exit 1]
    "#);
    let checked = world.cli(&["check", "skill.yaml"]);
    assert!(checked.contains("capabilities.yaml:7:5: ") && checked.contains("5 errors"), "{checked}");
    world.write("capabilities.yaml", "capabilities: [");
    assert!(world.refused(&["run", "skill.yaml"]).contains("E0101"));
    std::fs::remove_file(world.path("capabilities.yaml")).unwrap();
    assert!(world.refused(&["run", "skill.yaml"]).contains("E0401"));
    let problem = hence_testkit::cli::problem("p");
    world.write("problem.json", problem.to_string());
    assert!(world.refused(&["run", "problem.json", "--capabilities", "x"]).contains("binds no step"));
}

#[test]
fn check_compares_fixed_values_with_the_contract() {
    let world = world();
    world.write("skill.yaml", skill(&CALL.replace("Ada", "Adelaide")));
    assert_snapshot!(world.cli(&["check", "skill.yaml"]), @r#"
    error[contract]: `count.up`: this is longer than 5 characters
     --> skill.yaml:9:46
      |
    9 |   - {id: call, uses: count.up, input: {name: Adelaide}, output: {said: outputs.said}}
      |                                              ^^^^^^^^

    skill.yaml: cannot run; 1 error, 0 warnings
    [exit 1]
    "#);
    world.write("skill.yaml", skill(&CALL.replace("name: Ada", "title: Ada")));
    assert!(world.cli(&["check", "skill.yaml"]).contains("the required input `name` is not given"));
}

#[test]
fn a_contract_that_is_broken_fails_the_step() {
    let world = world();
    let steps = "  - {id: make, uses: text.join, input: {parts: [Ade, laide]}, output: {text: vars.name}}\n  - {id: call, uses: count.up, input: {name: vars.name}, output: {said: outputs.said}}\n";
    world.write("skill.yaml", skill(steps));
    let report = run(&world, "input");
    let message = report["failure"]["message"].as_str().unwrap();
    assert!(
        message.contains("the input does not fit: at `/name`: this is longer than 5 characters"),
        "{message}"
    );
    assert_eq!(calls(&world), 0);
    world.write("capabilities.yaml", COUNTING.replace(r#"\"hello\""#, "7"));
    world.write("skill.yaml", skill(CALL));
    // It acts and has replied: only a person can say what came of it.
    let report = run(&world, "output");
    let message = report["waiting"][0]["question"].as_str().unwrap();
    assert!(
        message.contains("the output does not fit: at `/said`: this is not of type \"string\""),
        "{message}"
    );
}

/// A capability that leaves a trace when it is called, and a gate before it that only lets `ok: true` through.
fn gated(gate: &str, after: bool) -> String {
    let key = if after { "after" } else { "before" };
    format!(
        r#"
capabilities:
  guarded:
    description: Leaves a trace
    provider: {{kind: command, command: [/bin/sh, -c, "echo x >> calls; echo '{{\"done\": 1}}'"]}}
    gates: {{{key}: [gate]}}
  gate:
    description: Lets through or not
    effects: reads
    timeout_seconds: 1
    provider: {{kind: command, command: [/bin/sh, -c, {}]}}
"#,
        json!(gate)
    )
}

/// Every way in which a step can call something.
const WAYS: [(&str, &str); 5] = [
    ("plain", "  - {id: s, uses: guarded, input: {a: 1}, output: {done: outputs.done}}\n"),
    (
        "router",
        "  - {id: s, uses: data.value, input: {value: 1}, output: {done: outputs.done}, config: {router: {on: \"'x'\", cases: {'\"x\"': guarded}, default: guarded}}}\n",
    ),
    (
        "scatter",
        "  - {id: s, uses: data.value, input: {value: 1}, output: {guarded: outputs.done}, config: {scatter: {capabilities: [data.value, guarded]}}}\n",
    ),
    (
        "foreach",
        "  - {id: s, uses: guarded, input: {a: 1}, output: {done: outputs.done}, config: {foreach: {items: \"[1, 2]\", parallel: 2, on_error: continue}}}\n",
    ),
    (
        "while",
        "  - {id: s, uses: guarded, input: {a: 1}, output: {done: outputs.done}, config: {while: {condition: \"false\"}}}\n",
    ),
];

#[test]
fn a_gate_is_asked_before_every_call_and_fails_closed() {
    for (way, steps) in WAYS {
        for (gate, expected) in [
            (r#"echo '{"allowed": false, "reason": "not today"}'"#, "gate `gate` denies: not today"),
            (r#"echo '{"allowed": "true"}'"#, "gate `gate` denies: no reason given"),
            ("exit 1", "gate `gate`: CommandFailed"),
            ("echo nonsense", "gate `gate`: CommandOutputInvalid"),
            ("echo '[]'", "gate `gate` answers with an object"),
        ] {
            let world = World::new();
            world.write("capabilities.yaml", gated(gate, false)).write("skill.yaml", skill(steps));
            let report = run(&world, "gated");
            assert_eq!(report["status"], "failed", "{way} {gate}: {report}");
            let message = report["failure"]["message"].as_str().unwrap();
            assert!(message.contains(expected), "{way} {gate}: {message}");
            assert_eq!(calls(&world), 0, "{way} {gate}");
        }
    }
}

#[test]
fn a_gate_after_a_call_sees_its_output_and_can_refuse_it() {
    for (way, steps) in WAYS {
        let world = World::new();
        let gate = r#"if [ "$(cat)" = '{"done":1}' ]; then echo '{"allowed": false, "reason": "seen"}'; fi"#;
        world.write("capabilities.yaml", gated(gate, true)).write("skill.yaml", skill(steps));
        let report = run(&world, "gated");
        let message = report["failure"]["message"].as_str().unwrap();
        assert!(message.contains("gate `gate` denies: seen"), "{way}: {message}");
        assert!(calls(&world) > 0 && report["outputs"] == json!({}), "{way}: {report}");
    }
}

#[test]
fn a_gate_that_agrees_lets_every_call_through() {
    for (way, steps) in WAYS {
        let world = World::new();
        world
            .write("capabilities.yaml", gated(r#"echo '{"allowed": true}'"#, false))
            .write("skill.yaml", skill(steps));
        let report = run(&world, "gated");
        assert_eq!(report["status"], "completed", "{way}: {report}");
        assert_eq!(world.ask(&["replay", "gated"]).code, 0, "{way}: {}", world.cli(&["replay", "gated"]));
        assert_eq!(calls(&world), if way == "foreach" { 2 } else { 1 }, "{way}");
    }
}

/// A capability that leaves a trace when it is called, with a safety rule.
fn guarded(rule: &str) -> World {
    let world = World::new();
    let file = gated("true", false).replace("gates: {before: [gate]}", rule);
    world.write("capabilities.yaml", file).write("skill.yaml", skill(WAYS[0].1));
    world
}

#[test]
fn a_call_that_needs_confirmation_waits_for_a_person() {
    for (answer, status, called) in [("\"yes\"", "completed", 1), ("\"no\"", "failed", 0)] {
        let world = guarded("confirmation: required");
        let waiting = world.ask(&["run", "skill.yaml", "--run-id", "w"]);
        assert_eq!(waiting.code, 3, "{}", waiting.stderr);
        assert!(
            world.cli(&["why", "w"]).contains("May `guarded` be called with this?"),
            "{}",
            world.cli(&["why", "w"])
        );
        assert_eq!(calls(&world), 0);
        let answered =
            world.ask(&["answer", "w", "s", "--value", answer, "--by", "ada", "--resume", "--json"]).json();
        assert_eq!(answered["status"], status, "{answered}");
        assert_eq!(calls(&world), called);
        assert_eq!(world.ask(&["replay", "w"]).code, 0, "{}", world.cli(&["replay", "w"]));
        assert_eq!(world.ask(&["verify", "w"]).code, 0, "{}", world.cli(&["verify", "w"]));
    }
}

#[test]
fn trust_is_required_and_pinned() {
    let world = guarded("trust: elevated");
    let report = run(&world, "low");
    let message = report["failure"]["message"].as_str().unwrap();
    assert!(message.contains("`guarded` demands more trust than the caller has"), "{message}");
    let arguments = ["run", "skill.yaml", "--run-id", "high", "--trust", "elevated"];
    assert_eq!(world.ask(&arguments).code, 0, "{}", world.cli(&arguments));
    assert_eq!(calls(&world), 1);
    assert_eq!(world.ask(&["replay", "high"]).code, 0);
    // Another trust is another run.
    assert!(world.refused(&["run", "skill.yaml", "--run-id", "high"]).contains("E0204"));
    assert_eq!(world.ask(&["run", "skill.yaml", "--trust", "total"]).code, 2);
}

#[test]
fn a_step_that_ended_before_its_call_verifies_and_replays() {
    let world = world();
    let refused = skill(&CALL.replace("Ada", "inputs.name"));
    world.write("refused.yaml", refused.replace("inputs: {}", "inputs: {name: {type: string}}"));
    let runs: [(&str, &[&str]); 4] = [
        ("contract", &["refused.yaml", "--input", "name=Nebuchadnezzar"]),
        ("continued", &["refused.yaml", "--input", "name=Nebuchadnezzar", "--on-failure", "continue"]),
        ("limit", &["skill.yaml", "--max-calls", "0"]),
        ("time", &["skill.yaml", "--max-seconds", "0"]),
    ];
    for (id, arguments) in runs {
        let answer = world.ask(&[&["run"], arguments, &["--run-id", id]].concat());
        assert!(answer.code == 1 || id == "continued", "{id}: {}", answer.stderr);
        for command in ["verify", "replay"] {
            assert_eq!(world.ask(&[command, id]).code, 0, "{id}: {}", world.cli(&[command, id]));
        }
    }
    assert_eq!(calls(&world), 0);
}

#[test]
fn a_gate_that_acts_does_not_pass_unjudged_under_policies_that_block() {
    let world = world();
    let gated = r#"
capabilities:
  look.up:
    description: Reads
    effects: reads
    gates: {before: [note.down]}
    provider: {kind: command, command: [/bin/sh, -c, "printf '{}'"]}
  note.down:
    description: A gate that acts
    action: GitCommit
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"allowed\": true}'"]}
"#;
    world.write("capabilities.yaml", gated).write("skill.yaml", skill("  - {id: look, uses: look.up}\n"));
    let run = ["run", "skill.yaml", "--run-id", "r", "--policy", "engineering"];
    let refused = world.ask(&run);
    assert_eq!((refused.code, calls(&world)), (1, 0), "{}", refused.stderr);
    assert!(refused.stderr.contains("gate note.down: policy tests-pass-before-commit"), "{}", refused.stderr);
    for command in ["verify", "replay"] {
        assert_eq!(world.ask(&[command, "r"]).code, 0, "{}", world.cli(&[command, "r"]));
    }
    world.write("lenient.json", r#"{"id": "few", "severity": "error", "formula": "count(action) <= 20"}"#);
    assert_eq!(world.ask(&["resume", "r", "--policy", "lenient.json"]).code, 0);
    assert_eq!(calls(&world), 1);
    let trace = world.ask(&["trace", "export", "r", "--json"]).json();
    let types: Vec<&str> =
        trace["actions"].as_array().unwrap().iter().map(|action| action["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["ReadDocumentation", "GitCommit", "RunCommand"], "{trace}");
}
