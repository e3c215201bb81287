//! Action types of skills and capabilities: known ones are kept, unknown ones are refused, and traces say what rules ask.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::World;

/// A capability that gives back its input, under any action type.
const CAPABILITIES: &str = "\
capabilities:
  echo.it:
    description: Gives its input back
    provider: {kind: command, command: [/bin/cat]}
";

fn skill(metadata: &str, steps: &str) -> String {
    format!(
        "id: x\nversion: 1.0.0\nname: X\ndescription: Does things\ninputs: {{}}\noutputs: {{}}\ncapabilities: capabilities.yaml\nmetadata: {metadata}\nsteps:\n{steps}"
    )
}

fn world(metadata: &str, steps: &str) -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill(metadata, steps));
    world
}

fn exported(world: &World) -> Value {
    let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--on-failure", "continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    world.ask(&["trace", "export", "r", "--json"]).json()
}

const ONE: &str = "  - {id: open, uses: echo.it, input: {n: 1}}\n";

#[test]
fn an_unknown_action_type_of_a_skill_is_refused_with_a_suggestion() {
    for (metadata, found) in [
        ("{actions: {open: Deploi}}", "`Deploi` is not an action type; did you mean `Deploy`?"),
        ("{actions: {open: GitCommitt}}", "did you mean `GitCommit`?"),
        ("{actions: {echo.it: Publish}}", "`custom_actions: [Publish]` declares it"),
        ("{actions: {opne: Deploy}}", "the skill has no step or callee `opne`"),
        ("{actions: {open: 3}}", "expected an action type, found"),
        ("{actions: [Deploy]}", "expected an object from steps to action types"),
        ("{custom_actions: [publish]}", "a custom action type is a capital letter"),
        ("{tags: {opne: [destructive]}}", "the skill has no step `opne`"),
    ] {
        let world = world(metadata, ONE);
        let checked = world.ask(&["check", "skill.yaml"]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.code, 1, "{metadata}: {said}");
        assert!(said.contains("error[unknown-action]") && said.contains(found), "{metadata}: {said}");
        let ran = world.ask(&["run", "skill.yaml"]);
        assert!(ran.code != 0 && ran.stderr.contains("unknown-action"), "{metadata}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_action_type_of_a_capability_is_refused_when_its_file_is_read() {
    let world = world("{}", ONE);
    world.write(
        "capabilities.yaml",
        CAPABILITIES.replace("    provider", "    action: Releese\n    provider"),
    );
    assert_snapshot!(world.cli(&["run", "skill.yaml"]), @r"
    --- stderr
    error[E0320]: capabilities.yaml is refused: 1 finding
      capabilities.yaml:4:5: at `/capabilities/echo.it/action`: `Releese` is not an action type; did you mean `Release`?
    hint: fix what is listed; `hence schema capabilities` describes the file; `hence explain E0320` says more
    [exit 1]
    ");
}

#[test]
fn a_callee_that_only_computes_or_reads_is_no_deed() {
    let reads = "  look.up:\n    description: Reads\n    effects: reads\n    provider: {kind: command, command: [/bin/cat]}\n";
    let joined = "  - {id: open, uses: text.join, input: {parts: [a]}}\n";
    let looked = "  - {id: open, uses: look.up, input: {n: 1}}\n";
    for (metadata, steps, found) in [
        ("{actions: {open: GitCommit}}", joined, "`text.join` only computes"),
        ("{actions: {text.join: EditFile}}", joined, "`text.join` only computes"),
        ("{actions: {open: Deploy}}", looked, "`look.up` only reads"),
        ("{actions: {open: RunTests}}", looked, ""),
        ("{actions: {open: Deploy}}", ONE, ""),
    ] {
        let world = world(metadata, steps);
        world.write("capabilities.yaml", format!("{CAPABILITIES}{reads}"));
        let checked = world.ask(&["check", "skill.yaml"]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.code, i32::from(!found.is_empty()), "{metadata}{steps}: {said}");
        assert!(said.contains(found), "{metadata}{steps}: {said}");
        assert_eq!(world.ask(&["run", "skill.yaml"]).code == 0, found.is_empty(), "{metadata}{steps}");
    }
    let world = world("{}", ONE);
    world.write(
        "capabilities.yaml",
        format!("{CAPABILITIES}{}", reads.replace("    effects", "    action: GitPush\n    effects")),
    );
    let refused = world.ask(&["run", "skill.yaml"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("changes something, and `effects` is reads"),
        "{}",
        refused.stderr
    );
}

#[test]
fn gaps_that_a_skill_declares_are_checked_and_exported() {
    for (metadata, found) in [
        ("{gaps: {}}", "expected a list of gaps"),
        ("{gaps: [{kind: unsure, statement: x}]}", "expected one of assumption"),
        ("{gaps: [{kind: assumption}]}", "expected a text that says"),
        ("{gaps: [{kind: assumption, statement: x, severity: huge}]}", "expected one of"),
    ] {
        let checked = world(metadata, ONE).ask(&["check", "skill.yaml"]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.code == 1 && said.contains(found), "{metadata}: {said}");
    }
    let world =
        world("{gaps: [{kind: unverified, severity: high, statement: Not tested, check: Test it}]}", ONE);
    let trace = exported(&world);
    let gap =
        trace["residuals"].as_array().unwrap().iter().find(|gap| gap["residual_id"] == "declared-1").unwrap();
    let expected = json!(["unverified", "high", "Not tested", "Test it", "agent_declared", "open"]);
    let found =
        ["kind", "severity", "statement", "suggested_check", "source", "status"].map(|key| gap[key].clone());
    assert_eq!(Value::from(found.to_vec()), expected, "{gap}");
}

#[test]
fn types_of_the_packs_and_declared_types_are_kept_in_the_trace() {
    let steps = "  - {id: open, uses: echo.it, input: {n: 1}}\n  - {id: choose, uses: echo.it, input: {n: 2}}\n  - {id: certify, uses: echo.it, input: {n: 3}}\n";
    let metadata = "{actions: {open: Deploy, choose: Decision, certify: CertificationRun}, custom_actions: [CertificationRun]}";
    let world = world(metadata, steps);
    let trace = exported(&world);
    let types: Vec<(&str, &str)> = trace["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| (action["type"].as_str().unwrap(), action["category"].as_str().unwrap()))
        .collect();
    assert_eq!(
        types,
        [
            ("ReadDocumentation", "activity"),
            ("Deploy", "activity"),
            ("Decision", "gateway"),
            ("CertificationRun", "activity")
        ]
    );
    world.write("trace.json", trace.to_string());
    let validated = world.ask(&["trace", "validate", "trace.json"]);
    let said = String::from_utf8_lossy(&validated.stdout).into_owned();
    assert_eq!(validated.code, 0, "{said}");
    assert!(said.contains("action.type.unknown"), "{said}");
    // The deployment that no one approved is seen.
    let checked = world.ask(&["policy", "check", "r", "--policy", "oversight"]);
    assert_eq!(checked.code, 1, "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn a_capabilities_file_declares_types_of_its_own() {
    let world = world("{}", ONE);
    let file = CAPABILITIES.replace("    provider", "    action: Publish\n    provider");
    world.write("capabilities.yaml", format!("custom_actions: [Publish]\n{file}"));
    assert_eq!(exported(&world)["actions"][1]["type"], "Publish");
}

#[test]
fn a_trace_says_what_rules_ask_for() {
    let steps = "  \
  - {id: edit, uses: echo.it, input: {path: src/cart.py, content: 'x = 1', duration_ms: 1200}}
  - {id: tests, uses: echo.it, input: {summary: '3 failed, 2 passed', exit_code: 1}}
  - {id: push, uses: echo.it, input: {arguments: [origin, main, --force-with-lease]}}
  - {id: env, uses: echo.it, input: {path: .env, content: 'TOKEN=sk-abcdefghijklmnop1234'}}
";
    let metadata = "{actions: {edit: EditFile, tests: RunTests, push: GitPush, env: CreateFile}, tags: {push: [destructive]}}";
    let world = world(metadata, steps);
    let trace = exported(&world);
    let action = |index: usize| &trace["actions"][index];
    assert_eq!(trace["files_modified"], json!(["src/cart.py", ".env"]));
    assert_eq!(action(1)["request"]["path"], "src/cart.py");
    assert_eq!(action(1)["evidence"][1], json!({"type": "FileRef", "ref": "src/cart.py"}));
    assert_eq!(action(1)["execution"]["duration_ms"], 1200);
    assert_eq!(action(1)["execution"]["status"], "completed");
    assert_eq!(action(1)["result"]["status"], "completed");
    assert_eq!(action(2)["evidence"][0]["exit_code"], 1);
    assert_eq!(action(2)["result"]["exit_code"], 1);
    assert_eq!(action(2)["result"].get("status"), None, "a check says itself how it ended");
    assert_eq!(action(3)["request"]["force"], true);
    assert_eq!(action(3)["request"]["arguments"], json!(["origin", "main", "--force-with-lease"]));
    assert_eq!(action(3)["tags"], json!(["destructive"]));
    assert_eq!(action(4)["request"]["contains_secret"], true);
    let made =
        trace["artifacts"].as_array().unwrap().iter().find(|made| made["artifact_id"] == "env#1").unwrap();
    assert_eq!(made["metadata"]["contains_secret"], true);
    assert!(!trace.to_string().contains("abcdefghijklmnop"), "{trace}");
}

#[test]
fn the_vocabulary_is_printed() {
    let world = World::new();
    let shown = String::from_utf8_lossy(&world.ask(&["policy", "actions"]).stdout).into_owned();
    assert_eq!(shown.lines().count(), 75, "{shown}");
    for word in ["GitCommit", "Deploy", "UserApproval", "RecordAudit"] {
        assert!(shown.contains(word), "{word}");
    }
}
