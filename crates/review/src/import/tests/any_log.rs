//! Whatever a log holds, importing it gives valid traces, always the same, however the bytes come.

use hence_canon::{Object, Value, canonical_bytes};
use proptest::prelude::*;

use super::super::{Format, Importer, Surroundings, describe, detect, import};
use super::CODEX;
use crate::validate::{Rule, validate};

/// Members the importers look at, and some they do not.
const KEYS: &[&str] = &[
    "type",
    "message",
    "content",
    "role",
    "payload",
    "name",
    "input",
    "id",
    "tool_use_id",
    "is_error",
    "text",
    "model",
    "arguments",
    "call_id",
    "output",
    "plan",
    "step",
    "status",
    "todos",
    "subject",
    "taskId",
    "file_path",
    "path",
    "command",
    "cmd",
    "questions",
    "question",
    "options",
    "label",
    "messages",
    "toolCalls",
    "args",
    "result",
    "thoughts",
    "sessionId",
    "timestamp",
    "cwd",
    "spans",
    "resourceSpans",
    "scopeSpans",
    "resource",
    "attributes",
    "key",
    "value",
    "stringValue",
    "spanId",
    "traceId",
    "parentSpanId",
    "startTimeUnixNano",
    "endTimeUnixNano",
    "code",
    "ponens.inputs",
    "ponens.outputs",
    "ponens.rationale",
    "observations",
    "parentObservationId",
    "metadata",
    "level",
    "startTime",
    "context",
    "span_id",
    "data",
    "isSidechain",
    "exit_code",
    "toolCallId",
    "other",
];

const WORDS: &[&str] = &[
    "user",
    "assistant",
    "tool_use",
    "tool_result",
    "text",
    "message",
    "response_item",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "update_plan",
    "apply_patch",
    "shell",
    "Bash",
    "Write",
    "Edit",
    "Read",
    "TodoWrite",
    "TaskCreate",
    "TaskUpdate",
    "AskUserQuestion",
    "in_progress",
    "completed",
    "toolCall",
    "toolResult",
    "session",
    "gemini",
    "write_file",
    "replace",
    "1",
    "a",
    "b",
    "a, b",
    "a@2",
    "",
    " ",
    "git commit -m x",
    "cargo test",
    "*** Begin Patch\n*** Add File: a\n*** Update File: a\n*** Move to: b\n*** Delete File: b",
    "SPAN",
    "ERROR",
    "GENERATION",
    "chat",
    "approve",
    "2026-01-01T00:00:00Z",
    "password=x",
    "Exit code: 3",
    "[Request interrupted by user",
    "{\"command\": [\"ls\"]}",
    "{\"plan\": [{\"step\": \" \", \"status\": \"in_progress\"}]}",
];

fn any_value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(WORDS).prop_map(Value::from);
    let leaf = prop_oneof![
        6 => word,
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => "[\\PC\n\u{1b}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let members = prop::collection::vec((prop::sample::select(KEYS), inner.clone()), 0..7);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| {
                let mut object = Object::new();
                for (key, value) in members {
                    object = object.with(key, value);
                }
                object.into()
            }),
        ]
    })
}

