use hence_canon::{JsonPointer, canonical_bytes};

use super::*;
use crate::model::decode;
use crate::validate::validate;

fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(&pointer.parse::<JsonPointer>().unwrap()).unwrap_or(&Value::Null)
}

fn one(log: &str, format: Format) -> Value {
    let around = Surroundings { working_directory: Some("/p".to_owned()), home: None };
    let imported = import(log.as_bytes(), format, &around).unwrap();
    assert_eq!(detect(log.as_bytes()), Some(format));
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    let report = validate(trace);
    assert!(report.is_valid(), "{:?}", report.findings());
    trace.clone()
}

fn types(trace: &Value) -> Vec<&str> {
    at(trace, "/actions")
        .as_array()
        .unwrap()
        .iter()
        .map(|action| at(action, "/type").as_str().unwrap())
        .collect()
}

const CODEX: &str = r#"{"timestamp": "2026-01-01T10:00:00Z", "type": "session_meta", "payload": {"id": "c1", "cwd": "/p"}}
{"timestamp": "2026-01-01T10:00:01Z", "type": "turn_context", "payload": {"model": "m-1", "cwd": "/p"}}
{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]}}
{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Make the parser strict and test it"}]}}
{"type": "response_item", "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Plan first."}]}}
{"type": "response_item", "payload": {"type": "function_call", "name": "update_plan", "arguments": "{\"plan\": [{\"step\": \"Change\", \"status\": \"in_progress\"}, {\"step\": \"Test\", \"status\": \"pending\"}]}", "call_id": "1"}}
{"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "call_id": "2", "input": "*** Begin Patch\n*** Update File: /p/src/a.rs\n@@\n*** Add File: src/b.rs\n+x\n*** End Patch"}}
{"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "2", "output": "{\"output\": \"Success\", \"metadata\": {\"exit_code\": 0}}"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "update_plan", "arguments": "{\"plan\": [{\"step\": \"Change\", \"status\": \"completed\"}, {\"step\": \"Test\", \"status\": \"in_progress\"}]}", "call_id": "3"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{\"command\": [\"bash\", \"-lc\", \"cargo test\"]}", "call_id": "4"}}
{"type": "event_msg", "payload": {"type": "agent_message", "message": "a repetition"}}
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "4", "output": "{\"output\": \"1 failed\", \"metadata\": {\"exit_code\": 101}}"}}
not json
{"type": "event_msg", "payload": {"type": "turn_aborted"}}"#;

#[test]
fn a_codex_session_keeps_patches_plans_and_exit_codes() {
    let trace = one(CODEX, Format::Codex);
    assert_eq!(types(&trace), ["EditFile", "CreateFile", "RunTests"]);
    assert_eq!(*at(&trace, "/trace_id"), "codex-c1".into());
    assert_eq!(*at(&trace, "/timestamp"), "2026-01-01T10:00:00Z".into());
    assert_eq!(*at(&trace, "/trigger/description"), "Make the parser strict and test it".into());
    assert_eq!(at(&trace, "/files_modified").to_string(), r#"["src/a.rs","src/b.rs"]"#);
    assert_eq!(*at(&trace, "/actions/2/evidence/0/exit_code"), 101.into());
    assert_eq!(*at(&trace, "/actions/2/result_summary"), "ERROR: 1 failed".into());
    assert_eq!(at(&trace, "/actions/2/inputs").to_string(), r#"["art1","art2"]"#);
    let titles: Vec<_> =
        (0..2).map(|unit| at(&trace, &format!("/meta_actions/{unit}/title")).clone()).collect();
    assert_eq!(titles, ["Change".into(), "Test".into()]);
    assert_eq!(*at(&trace, "/meta_actions/1/status"), "partial".into());
    assert_eq!(*at(&trace, "/outcome/type"), "ProcessInterrupted".into());
    let skipped = import(CODEX.as_bytes(), Format::Codex, &Surroundings::default()).unwrap().skipped;
    assert_eq!(skipped.iter().map(|line| line.line).collect::<Vec<_>>(), [13]);
}

#[test]
fn a_gemini_session_joins_calls_and_results() {
    let trace = one(
        r#"{"sessionId": "g1", "startTime": "2026-01-01T00:00:00Z", "messages": [
            {"type": "user", "content": "Explain and mend the loader"},
            {"type": "gemini", "model": "m-2", "content": "", "thoughts": [{"subject": "s", "description": "Look at it."}], "toolCalls": [
                {"name": "read_file", "args": {"file_path": "/p/load.py"}, "status": "success", "result": [{"functionResponse": {"response": {"output": "def load"}}}]},
                {"name": "run_shell_command", "args": {"command": "pytest"}, "status": "error", "resultDisplay": "boom"}]},
            {"type": "gemini", "content": "All done here."}]}"#,
        Format::Gemini,
    );
    assert_eq!(types(&trace), ["ReadFile", "RunTests"]);
    assert_eq!(*at(&trace, "/actions/0/rationale"), "Look at it.".into());
    assert_eq!(*at(&trace, "/actions/0/result_summary"), "def load".into());
    assert_eq!(*at(&trace, "/actions/1/result_summary"), "ERROR: boom".into());
    assert_eq!(*at(&trace, "/outcome/summary"), "All done here.".into());
}

