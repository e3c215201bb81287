//! `hence import`: logs of other agents and telemetry as traces, streamed, recognised, refused.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::World;

const CLAUDE: &str = r#"{"type":"user","sessionId":"s1","timestamp":"2026-01-01T00:00:00Z","cwd":"/p","message":{"content":"Make the parser strict, and test it"}}
{"type":"assistant","timestamp":"2026-01-01T00:00:01Z","message":{"model":"m-1","content":[{"type":"text","text":"I read it first."},{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"/p/src/parse.rs"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"fn parse"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"2","name":"Edit","input":{"file_path":"/p/src/parse.rs"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"2","content":"done"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"3","name":"Bash","input":{"command":"cargo test","description":"Run the tests"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"3","content":"Exit code 101\\n1 failed","is_error":true}]}}
"#;

const SPANS: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[
    {"traceId":"t1","spanId":"a","name":"plan","startTimeUnixNano":"1784721600000000000","endTimeUnixNano":"1784721600004000000"},
    {"traceId":"t2","spanId":"b","name":"chat","startTimeUnixNano":"1784721600000000000"}]}]}]}"#;

fn world() -> World {
    let world = World::new();
    world.write("session.jsonl", CLAUDE).write("spans.json", SPANS);
    world
}

#[test]
fn a_session_becomes_a_trace_that_validates() {
    let world = world();
    assert_snapshot!("claude", world.cli(&["import", "claude-code", "session.jsonl"]));
    assert_snapshot!("claude_report", world.cli(&["import", "session.jsonl", "--out", "trace.json"]));
    let checked = world.ask(&["trace", "validate", "trace.json", "--canonical"]);
    assert_eq!(checked.code, 0, "{}", String::from_utf8_lossy(&checked.stdout));
    let named = world.ask(&["import", "claude-code", "session.jsonl"]).stdout;
    assert_eq!(named, world.read("trace.json"));
    let piped = world.ask_with_input(&["import", "auto", "-"], CLAUDE.as_bytes());
    assert_eq!(piped.stdout, named);
}

#[test]
fn torn_and_foreign_lines_are_reported_by_number_and_the_rest_is_imported() {
    let world = world();
    let torn = CLAUDE.get(..CLAUDE.len() - 30).unwrap();
    world.write("torn.jsonl", format!("not json\n[1]\n{torn}"));
    assert_snapshot!("torn", world.cli(&["import", "claude-code", "torn.jsonl", "--out", "torn.json"]));
    let report = world.ask(&["import", "claude-code", "torn.jsonl", "--out", "torn.json", "--json"]);
    assert_eq!(report.code, 5);
    assert_eq!(report.json()["lines_skipped"], 3);
    let trace: Value = serde_json::from_slice(&world.read("torn.json")).unwrap();
    assert_eq!(trace["outcome"]["type"], "ProcessInterrupted");
}

#[test]
fn several_traces_go_to_a_folder_or_one_is_chosen() {
    let world = world();
    assert_snapshot!("several", world.refused(&["import", "otlp", "spans.json"]));
    assert_snapshot!("several_folder", world.cli(&["import", "spans.json", "--out", "traces"]));
    let one = world.ask(&["import", "spans.json", "--trace", "t2"]).json();
    assert_eq!(one["trace_id"], "t2");
    assert_eq!(world.ask(&["import", "spans.json", "--trace", "t9"]).code, 1);
    assert_eq!(world.ask(&["trace", "validate", "traces/t1.json", "traces/t2.json"]).code, 0);
}

#[test]
fn an_unknown_format_is_described_and_a_wrong_word_is_a_usage_error() {
    let world = world();
    world.write("notes.txt", "dear diary\n").write("other.json", "{\"a\": 1}").write("empty.jsonl", "");
    world.write("none.json", "{\"resourceSpans\": []}");
    for (name, arguments) in [
        ("unknown_text", &["import", "auto", "notes.txt"][..]),
        ("unknown_json", &["import", "other.json"]),
        ("unknown_empty", &["import", "empty.jsonl"]),
        ("no_span", &["import", "otlp", "none.json"]),
        ("other_format", &["import", "gemini", "other.json"]),
        ("no_such_format", &["import", "cursor", "notes.txt"]),
        ("no_file", &["import", "codex"]),
        ("missing_file", &["import", "codex", "nowhere.jsonl"]),
    ] {
        assert_snapshot!(name, world.refused(arguments));
    }
    assert_snapshot!(world.refused(&["import", "codex", "notes.txt"]), @r"
    --- stderr
    error[E0720]: notes.txt: not a log of the format codex: no line of it can be read, the first because expected a JSON value, found 'd' at column 1
    hint: name its format if it is one of them: `hence import --help` lists them; `hence explain E0720` says more
    [exit 1]
    ");
}

#[test]
fn a_large_log_is_streamed() {
    let world = World::new();
    let row = |number: usize| {
        let content =
            json!([{"type": "tool_result", "tool_use_id": number.to_string(), "content": "x".repeat(4000)}]);
        let call = json!([{"type": "tool_use", "id": number.to_string(), "name": "Read", "input": {"file_path": "/a"}}]);
        format!(
            "{}\n{}\n",
            json!({"type": "assistant", "message": {"content": call}}),
            json!({"type": "user", "message": {"content": content}})
        )
    };
    world.write("large.jsonl", (0..2000).map(row).collect::<String>());
    let report = world.ask(&["import", "large.jsonl", "--out", "large.json", "--json"]).json();
    assert_eq!(report["traces"][0]["actions"], 2000);
    assert!(world.read("large.json").len() < 2_000_000);
}

#[test]
fn traces_are_written_as_spans_provenance_and_statements() {
    let world = world();
    assert_eq!(world.ask(&["import", "session.jsonl", "--out", "trace.json"]).code, 0);
    for form in ["otlp", "prov", "in-toto"] {
        let shown = world.cli(&["trace", "export", "trace.json", "--format", form]);
        assert_snapshot!(format!("export_{}", form.replace('-', "_")), shown);
    }
    assert_snapshot!(
        "export_report",
        world.cli(&["trace", "export", "trace.json", "--format", "prov", "--out", "prov.json"])
    );
    assert_eq!(world.ask(&["trace", "export", "trace.json", "--format", "xml"]).code, 2);
}
