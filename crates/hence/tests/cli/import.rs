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
    let report =
        world.ask(&["import", "claude-code", "torn.jsonl", "--out", "torn.json", "--force", "--json"]);
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

/// A Claude Code log of commands with their outputs and whether each failed, and of files written with their texts.
fn session(steps: &[(&str, Value, &str, bool)]) -> String {
    let mut rows = vec![json!({"type": "user", "message": {"content": "Finish the cart and publish it"}})];
    for (number, (tool, input, output, is_error)) in steps.iter().enumerate() {
        let id = number.to_string();
        let call = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
        let usage = json!({"input_tokens": 200_000, "output_tokens": 9_000});
        rows.push(json!({"type": "assistant", "message": {"id": format!("m{number}"), "content": call, "usage": usage}}));
        let result =
            json!([{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error}]);
        rows.push(json!({"type": "user", "message": {"content": result}}));
    }
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Imports a log and returns the status of each policy of a pack, by its id.
fn judged(world: &World, log: &str, policy: &str) -> std::collections::BTreeMap<String, String> {
    world.write("judged.jsonl", log);
    assert_eq!(world.ask(&["import", "auto", "judged.jsonl", "--out", "judged.json", "--force"]).code, 0);
    let report = world.ask(&["policy", "check", "judged.json", "--policy", policy, "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdicts = report["traces"][0]["verdicts"].as_array().cloned().unwrap_or_default();
    verdicts.iter().map(|verdict| (text(&verdict["policy_id"]), text(&verdict["status"]))).collect()
}

#[test]
fn the_engineering_policies_fail_a_log_in_which_they_were_broken() {
    let world = World::new();
    let bash = |command: &str| json!({"command": command});
    let broken = session(&[
        (
            "Write",
            json!({"file_path": "/p/.env", "content": "AWS_SECRET_ACCESS_KEY=q8ZrT1xWabcdefghijklmnopqrstuvwxyz012345"}),
            "ok",
            false,
        ),
        ("Bash", bash("pytest -q || true"), "3 failed, 2 passed in 0.1s", false),
        ("Bash", bash("git -C . commit -am 'cart'"), "[main 1a2b3c4] cart", false),
        ("Bash", bash("cd /p && git push --force-with-lease origin main"), "", false),
        ("Bash", bash("rm -rf /p/data"), "", false),
    ]);
    let verdicts = judged(&world, &broken, "engineering");
    for policy in
        ["tests-pass-before-commit", "no-secrets-committed", "no-force-push", "destructive-actions-confirmed"]
    {
        assert_eq!(verdicts.get(policy).map(String::as_str), Some("failed"), "{policy}: {verdicts:?}");
    }
    let kept = session(&[
        ("Read", json!({"file_path": "/p/cart.py"}), "x", false),
        ("Edit", json!({"file_path": "/p/cart.py", "old_string": "x", "new_string": "y"}), "ok", false),
        (
            "Bash",
            bash("ruff check . && mypy . && npx jest && git commit -am cart && git push"),
            "5 passed\n[main 1a2b3c4] cart",
            false,
        ),
    ]);
    let verdicts = judged(&world, &kept, "engineering");
    for policy in [
        "tests-pass-before-commit",
        "lint-before-commit",
        "types-before-commit",
        "no-force-push",
        "research-before-edit",
    ] {
        assert_eq!(verdicts.get(policy).map(String::as_str), Some("passed"), "{policy}: {verdicts:?}");
    }
    let misread = session(&[
        ("Edit", json!({"file_path": "/p/cart.py"}), "ok", false),
        ("Bash", bash("cat pytest.log; echo 'cargo test passed'"), "12 passed", false),
        ("Bash", bash("git commit -am cart"), "[main 1a2b3c4] cart", false),
    ]);
    let verdicts = judged(&world, &misread, "engineering");
    assert_eq!(verdicts.get("tests-pass-before-commit").map(String::as_str), Some("failed"), "{verdicts:?}");
    let verdicts = judged(&world, &misread, "budgets");
    assert_eq!(verdicts.get("action-tokens-bounded").map(String::as_str), Some("failed"), "{verdicts:?}");
}

#[test]
fn a_release_without_approval_fails_in_telemetry() {
    let world = World::new();
    world.write(
        "release.toml",
        r#"[[policy]]
id = "no-release-without-approval"
severity = "error"
formula = "G(Release ∨ Deploy → P(UserApproval))"
"#,
    );
    let span = |id: u32, name: &str| json!({"traceId": "t", "spanId": id.to_string(), "name": name, "startTimeUnixNano": id.to_string()});
    for (before, status) in
        [("compute size", "failed"), ("request approval", "failed"), ("approve order", "passed")]
    {
        let log = json!({"spans": [span(1, before), span(2, "release child order")]}).to_string();
        let verdicts = judged(&world, &log, "release.toml");
        assert_eq!(verdicts.values().map(String::as_str).collect::<Vec<_>>(), [status], "{before}");
    }
}

#[test]
fn a_log_without_an_end_is_refused() {
    let world = hence_testkit::cli::World::new();
    let hole = std::fs::File::create(world.path("hole.jsonl")).unwrap();
    hole.set_len(1 << 31).unwrap();
    for name in ["hole.jsonl", "/dev/zero"] {
        if !std::path::Path::new(name).exists() && name.starts_with('/') {
            continue;
        }
        let refused = world.ask(&["import", "claude-code", name]);
        assert_eq!(refused.code, 1, "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains("the limit of a log"), "{name}: {}", refused.stderr);
    }
}