#[test]
fn a_claude_session_understands_block_directives_old_plans_and_interruptions() {
    let trace = one(
        r#"{"type": "user", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "message": {"content": [{"type": "text", "text": "Change the notebook, please"}]}}
{"type": "assistant", "message": {"model": "m", "content": [{"type": "tool_use", "id": "1", "name": "TodoWrite", "input": {"todos": [{"content": "Edit it", "status": "in_progress"}]}}]}}
{"type": "assistant", "message": {"content": [{"type": "text", "text": "Editing with key sk-abcdefghijklmnop1234"}, {"type": "tool_use", "id": "2", "name": "NotebookEdit", "input": {"notebook_path": "/p/n.ipynb"}}]}}
{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "2", "content": "ok"}]}}
{"type": "assistant", "isSidechain": true, "message": {"content": [{"type": "tool_use", "id": "3", "name": "Grep", "input": {"pattern": "x"}}]}}
{"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}}"#,
        Format::ClaudeCode,
    );
    assert_eq!(types(&trace), ["EditFile", "SearchCode"]);
    assert_eq!(at(&trace, "/files_modified").to_string(), r#"["n.ipynb"]"#);
    assert_eq!(*at(&trace, "/actions/0/rationale"), "Editing with key [redacted]".into());
    assert_eq!(*at(&trace, "/actions/1/agent"), "sub-agent".into());
    assert_eq!(*at(&trace, "/actions/1/category"), "activity".into());
    assert_eq!(*at(&trace, "/meta_actions/0/source"), "plan_declared".into());
    assert_eq!(*at(&trace, "/outcome/type"), "ProcessInterrupted".into());
}

#[test]
fn the_actions_of_a_sub_agent_are_a_unit_inside_the_one_that_delegated() {
    let call = |id: &str, name: &str, input: &str, side: bool| {
        format!(
            r#"{{"type": "assistant", "isSidechain": {side}, "message": {{"content": [{{"type": "tool_use", "id": "{id}", "name": "{name}", "input": {input}}}]}}}}"#
        )
    };
    let log = [
        r#"{"type": "user", "message": {"content": "Find out why the loader fails"}}"#.to_owned(),
        call("1", "Task", r#"{"description": "Search the logs", "prompt": "p"}"#, false),
        r#"{"type": "user", "isSidechain": true, "message": {"content": "p"}}"#.to_owned(),
        call("2", "Grep", r#"{"pattern": "x"}"#, true),
        call("3", "Read", r#"{"file_path": "/p/a"}"#, true),
        call("4", "Read", r#"{"file_path": "/p/b"}"#, false),
    ];
    let trace = one(&log.join("\n"), Format::ClaudeCode);
    let units: Vec<String> = at(&trace, "/meta_actions")
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| format!("{} {} {}", at(unit, "/title"), at(unit, "/action_ids"), at(unit, "/parent_id")))
        .collect();
    let asked = r#""Find out why the loader fails""#;
    assert_eq!(
        units,
        [
            format!("{asked} [1] null"),
            r#""Search the logs" [2,3] "m1""#.to_owned(),
            format!("{asked} [4] null")
        ]
    );
    let alone = log.iter().skip(2).take(3).cloned().collect::<Vec<_>>().join("\n");
    let alone = one(
        &alone.replace(r#""content": "p""#, r#""content": "Search all of the logs""#),
        Format::ClaudeCode,
    );
    assert_eq!(*at(&alone, "/trigger/description"), "Search all of the logs".into());
    assert_eq!(*at(&alone, "/actions/0/agent"), Value::Null);
}

#[test]
fn an_answered_question_is_a_decision_with_its_options() {
    let trace = one(
        r#"{"type": "user", "message": {"content": "Choose a burst size for the limiter"}}
{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "name": "AskUserQuestion", "input": {"questions": [{"question": "Burst?", "options": [{"label": "ten"}, {"label": "twenty"}]}]}}]}}
{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "twenty"}]}}"#,
        Format::ClaudeCode,
    );
    assert_eq!(types(&trace), ["ExclusiveDecision"]);
    assert_eq!(
        at(&trace, "/actions/0/options").to_string(),
        r#"[{"chosen":false,"label":"ten"},{"chosen":true,"label":"twenty"}]"#
    );
}