/// Rows shaped like those of each format, with anything in their holes: far more of them are understood.
fn any_row() -> impl Strategy<Value = Value> {
    const TEMPLATES: &[&str] = &[
        r#"{"type": "user", "message": {"content": 0}}"#,
        r#"{"type": "assistant", "isSidechain": true, "message": {"content": [{"type": "text", "text": 0}, {"type": "tool_use", "id": 1, "name": 2, "input": 3}]}}"#,
        r#"{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "name": 0, "input": {"file_path": 1, "command": 2, "description": 3}}]}}"#,
        r#"{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "name": "AskUserQuestion", "input": {"questions": [{"question": 0, "options": [1, {"label": 2}]}]}}]}}"#,
        r#"{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "TaskCreate", "input": {"subject": 0}}, {"type": "tool_use", "name": "TaskUpdate", "input": {"taskId": "1", "status": 1}}]}}"#,
        r#"{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": 0, "is_error": true}]}}"#,
        r#"{"type": "response_item", "payload": {"type": "function_call", "name": 0, "arguments": 1, "call_id": "1"}}"#,
        r#"{"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": 0, "call_id": "1"}}"#,
        r#"{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1", "output": 0}}"#,
        r#"{"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "1", "name": 0, "arguments": {"path": 1, "command": 2}}]}}"#,
        r#"{"messages": [{"type": "user", "content": 0}, {"type": "gemini", "content": 1, "toolCalls": [{"name": 2, "args": {"file_path": 3, "command": 0}, "status": 1, "result": 2}]}]}"#,
        r#"{"spans": [{"traceId": 0, "spanId": 1, "parentSpanId": 2, "name": 3, "attributes": [{"key": "ponens.outputs", "value": {"stringValue": 0}}, {"key": "ponens.inputs", "value": {"stringValue": 1}}]}]}"#,
        r#"{"traceId": "t", "spanId": 0, "parentSpanId": 1, "name": "chat", "startTimeUnixNano": 2, "endTimeUnixNano": 3, "attributes": {"ponens.outputs": 0, "ponens.inputs": 1}}"#,
        r#"{"id": 0, "type": "SPAN", "traceId": "t", "parentObservationId": 1, "name": 2, "startTime": 3, "metadata": {"ponens.outputs": 0, "ponens.inputs": 1}}"#,
        r#"{"id": "t", "observations": [{"id": 0, "type": 1, "parentObservationId": 2, "name": 3}, {"id": 2, "type": "EVENT", "metadata": {"ponens.outputs": 3}}]}"#,
    ];
    let template = prop::sample::select(TEMPLATES);
    (template, prop::collection::vec(any_value(), 4))
        .prop_map(|(template, holes)| fill(&hence_canon::parse(template.as_bytes()).unwrap(), &holes))
}

/// Puts values where a template has a number.
fn fill(template: &Value, holes: &[Value]) -> Value {
    match template {
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), fill(value, holes))).collect::<Object>().into()
        }
        Value::Array(items) => items.iter().map(|item| fill(item, holes)).collect(),
        other => match other.as_u64().and_then(|place| holes.get(usize::try_from(place).ok()?)) {
            Some(hole) => hole.clone(),
            None => other.clone(),
        },
    }
}

fn check(bytes: &[u8], width: usize) {
    detect(bytes);
    assert!(!describe(bytes).is_empty());
    for format in Format::ALL.iter().copied() {
        let around = Surroundings { working_directory: Some("/p".to_owned()), home: Some("/".to_owned()) };
        let Ok(imported) = import(bytes, format, &around) else { continue };
        for trace in &imported.traces {
            // That something was consumed before it was produced is a fact about the log, and is told.
            let report = validate(trace);
            let wrong: Vec<_> = report.errors().filter(|finding| finding.rule != Rule::FlowOrder).collect();
            assert!(wrong.is_empty(), "{format:?}: {wrong:#?}\n{}", String::from_utf8_lossy(bytes));
        }
        let mut importer = Importer::new(format);
        bytes.chunks(width).try_for_each(|chunk| importer.push(chunk)).unwrap();
        let again = importer.finish(&around).unwrap();
        assert_eq!(imported.skipped, again.skipped);
        let text = |traces: &[Value]| canonical_bytes(&traces.to_vec().into());
        assert_eq!(text(&imported.traces), text(&again.traces), "{width} bytes at a time");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn rows_of_anything_give_valid_traces(rows in prop::collection::vec(any_value(), 0..12), width in 1usize..200) {
        let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
        check(lines.join("\n").as_bytes(), width);
        check(Value::from(rows).to_string().as_bytes(), width);
    }

    #[test]
    fn rows_with_anything_in_their_members_give_valid_traces(
        rows in prop::collection::vec(any_row(), 1..10),
        width in 1usize..200,
    ) {
        let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
        check(lines.join("\n").as_bytes(), width);
        check(Value::from(rows).to_string().as_bytes(), width);
    }

    #[test]
    fn logs_cut_anywhere_or_followed_by_noise_give_valid_traces(
        cut in 0usize..CODEX.len(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = CODEX.as_bytes().get(..cut).unwrap_or_default().to_vec();
        bytes.extend(noise);
        check(&bytes, 7);
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300), width in 1usize..50) {
        check(&bytes, width);
    }
}
