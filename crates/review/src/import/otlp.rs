//! OpenTelemetry spans as JSON, with the attributes of the GenAI and OpenInference conventions.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use super::span::{Export, Span, Work, trace};
use super::text::shorten;
use super::{Format, ImportError};

/// Longest trace id that is kept whole; the standard one has 32 characters.
const TRACE_ID_CHARS_MAX: usize = 40;
/// Longest result, in characters.
const RESULT_CHARS_MAX: usize = 160;

/// Makes one trace per trace id, in the order the ids first occur.
pub(super) fn traces(document: &Value) -> Result<Vec<Value>, ImportError> {
    let mut order: Vec<String> = Vec::new();
    let mut by_id: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for (raw, service) in spans(document)? {
        let id = word(raw, &["traceId", "trace_id"])
            .unwrap_or("otlp")
            .chars()
            .take(TRACE_ID_CHARS_MAX)
            .collect::<String>();
        if !by_id.contains_key(&id) {
            order.push(id.clone());
        }
        by_id.entry(id).or_default().push(span(raw, service));
    }
    let export = |id: String| {
        let spans = by_id.remove(&id).unwrap_or_default();
        trace(Export {
            trace_id: id,
            assistant: "opentelemetry",
            kind: "OpenTelemetry trace",
            unit: "spans",
            name: None,
            summary: None,
            spans,
        })
    };
    Ok(order.into_iter().map(export).collect())
}

/// Finds the spans with the name of the service that made them.
fn spans(document: &Value) -> Result<Vec<(&Value, Option<&str>)>, ImportError> {
    let list = |value: &'_ Value, keys: &[&str]| -> Option<usize> {
        keys.iter().find_map(|key| value.get(key)?.as_array()).map(<[Value]>::len)
    };
    if let Some(items) = document.as_array() {
        return Ok(items.iter().map(|span| (span, None)).collect());
    }
    if list(document, &["spans"]).is_some() {
        return Ok(items(document, &["spans"]).iter().map(|span| (span, None)).collect());
    }
    if list(document, &["resourceSpans", "resource_spans"]).is_none() {
        return Err(ImportError::Shape {
            format: Format::Otlp,
            expected: "resourceSpans, spans, or a list of spans",
        });
    }
    let mut found = Vec::new();
    for resource in items(document, &["resourceSpans", "resource_spans"]) {
        let attributes = resource.get("resource").and_then(|resource| resource.get("attributes"));
        let service = attributes
            .and_then(|attributes| raw_attribute(attributes, "service.name"))
            .and_then(Value::as_str);
        for scope in items(resource, &["scopeSpans", "scope_spans", "instrumentationLibrarySpans"]) {
            found.extend(items(scope, &["spans"]).iter().map(|span| (span, service)));
        }
    }
    Ok(found)
}

fn items<'a>(value: &'a Value, keys: &[&str]) -> &'a [Value] {
    keys.iter().find_map(|key| value.get(key)?.as_array()).unwrap_or(&[])
}

fn word<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_str()).filter(|text| !text.is_empty())
}

/// Returns the inner value of an attribute: a list of pairs, or for some exporters a plain object.
fn raw_attribute<'a>(attributes: &'a Value, key: &str) -> Option<&'a Value> {
    if let Some(value) = attributes.get(key) {
        return Some(value);
    }
    let pair =
        attributes.as_array()?.iter().find(|pair| pair.get("key").and_then(Value::as_str) == Some(key))?;
    let value = pair.get("value")?;
    let wrapped = [
        "stringValue",
        "string_value",
        "boolValue",
        "intValue",
        "int_value",
        "doubleValue",
        "arrayValue",
        "array_value",
        "kvlistValue",
    ];
    wrapped.iter().find_map(|kind| value.get(kind)).or(Some(value))
}

fn span(raw: &Value, service: Option<&str>) -> Span {
    let attributes = raw.get("attributes").cloned().unwrap_or_else(|| Object::new().into());
    let text = |key: &str| raw_attribute(&attributes, key).and_then(Value::as_str).map(str::to_owned);
    let name = word(raw, &["name"]).unwrap_or("span").to_owned();
    let id = word(raw, &["spanId", "span_id"]).unwrap_or("").to_owned();
    let nanos = |keys: &[&str]| keys.iter().find_map(|key| integer(raw.get(key)?));
    let (start, end) = (
        nanos(&["startTimeUnixNano", "start_time_unix_nano"]),
        nanos(&["endTimeUnixNano", "end_time_unix_nano"]),
    );
    let tool = text("gen_ai.tool.name").or_else(|| text("rpc.method")).or_else(|| text("tool.name"));
    let work = match text("openinference.span.kind").as_deref() {
        _ if tool.is_some() => Work::ToolCall,
        Some("RETRIEVER" | "RERANKER") => Work::Retrieve,
        Some("TOOL") => Work::ToolCall,
        Some("LLM" | "EMBEDDING") => Work::Compute,
        _ => Work::of_name(&name).unwrap_or(Work::Compute),
    };
    let error = error_of(raw);
    let label = match (start, end) {
        (Some(start), Some(end)) if end >= start => format!("{name} ({}ms)", tenths((end - start) / 100_000)),
        _ => name.clone(),
    };
    Span {
        parent: word(raw, &["parentSpanId", "parent_span_id"]).map(str::to_owned),
        start: start.map(|nanos| nanos / 1_000_000),
        rationale: text("ponens.rationale").unwrap_or_else(|| format!("recorded as the span {name} ({id})")),
        intent: text("ponens.intent"),
        result: error
            .clone()
            .map(|message| format!("ERROR: {message}"))
            .or_else(|| text("ponens.result").or_else(|| text("output.value")))
            .map(|text| shorten(&text, RESULT_CHARS_MAX)),
        failed: error.is_some(),
        agent: text("gen_ai.agent.name").or_else(|| service.map(str::to_owned)),
        model: ["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"]
            .iter()
            .find_map(|key| text(key)),
        inputs: names(raw_attribute(&attributes, "ponens.inputs")),
        outputs: names(raw_attribute(&attributes, "ponens.outputs")),
        id,
        name,
        label,
        work,
        tool,
    }
}

/// Writes tenths as a decimal: 980 → `98.0`.
fn tenths(count: i64) -> String {
    format!("{}.{}", count / 10, count % 10)
}

/// Large integers are written as text in OTLP JSON.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn error_of(raw: &Value) -> Option<String> {
    let status = raw.get("status")?;
    let code = status.get("code")?;
    let failed =
        code.as_i64() == Some(2) || code.as_str().is_some_and(|word| word.ends_with("ERROR") || word == "2");
    let message = word(status, &["message"]).unwrap_or("the span reports an error");
    failed.then(|| message.to_owned())
}

/// Names in a list, or in one text with commas between them.
fn names(value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    let split = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    if let Some(text) = value.as_str() {
        return split(text);
    }
    let items = value.as_array().or_else(|| value.get("values")?.as_array()).unwrap_or(&[]);
    let inner = |item: &Value| {
        item.as_str().or_else(|| word(item, &["stringValue", "string_value"])).map(str::to_owned)
    };
    items.iter().filter_map(inner).collect()
}