#[test]
fn every_trace_id_of_an_export_becomes_a_trace_and_circles_are_cut() {
    let spans = r#"[{"traceId": "t1", "spanId": "a", "parentSpanId": "b", "name": "chat", "startTimeUnixNano": "1"},
        {"traceId": "t2", "spanId": "x", "name": "tool", "attributes": [{"key": "ponens.inputs", "value": {"stringValue": "seed"}},
            {"key": "ponens.outputs", "value": {"stringValue": "o, o"}}]},
        {"traceId": "t1", "spanId": "b", "parentSpanId": "a", "name": "chat", "startTimeUnixNano": "2"}]"#;
    let imported = import(spans.as_bytes(), Format::Otlp, &Surroundings::default()).unwrap();
    let [first, second] = imported.traces.as_slice() else { panic!("two traces") };
    for trace in [first, second] {
        assert!(validate(trace).is_valid(), "{:?}", validate(trace).findings());
    }
    assert_eq!(*at(second, "/reference_artifacts/0/name"), "seed".into());
    assert_eq!(at(second, "/actions/0/outputs").to_string(), r#"["o","o@2"]"#);
}

#[test]
fn openinference_attributes_are_understood() {
    let spans = r#"{"spans": [{"traceId": "t", "spanId": "a", "name": "step", "attributes": [
        {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}},
        {"key": "llm.model_name", "value": {"stringValue": "m-9"}},
        {"key": "output.value", "value": {"stringValue": "3 documents"}}]}]}"#;
    let trace = one(spans, Format::Otlp);
    assert_eq!(types(&trace), ["Retrieve"]);
    assert_eq!(*at(&trace, "/actions/0/result_summary"), "3 documents".into());
    assert_eq!(*at(&trace, "/model"), "m-9".into());
}

#[test]
fn import_is_deterministic_and_sessions_decode_canonically() {
    let first = one(CODEX, Format::Codex);
    assert_eq!(canonical_bytes(&first), canonical_bytes(&one(CODEX, Format::Codex)));
    assert!(decode(&first).is_ok(), "{:?}", decode(&first));
}

#[test]
fn openinference_exports_with_nested_attributes_are_understood() {
    let row = r#"{"name": "step", "context": {"trace_id": "t", "span_id": "b"}, "parent_id": "a", "span_kind": "TOOL",
        "start_time": "2026-01-01T00:00:00.000Z", "end_time": "2026-01-01T00:00:00.250Z", "status_code": "ERROR",
        "status_message": "no answer", "attributes": {"tool": {"name": "lookup"}, "llm": {"model_name": "m-3"}}}"#;
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let root = r#"{"name": "agent", "context": {"trace_id": "t", "span_id": "a"}, "attributes": {}}"#;
    let trace = one(&format!("{}\n{}\n", line(root), line(row)), Format::OpenInference);
    assert_eq!(*at(&trace, "/actions/0/execution/tool"), "lookup".into());
    assert_eq!(*at(&trace, "/actions/0/label"), "step (250.0ms)".into());
    assert_eq!(*at(&trace, "/actions/0/result_summary"), "ERROR: no answer".into());
    assert_eq!(*at(&trace, "/meta_actions/0/title"), "agent".into());
    assert_eq!(*at(&trace, "/model"), "m-3".into());
}

#[test]
fn exports_appended_to_one_file_are_read_together_and_bad_lines_reported() {
    let log = concat!(
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a", "name": "root"}]}]}]}"#,
        "\n{\"nothing\": 1}\nnoise\n",
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "b", "parentSpanId": "a", "name": "chat"}]}]}]}"#,
    );
    let imported = import(log.as_bytes(), Format::Otlp, &Surroundings::default()).unwrap();
    assert_eq!(imported.skipped.iter().map(|line| line.line).collect::<Vec<_>>(), [2, 3]);
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    assert_eq!(*at(trace, "/meta_actions/0/action_ids"), vec![1].into());
}

