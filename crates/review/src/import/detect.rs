//! Detection of the format of a log by its content.

use hence_canon::{Value, parse};

use super::json::JsonExt;
use super::{Format, protobuf};

/// The rows examined before a log counts as unknown.
const ROWS_LOOKED_AT: usize = 200;
/// The members or words listed in a description.
const NAMED_MAX: usize = 8;

/// Detects the format of a log by its beginning: rows up to the last whole line, or the whole document.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    if let Ok(document) = parse(bytes)
        && let Some(format) = of_document(&document)
    {
        return Some(format);
    }
    let found = rows(bytes).iter().find_map(of_row);
    found.or_else(|| protobuf::document(bytes).map(|_| Format::Otlp))
}

/// Describes the content of a log of unknown format.
pub fn describe(bytes: &[u8]) -> String {
    let named = |words: Vec<String>| {
        let more = if words.len() > NAMED_MAX { ", …" } else { "" };
        format!("{}{more}", words.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", "))
    };
    let members =
        |value: &Value| value.as_object().map(|object| object.keys().map(ToString::to_string).collect());
    let rows = rows(bytes);
    match parse(bytes) {
        Ok(Value::Object(object)) if rows.len() < 2 => {
            let keys = object.keys().map(ToString::to_string).collect();
            format!("one JSON object with {}", named(keys))
        }
        Ok(Value::Array(items)) => match items.first().and_then(members) {
            Some(keys) => format!("a list of {} JSON objects, the first with {}", items.len(), named(keys)),
            None => format!("a list of {} values", items.len()),
        },
        Ok(other) if rows.is_empty() => format!("one JSON value, {}", other.kind()),
        _ if rows.is_empty() && bytes.iter().all(u8::is_ascii_whitespace) => "nothing".to_owned(),
        _ if rows.is_empty() => "bytes that are neither JSON nor lines of it".to_owned(),
        _ => {
            let mut types: Vec<String> = Vec::new();
            for row in &rows {
                let word = row.text("type").unwrap_or("(no type)").to_owned();
                if !types.contains(&word) {
                    types.push(word);
                }
            }
            format!("lines of JSON objects of the types {}", named(types))
        }
    }
}

fn rows(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
    let read = lines.take(ROWS_LOOKED_AT).filter_map(|line| parse(line).ok());
    read.filter(|row| row.as_object().is_some()).collect()
}

fn of_document(document: &Value) -> Option<Format> {
    let has = |value: &Value, key: &str| value.get(key).is_some();
    let first = document.at(0).unwrap_or(&Value::Null);
    if let Some(format) = of_telemetry(document).or_else(|| of_telemetry(first)) {
        Some(format)
    } else if has(document, "messages") && (has(document, "sessionId") || has(document, "projectHash")) {
        Some(Format::Gemini)
    } else if is_langfuse(document) || is_langfuse(first) || has(document, "data") {
        Some(Format::Langfuse)
    } else {
        of_row(document)
    }
}

fn of_telemetry(value: &Value) -> Option<Format> {
    let has = |key: &str| value.get(key).is_some();
    if value.get("context").is_some_and(|context| context.get("span_id").is_some()) {
        return Some(Format::OpenInference);
    }
    let plain = ["resourceSpans", "resource_spans", "spans", "spanId", "span_id"];
    plain.into_iter().any(has).then_some(Format::Otlp)
}

fn is_langfuse(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    has("observations") || has("parentObservationId") || has("traceId")
}

fn of_row(row: &Value) -> Option<Format> {
    let word = |key: &str| row.text(key);
    if let Some(format) = of_telemetry(row) {
        return Some(format);
    }
    match word("type")? {
        "session_meta" | "turn_context" | "response_item" | "event_msg" => Some(Format::Codex),
        "function_call" | "function_call_output" | "local_shell_call" => Some(Format::Codex),
        "session" | "model_change" | "thinking_level_change" => Some(Format::Pi),
        "message" if row.get("message").and_then(|message| message.get("role")).is_some() => Some(Format::Pi),
        "user" | "assistant" if row.get("message").is_some() => Some(Format::ClaudeCode),
        "SPAN" | "GENERATION" | "EVENT" if is_langfuse(row) => Some(Format::Langfuse),
        _ => None,
    }
}
