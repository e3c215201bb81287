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

fn check(bytes: &[u8], width: usize) {
    detect(bytes);
    assert!(!describe(bytes).is_empty());
    for format in Format::ALL {
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
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rows_of_anything_give_valid_traces(rows in prop::collection::vec(any_value(), 0..12), width in 1usize..200) {
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
