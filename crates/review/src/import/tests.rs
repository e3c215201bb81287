use hence_canon::{JsonPointer, canonical_bytes};
use proptest::prelude::*;

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
    assert_eq!(*at(&trace, "/actions/0/execution/method"), "Retrieve".into());
    assert_eq!(*at(&trace, "/actions/0/result_summary"), "3 documents".into());
    assert_eq!(*at(&trace, "/model"), "m-9".into());
}

#[test]
fn import_is_deterministic_and_sessions_decode_canonically() {
    let first = one(CODEX, Format::Codex);
    assert_eq!(canonical_bytes(&first), canonical_bytes(&one(CODEX, Format::Codex)));
    assert!(decode(&first).is_ok(), "{:?}", decode(&first));
}

proptest! {
    #[test]
    fn no_log_makes_an_importer_panic(cut in 0usize..CODEX.len(), noise in "[\\x00-\\x7f]{0,40}") {
        let mut bytes = CODEX.as_bytes()[..cut].to_vec();
        bytes.extend(noise.bytes());
        detect(&bytes);
        for format in [Format::ClaudeCode, Format::Codex, Format::Gemini, Format::Pi, Format::Otlp, Format::Langfuse] {
            for trace in import(&bytes, format, &Surroundings::default()).map(|imported| imported.traces).unwrap_or_default() {
                validate(&trace);
            }
        }
    }
}