#[test]
fn observations_of_several_traces_are_parted() {
    let log = r#"{"id": "1", "type": "SPAN", "traceId": "x", "name": "chat"}
{"id": "2", "type": "EVENT", "traceId": "y", "name": "note"}
{"id": "3", "type": "SPAN", "name": "query"}"#;
    assert_eq!(detect(log.as_bytes()), Some(Format::Langfuse));
    let imported = import(log.as_bytes(), Format::Langfuse, &Surroundings::default()).unwrap();
    let ids: Vec<&Value> = imported.traces.iter().map(|trace| at(trace, "/trace_id")).collect();
    assert_eq!(ids, [&Value::from("x"), &Value::from("y")]);
    assert_eq!(types(&imported.traces[1]).len(), 2);
}

#[test]
fn a_renamed_file_keeps_its_history_and_a_deleted_one_ends_it() {
    let patch = |text: &str| {
        let input = text.replace('\n', "\\n");
        let id = text.len();
        format!(
            r#"{{"type": "custom_tool_call", "name": "apply_patch", "call_id": "{id}", "input": "{input}"}}
{{"type": "custom_tool_call_output", "call_id": "{id}", "output": "Success."}}"#
        )
    };
    let log = [
        patch("*** Add File: a.rs\n+x"),
        patch("*** Update File: a.rs\n*** Move to: b.rs"),
        patch("*** Update File: b.rs\n@@"),
        patch("*** Delete File: b.rs"),
        patch("*** Add File: b.rs"),
    ]
    .join("\n");
    let imported = import(log.as_bytes(), Format::Codex, &Surroundings::default()).unwrap();
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    assert_eq!(types(trace), ["CreateFile", "RenameFile", "EditFile", "DeleteFile", "CreateFile"]);
    let sources: Vec<String> =
        (0..4).map(|place| at(trace, &format!("/artifacts/{place}/derived_from")).to_string()).collect();
    assert_eq!(sources, ["[]", r#"["art1"]"#, r#"["art2"]"#, "[]"]);
    assert_eq!(at(trace, "/files_modified").to_string(), r#"["a.rs","b.rs"]"#);
    assert!(validate(trace).is_valid(), "{:?}", validate(trace).findings());
}

#[test]
fn a_log_nobody_knows_is_described() {
    for (log, seen) in [
        (r#"{"a": 1, "b": 2}"#, "one JSON object with a, b"),
        ("{\"type\": \"x\"}\n{\"type\": \"y\"}\n{}", "lines of JSON objects of the types x, y, (no type)"),
        ("[1, 2]", "a list of 2 values"),
        ("\u{1}\u{2}", "bytes that are neither JSON nor lines of it"),
        ("", "nothing"),
    ] {
        assert_eq!(detect(log.as_bytes()), None, "{log}");
        assert_eq!(describe(log.as_bytes()), seen);
    }
}

#[test]
fn a_document_at_the_limit_is_read_and_a_larger_one_refused_with_the_limit_named() {
    let document = |bytes: usize| {
        let rest = br#"{"messages": [], "x": ""}"#;
        let mut text = br#"{"messages": [], "x": ""#.to_vec();
        text.resize(text.len() + bytes - rest.len(), b'x');
        text.extend_from_slice(br#""}"#);
        text
    };
    let around = Surroundings::default();
    assert!(import(&document(LOG_DOCUMENT_BYTES_MAX), Format::Gemini, &around).is_ok());
    let refused = import(&document(LOG_DOCUMENT_BYTES_MAX + 1), Format::Gemini, &around).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a log of the format gemini that is one document has at most 67108864 bytes"
    );
}

mod any_log;
mod decisions;
mod names;
mod order;
mod stopped;
mod truth;

#[test]
fn a_log_without_a_single_line_that_can_be_read_is_none() {
    let around = Surroundings::default();
    for format in [Format::ClaudeCode, Format::Codex, Format::Pi] {
        let refused = import(b"\x00\xff\n[1]\n", format, &around).unwrap_err().to_string();
        let reason = "no line of it can be read, the first because text is not UTF-8 at column 2";
        assert_eq!(refused, format!("not a log of the format {}: {reason}", format.as_str()));
        // Nothing at all is a session in which nothing happened, and one good line is enough.
        assert_eq!(import(b" \n", format, &around).unwrap().traces.len(), 1);
        assert_eq!(import(b"x\n{}\n", format, &around).unwrap().skipped_count, 1);
    }
}
