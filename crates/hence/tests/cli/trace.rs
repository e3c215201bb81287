//! `hence trace`: validating, showing, comparing and exporting traces.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::{World, large_problem, problem};

/// A trace with a goal, a gap, lineage and text that would like to drive a terminal.
fn hostile() -> Value {
    let evil = "\u{1b}[31mred\u{202e}<script>alert(1)</script>\n# forged | \"quoted\"";
    json!({
        "trace_id": "hostile", "spec_version": "1.7", "assistant": "a", "model": "m",
        "timestamp": "2026-01-01T00:00:00Z",
        "trigger": {"type": "TaskReceived", "summary": evil}, "outcome": {"type": "ProcessCompleted", "summary": evil},
        "files_modified": ["src/a.rs"],
        "actions": [
            {"id": 1, "category": "activity", "type": "EditFile", "label": evil, "rationale": evil, "outputs": ["d"],
             "evidence": [{"type": "FileRef", "ref": "src/a.rs"}]},
            {"id": 2, "category": "activity", "type": "RunTests", "label": "test", "rationale": evil, "inputs": ["d"],
             "outputs": ["r"], "result_summary": evil,
             "reproducibility": {"status": "reproducible", "reproduction_kind": "tool_reexecution",
               "procedure": {"kind": "command", "command": "cargo test; rm -rf /"}}}
        ],
        "artifacts": [
            {"artifact_id": "d", "artifact_type": "Diff", "name": evil, "producer_action_id": 1},
            {"artifact_id": "r", "artifact_type": "CommandResult", "name": "tests", "summary": evil,
             "producer_action_id": 2, "derived_from": ["d"]}
        ],
        "residuals": [{"residual_id": "gap", "kind": "assumption", "severity": "high", "statement": evil,
          "suggested_check": evil, "status": "open"}],
        "goals": [{"id": "g", "intent": evil, "acceptance": [{"id": "i", "kind": "gap", "label": evil,
          "binding": {"residual_id": "gap"}}]}]
    })
}

fn world() -> World {
    let world = World::new();
    world.write("hostile.json", hostile().to_string());
    let mut later = hostile();
    later["trace_id"] = "later".into();
    later["trace_lineage"] = json!({"parent_trace_id": "hostile"});
    later["residuals"][0]["status"] = "addressed".into();
    later["actions"][1]["result_summary"] = "3 passed".into();
    world.write("later.json", later.to_string());
    world.write(
        "bad.yaml",
        "trace_id: bad\nspec_version: '1.6'\nactions:\n  - id: one\n    type: Magic\n    inputs: [nothing]\n",
    );
    world
}

#[test]
fn findings_name_rule_place_and_line() {
    assert_snapshot!("validate", world().cli(&["trace", "validate", "bad.yaml", "hostile.json"]));
    assert_snapshot!("validate_canonical", world().cli(&["trace", "validate", "bad.yaml", "--canonical"]));
}

