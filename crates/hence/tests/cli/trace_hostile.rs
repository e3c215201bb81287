//! Bad input to `hence trace` and `hence review`: findings or a refusal, never a panic, and no control of the terminal.

use serde_json::{Value, json};

use hence_testkit::cli::World;

/// Every command that reads one trace and prints something of it.
const COMMANDS: [&[&str]; 13] = [
    &["trace", "validate", "t.json"],
    &["trace", "validate", "t.json", "--canonical", "--format", "sarif"],
    &["trace", "validate", "t.json", "--format", "junit"],
    &["trace", "show", "t.json"],
    &["trace", "hash", "t.json"],
    &["trace", "grade", "t.json"],
    &["trace", "report", "t.json"],
    &["trace", "goals", "t.json"],
    &["trace", "residuals", "t.json"],
    &["trace", "chain", "t.json", "t.json"],
    &["trace", "diff", "t.json", "t.json"],
    &["trace", "meta", "list", "t.json"],
    &["trace", "reproduce", "t.json"],
];

fn every_command_ends_well(world: &World, what: &str) {
    for arguments in COMMANDS {
        let answer = world.ask(arguments);
        assert!(answer.code <= 2, "{what}: {arguments:?}: {}", answer.stderr);
        let said = String::from_utf8_lossy(&answer.stdout).into_owned() + &answer.stderr;
        let drives = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!said.contains(drives), "{what}: {arguments:?}: {said:?}");
        assert!(!said.contains("panicked"), "{what}: {arguments:?}: {said}");
    }
}

#[test]
fn documents_that_are_not_traces_are_findings() {
    for text in [
        "",
        "null",
        "[]",
        "\"\u{1b}[31m\"",
        "{\"trace_id\": \"\\u001b]0;x\\u0007\", \"actions\": 3, \"artifacts\": {}}",
        "{\"actions\": [null, [], 1, \"x\", {}], \"artifacts\": [null, {\"artifact_id\": 3}], \"residuals\": [[]]}",
        "{\"actions\": [{\"id\": 1e999}]}",
        "{\"a\": 1, \"a\": 2}",
        "{",
    ] {
        let world = World::new();
        world.write("t.json", text);
        every_command_ends_well(&world, text);
    }
    let world = World::new();
    world.write("t.json", [0xff, 0xfe, 0x00, b'{']);
    every_command_ends_well(&world, "bytes");
    world.write("t.json", "[".repeat(100_000));
    every_command_ends_well(&world, "deep");
}

#[test]
fn a_file_that_is_neither_trace_nor_journal_is_refused_after_its_first_line() {
    let world = World::with_run("one");
    world.write("bytes", [0, 0xff, 0]).write("empty.json", "").write("other.json", "{\"a\": 1}");
    // A file that is all hole: large, and costs nothing unless it is read.
    let file = std::fs::File::create(world.path("hole.json")).unwrap();
    file.set_len(1 << 30).unwrap();
    let refusal = |name: &str| {
        let answer = world.ask(&["trace", "export", name]);
        assert!(answer.stdout.is_empty() && answer.code != 0, "{name}");
        answer.stderr.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        refusal("bytes"),
        "error[E0101]: bytes is not text: expected a document in JSON or YAML, found binary data"
    );
    assert_eq!(
        refusal("empty.json"),
        "error[E0101]: empty.json is empty: expected a document in JSON or YAML"
    );
    assert_eq!(
        refusal("other.json"),
        "error[E0602]: other.json: expected a trace, found neither `trace_id` nor `actions`"
    );
    assert_eq!(refusal("hole.json"), "error[E0401]: hole.json has more than 64 MiB, the limit of a document");
    assert_eq!(world.ask(&["trace", "export", ".hence/runs/one/trace.ndjson"]).code, 0);
}

#[test]
fn cycles_and_ids_that_differ_only_in_case_are_distinguished() {
    let world = World::new();
    let action = |id: i64, output: &str| {
        json!({"id": id, "category": "activity", "type": "EditFile", "label": "l", "rationale": "r", "outputs": [output],
            "meta_action_id": "m"})
    };
    let trace = json!({
        "trace_id": "t", "spec_version": "1.6", "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"},
        "trace_lineage": {"parent_trace_id": "t"},
        "actions": [action(1, "a"), action(2, "A")],
        "artifacts": [
            {"artifact_id": "a", "artifact_type": "Diff", "producer_action_id": 1, "derived_from": ["A"]},
            {"artifact_id": "A", "artifact_type": "Diff", "producer_action_id": 2, "derived_from": ["a"]}],
        "meta_actions": [
            {"id": "m", "title": "m", "action_ids": [1, 2], "source": "curated", "parent_id": "M"},
            {"id": "M", "title": "M", "action_ids": [], "source": "curated", "parent_id": "m"}]
    });
    world.write("t.json", trace.to_string());
    every_command_ends_well(&world, "circles");
    let report = world.ask(&["trace", "validate", "t.json", "--json"]).json();
    let rules: Vec<&str> = report["files"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    for rule in ["lineage.cycle", "meta.parent.cycle", "lineage.parent"] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
    assert!(!rules.contains(&"artifact.id.duplicate") && !rules.contains(&"meta.id.duplicate"), "{rules:?}");
    let lineage = world.ask(&["trace", "lineage", "t.json", "a", "--json"]).json();
    assert_eq!(lineage["edges"].as_array().unwrap().len(), 2);
    for form in ["--dot", "--mermaid"] {
        assert_eq!(world.ask(&["trace", "lineage", "t.json", "A", form]).code, 0);
    }
    let merge = ["trace", "meta", "merge", "t.json", "m", "M", "--title", "both", "--draft"];
    assert_eq!(world.ask(&merge).code, 0);
}

#[test]
fn paths_outside_the_folder_are_shown_and_never_opened() {
    let world = World::new();
    world.write("secret", "the secret words");
    let refs = ["../secret", "/etc/passwd", "file:///etc/passwd", "\u{1b}[31m", "secret"];
    let artifact = |(place, content): (usize, &&str)| {
        json!({"artifact_id": format!("a{place}"), "artifact_type": "SourceCode", "content_ref": content,
            "producer_action_id": 1})
    };
    let artifacts: Vec<Value> = refs.iter().enumerate().map(artifact).collect();
    let outputs: Vec<String> = (0..refs.len()).map(|place| format!("a{place}")).collect();
    let trace = json!({
        "trace_id": "t", "spec_version": "1.6", "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"},
        "actions": [{"id": 1, "category": "activity", "type": "ReadFile", "label": "l", "rationale": "r", "outputs": outputs}],
        "artifacts": artifacts});
    world.write("in/t.json", trace.to_string()).write("t.json", trace.to_string());
    every_command_ends_well(&world, "places");
    for arguments in COMMANDS {
        let answer = world.ask(arguments);
        let said = String::from_utf8_lossy(&answer.stdout).into_owned();
        assert!(!said.contains("the secret words") && !said.contains("root:"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_file_of_a_gigabyte_is_refused_with_the_limit_named() {
    let world = World::new();
    world.write("t.json", "");
    std::fs::File::options().write(true).open(world.path("t.json")).unwrap().set_len(1 << 30).unwrap();
    for arguments in COMMANDS {
        let answer = world.ask(arguments);
        assert_eq!(answer.code, 2, "{arguments:?}");
        assert!(answer.stderr.contains("more than 64 MiB"), "{arguments:?}: {}", answer.stderr);
    }
    let opened = world.ask(&["review", "open", "t.json", "--author", "ada"]);
    assert!(opened.code == 2 && opened.stderr.contains("64 MiB"));
}