#[test]
fn findings_can_be_sarif_and_junit() {
    let world = world();
    assert_snapshot!(
        "junit",
        world.cli(&["trace", "validate", "bad.yaml", "later.json", "--format", "junit"])
    );
    let sarif = world.ask(&["trace", "validate", "bad.yaml", "--format", "sarif"]).json();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
        assert!(result["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64().unwrap() > 0);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }
    let json = world.ask(&["trace", "validate", "bad.yaml", "--format", "json"]).json();
    assert_eq!(json["valid"], false);
}

#[test]
fn an_unreadable_document_is_a_finding_and_a_missing_file_is_a_usage_error() {
    let world = world();
    world.write("broken.json", "{\"trace_id\": ").write("bytes.json", [0xff, 0xfe, 0x00]);
    assert_snapshot!("unreadable", world.cli(&["trace", "validate", "broken.json", "bytes.json"]));
    assert_eq!(world.ask(&["trace", "validate", "nowhere.json"]).code, 2);
    assert_eq!(world.ask(&["trace", "validate"]).code, 2);
    assert_eq!(world.ask(&["trace", "grade", "broken.json"]).code, 1);
}

#[test]
fn standard_input_is_json_or_yaml() {
    let world = world();
    let json = hostile().to_string();
    assert_eq!(world.ask_with_input(&["trace", "validate", "-"], json.as_bytes()).code, 0);
    assert_eq!(world.ask_with_input(&["trace", "validate", "-"], b"trace_id: t\nactions: []\n").code, 0);
    assert_eq!(world.ask_with_input(&["trace", "validate", "-"], b"").code, 1);
    assert_eq!(world.ask_with_input(&["trace", "validate", "-"], b"[1, 2]").code, 1);
}

#[test]
fn a_trace_can_be_shown() {
    let world = world();
    assert_snapshot!("show", world.cli(&["trace", "show", "hostile.json"]));
    assert_snapshot!("hash", world.cli(&["trace", "hash", "hostile.json"]));
    assert_snapshot!("grade", world.cli(&["trace", "grade", "hostile.json"]));
    assert_snapshot!("report", world.cli(&["trace", "report", "hostile.json"]));
    assert_snapshot!("goals", world.cli(&["trace", "goals", "hostile.json"]));
    assert_snapshot!("residuals", world.cli(&["trace", "residuals", "hostile.json"]));
    assert_snapshot!("chain", world.cli(&["trace", "chain", "later.json", "hostile.json"]));
    assert_snapshot!("diff", world.cli(&["trace", "diff", "hostile.json", "later.json"]));
    assert_snapshot!("lineage", world.cli(&["trace", "lineage", "hostile.json", "r"]));
    assert_snapshot!("lineage_dot", world.cli(&["trace", "lineage", "hostile.json", "r", "--up", "--dot"]));
    assert_snapshot!(
        "lineage_mermaid",
        world.cli(&["trace", "lineage", "hostile.json", "d", "--down", "--mermaid"])
    );
    assert_snapshot!("lineage_nothing", world.refused(&["trace", "lineage", "hostile.json", "x"]));
}

#[test]
fn text_of_a_trace_cannot_control_a_terminal_or_a_page() {
    let world = world();
    let commands: [&[&str]; 12] = [
        &["trace", "validate", "bad.yaml", "hostile.json"],
        &["trace", "validate", "hostile.json", "--format", "junit"],
        &["trace", "show", "hostile.json"],
        &["trace", "grade", "hostile.json"],
        &["trace", "report", "hostile.json"],
        &["trace", "goals", "hostile.json"],
        &["trace", "residuals", "hostile.json"],
        &["trace", "chain", "hostile.json"],
        &["trace", "diff", "hostile.json", "later.json"],
        &["trace", "lineage", "hostile.json", "r"],
        &["trace", "lineage", "hostile.json", "r", "--mermaid"],
        &["trace", "residuals", "hostile.json", "--json"],
    ];
    for arguments in commands {
        let text = String::from_utf8(world.ask(arguments).stdout).unwrap();
        let hidden = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(hidden, None, "{arguments:?}: {text}");
        assert!(!text.contains("\n# forged"), "{arguments:?}: {text}");
    }
    for page in
        [&["trace", "report", "hostile.json"][..], &["trace", "lineage", "hostile.json", "r", "--mermaid"]]
    {
        assert!(!String::from_utf8(world.ask(page).stdout).unwrap().contains("<script"), "{page:?}");
    }
}

#[test]
fn a_run_is_exported_as_the_same_valid_trace_every_time() {
    let world = World::with_run("one");
    world.write("large.json", large_problem("large").to_string());
    assert_eq!(world.ask(&["run", "large.json"]).code, 0);
    let mut failing = problem("failing");
    failing["settings"]["loop"]["max_iterations"] = 1.into();
    world.write("failing.json", failing.to_string());
    assert_eq!(world.ask(&["run", "failing.json"]).code, 1);
    assert_eq!(world.ask(&["run", "problem.json", "--profile", "compat", "--trace-id", "compat"]).code, 1);
    for run in ["one", "large", "failing", "compat"] {
        let first = world.ask(&["trace", "export", run]);
        assert_eq!(first.code, 0, "{run}: {}", first.stderr);
        assert_eq!(first.stdout, world.ask(&["trace", "export", run]).stdout, "{run}");
        let judged =
            world.ask_with_input(&["trace", "validate", "-", "--canonical", "--json"], &first.stdout).json();
        assert_eq!(judged["files"][0]["findings"], json!([]), "{run}");
        assert_eq!(first.json()["derived_from_journal"]["head"], world.head(run), "{run}");
    }
    assert_snapshot!("export", world.cli(&["trace", "export", "one", "--out", "one.trace.json"]));
    assert_snapshot!("export_shown", world.cli(&["trace", "show", "one.trace.json"]));
    assert_snapshot!("export_gaps", world.cli(&["trace", "residuals", "one.trace.json"]));
}

#[test]
fn an_altered_run_is_not_exported() {
    let world = World::with_run("one");
    let altered = String::from_utf8(world.journal("one")).unwrap().replace("choose: e0", "choose: e7");
    world.set_journal("one", altered);
    assert_snapshot!("export_altered", world.refused(&["trace", "export", "one"]));
}

#[test]
fn runs_of_skills_and_variables_are_exported_graded_and_reported() {
    let world = World::new();
    let steps = r#"[{"id": "join", "uses": "text.join", "input": {"parts": "inputs.parts"}, "output": {"text": "outputs.text"},
        "config": {"condition": "inputs.parts != null"}}]"#;
    let skill = format!(
        "{{id: x, version: 1.0.0, name: X, description: Joins texts, inputs: {{parts: {{type: array}}}}, outputs: {{}}, steps: {steps}}}"
    );
    world.write("skill.yaml", skill);
    let run = [
        "run",
        "skill.yaml",
        "--input",
        "parts=[a, b]",
        "--run-id",
        "joined",
        "--now",
        "2026-02-02T00:00:00Z",
    ];
    let ran = world.ask(&run);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_snapshot!("export_skill", world.cli(&["trace", "export", "joined"]));
    let vars = ["vars", "init", "counted", "count", "--now", "2026-02-02T00:00:00Z"];
    let begun = world.ask(&vars);
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    assert_eq!(world.ask(&["vars", "set", "counted", "errors", "3"]).code, 0);
    for run in ["joined", "counted"] {
        let file = format!("{run}.json");
        assert_eq!(world.ask(&["trace", "export", run, "--out", &file]).code, 0, "{run}");
        let checked = world.ask(&["trace", "validate", &file, "--canonical", "--json"]).json();
        assert_eq!(checked["files"][0]["findings"], json!([]), "{run}");
        assert_eq!(world.ask(&["trace", "grade", &file]).code, 0);
        assert_eq!(world.ask(&["trace", "report", &file]).code, 0);
    }
}
