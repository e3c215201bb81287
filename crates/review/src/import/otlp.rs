//! OpenTelemetry spans, with the attributes of the GenAI and OpenInference conventions.

use std::collections::BTreeMap;

use hence_canon::{Value, parse};

use crate::command::Signs;

use super::approval::Places;
use super::json::JsonExt;
use super::leaks::{Committed, Shown};
use super::span::{Export, Span, SpanEnd, Stated, Work, beginning, parse_time, trace};
use super::usage::{Cost, Usage, count};
use super::{Format, ImportError};

/// Longest trace id, in characters; the standard one has 32.
const TRACE_ID_CHARS_MAX: usize = 40;

/// The members that hold the value of an attribute, by its type.
#[rustfmt::skip]
const WRAPPERS: &[&str] = &[
    "stringValue", "string_value", "boolValue", "bool_value", "intValue", "int_value", "doubleValue", "double_value",
    "arrayValue", "array_value", "kvlistValue", "kvlist_value", "bytesValue", "bytes_value",
];

/// Makes the traces of one document.
pub(super) fn traces(document: &Value, format: Format) -> Result<Vec<Value>, ImportError> {
    let mut collected = Collected::new(format);
    collected.add(document)?;
    Ok(collected.traces())
}

/// Spans by the trace they belong to.
pub(super) struct Collected {
    format: Format,
    order: Vec<String>,
    by_id: BTreeMap<String, Vec<Span>>,
}

impl Collected {
    pub(super) fn new(format: Format) -> Self {
        Self { format, order: Vec::new(), by_id: BTreeMap::new() }
    }

    /// Adds the spans of a document; a row of a file can also be a single span.
    pub(super) fn add(&mut self, document: &Value) -> Result<(), ImportError> {
        for (raw, service) in spans(document, self.format)? {
            let id =
                word(raw, &["traceId", "trace_id"]).or_else(|| context(raw, "trace_id")).unwrap_or("otlp");
            let id: String = id.chars().take(TRACE_ID_CHARS_MAX).collect();
            if !self.by_id.contains_key(&id) {
                self.order.push(id.clone());
            }
            self.by_id.entry(id).or_default().push(span(raw, service));
        }
        Ok(())
    }

    /// Makes one trace per trace id, in the order the ids first occur.
    pub(super) fn traces(mut self) -> Vec<Value> {
        let export = |id: String| {
            let spans = self.by_id.remove(&id).unwrap_or_default();
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
        std::mem::take(&mut self.order).into_iter().map(export).collect()
    }
}

/// Returns an id from `context`, where OpenInference exports have it.
fn context<'a>(raw: &'a Value, key: &str) -> Option<&'a str> {
    raw.get("context").and_then(|context| word(context, &[key]))
}

/// Returns the spans, each with the name of its service.
fn spans(document: &Value, format: Format) -> Result<Vec<(&Value, Option<&str>)>, ImportError> {
    let list = |value: &'_ Value, keys: &[&str]| -> Option<usize> {
        keys.iter().find_map(|key| value.get(key)?.as_array()).map(<[Value]>::len)
    };
    if let Some(items) = document.as_array() {
        return Ok(items.iter().map(|span| (span, None)).collect());
    }
    if list(document, &["spans"]).is_some() {
        return Ok(items(document, &["spans"]).iter().map(|span| (span, None)).collect());
    }
    let is_span = word(document, &["spanId", "span_id"]).or_else(|| context(document, "span_id")).is_some();
    if is_span {
        return Ok(vec![(document, None)]);
    }
    if list(document, &["resourceSpans", "resource_spans"]).is_none() {
        return Err(ImportError::Shape { format, expected: "resourceSpans, spans, or a list of spans" });
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

/// Returns the value of an attribute from a list of pairs or, for some exporters, from a plain object, whose dotted
/// names may be nested.
fn raw_attribute<'a>(attributes: &'a Value, key: &str) -> Option<&'a Value> {
    if attributes.as_object().is_some() {
        let nested = || key.split('.').try_fold(attributes, |value, part| value.get(part));
        return attributes.get(key).or_else(nested);
    }
    let pair = attributes.as_array()?.iter().find(|pair| pair.text("key") == Some(key))?;
    let value = pair.get("value")?;
    WRAPPERS.iter().find_map(|kind| value.get(kind)).or(Some(value))
}

/// Attributes that hold the result of a span.
const RESULTS: &[&str] = &["ponens.result", "output.value", "gen_ai.tool.call.result"];

/// Returns all attributes with their values, those of a plain object with the names they have there.
fn all_attributes(attributes: &Value) -> Vec<(&str, &Value)> {
    let inner = |value: &'_ Value| WRAPPERS.iter().position(|kind| value.get(kind).is_some());
    match attributes {
        Value::Object(object) => object.iter().map(|(key, value)| (&**key, value)).collect(),
        _ => {
            let pairs = attributes.as_array().unwrap_or(&[]).iter();
            let pair = |pair| -> Option<(&str, &Value)> {
                let value: &Value = Value::get(pair, "value")?;
                let place = inner(value).and_then(|place| value.get(WRAPPERS.get(place)?));
                Some((Value::get(pair, "key")?.as_str()?, place.unwrap_or(value)))
            };
            pairs.filter_map(pair).collect()
        }
    }
}

fn span(raw: &Value, service: Option<&str>) -> Span {
    let attributes = raw.member("attributes");
    let text = |key: &str| raw_attribute(attributes, key).and_then(Value::as_str);
    let name = word(raw, &["name"]).filter(|name| !name.trim().is_empty()).unwrap_or("span");
    let id = word(raw, &["spanId", "span_id"]).or_else(|| context(raw, "span_id")).unwrap_or("");
    let nanos = |keys: &[&str], text: &str| {
        let written = || parse_time(word(raw, &[text])?)?.checked_mul(1_000_000);
        keys.iter().find_map(|key| integer(raw.get(key)?)).or_else(written)
    };
    let (start, end) = (
        nanos(&["startTimeUnixNano", "start_time_unix_nano"], "start_time"),
        nanos(&["endTimeUnixNano", "end_time_unix_nano"], "end_time"),
    );
    let tool = text("gen_ai.tool.name").or_else(|| text("rpc.method")).or_else(|| text("tool.name"));
    let kind = text("openinference.span.kind").or_else(|| word(raw, &["span_kind"]));
    let operation = || match text("gen_ai.operation.name") {
        Some("execute_tool") => Some(Work::ToolCall),
        _ => None,
    };
    let work = match kind {
        _ if tool.is_some() => Work::ToolCall,
        Some("RETRIEVER" | "RERANKER") => Work::Retrieve,
        Some("TOOL") => Work::ToolCall,
        Some("LLM" | "EMBEDDING") => Work::Compute,
        _ => Work::of_name(name).or_else(operation).unwrap_or(Work::Compute),
    };
    let error = error_of(raw)
        .map(|message| message.or_else(|| exception(raw)).unwrap_or("the span reports an error"));
    let label = match (start, end) {
        (Some(start), Some(end)) if end >= start => {
            format!("{name} ({}ms)", tenths(end.saturating_sub(start) / 100_000))
        }
        _ => name.to_owned(),
    };
    let output = RESULTS.iter().find_map(|key| text(key)).filter(|text| !text.trim().is_empty());
    let given = arguments(attributes);
    let stated = Stated::read(|key| text(key).map(str::to_owned));
    let payload =
        stated.artifact.iter().flat_map(|(_, payload)| payload.iter()).map(|(key, value)| (&**key, value));
    let beside = all_attributes(attributes).into_iter().filter(|(key, _)| !RESULTS.contains(key));
    let answer = Places {
        name,
        output: error.or(output),
        failed: error.is_some(),
        members: beside.chain(payload).collect(),
        arguments: given.as_ref(),
    }
    .answer();
    Span {
        parent: word(raw, &["parentSpanId", "parent_span_id", "parent_id"]).map(str::to_owned),
        start: start.map(|nanos| nanos / 1_000_000),
        duration_ms: start
            .zip(end)
            .and_then(|(start, end)| end.checked_sub(start))
            .filter(|nanos| *nanos >= 0)
            .map(|nanos| nanos / 1_000_000),
        rationale: text("ponens.rationale").map(str::to_owned),
        arguments: given,
        usage: usage(attributes),
        intent: text("ponens.intent").map(str::to_owned),
        result: match error {
            Some(message) => Some(beginning(&format!("ERROR: {message}"))),
            None => output.map(beginning),
        },
        ended: match error {
            Some(_) => SpanEnd::Badly,
            None if is_ok(raw) => SpanEnd::Well,
            None => SpanEnd::Unstated,
        },
        agent: text("gen_ai.agent.name").or(service).map(str::to_owned),
        model: ["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"]
            .iter()
            .find_map(|key| text(key))
            .map(str::to_owned),
        inputs: names(raw_attribute(attributes, "ponens.inputs")),
        outputs: names(raw_attribute(attributes, "ponens.outputs")),
        part: None,
        stated,
        answer,
        id: id.to_owned(),
        name: name.to_owned(),
        label,
        work,
        tool: tool.map(str::to_owned),
        exit_code: None,
        committed: Committed::default(),
        signs: Signs::default(),
        shown: Shown::default(),
    }
    .with_stated_end(error, output)
}

/// Writes tenths as a decimal: 980 → `98.0`.
fn tenths(count: i64) -> String {
    format!("{}.{}", count / 10, count % 10)
}

/// Reads an integer, which OTLP JSON may write as a text.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns the message of an error, if the span reports one; the message may be missing.
fn error_of(raw: &Value) -> Option<Option<&str>> {
    if word(raw, &["status_code"]).is_some_and(|word| word.ends_with("ERROR")) {
        return Some(word(raw, &["status_message"]));
    }
    let status = raw.get("status")?;
    let code = status.get("code").or_else(|| status.get("status_code"))?;
    let failed =
        code.as_i64() == Some(2) || code.as_str().is_some_and(|word| word.ends_with("ERROR") || word == "2");
    failed.then(|| word(status, &["message", "description"]))
}

/// Returns whether the span says that it ended well.
fn is_ok(raw: &Value) -> bool {
    let code = raw.get("status").and_then(|status| status.get("code").or_else(|| status.get("status_code")));
    let is_ok = |code: &Value| {
        code.as_i64() == Some(1)
            || code.as_str().is_some_and(|word| word == "1" || word == "OK" || word.ends_with("_OK"))
    };
    code.or_else(|| raw.get("status_code")).is_some_and(is_ok)
}

/// Returns the message of the exception that a span recorded as an event.
fn exception(raw: &Value) -> Option<&str> {
    let message = |event: &'_ Value| -> Option<usize> {
        let attributes = event.get("attributes")?;
        raw_attribute(attributes, "exception.message").and_then(Value::as_str).map(str::len)
    };
    let event = raw.list("events").iter().find(|event| message(event).is_some_and(|length| length > 0))?;
    raw_attribute(event.get("attributes")?, "exception.message")?.as_str()
}

/// Returns what the span was given: a text, or the JSON in it.
fn arguments(attributes: &Value) -> Option<Value> {
    let keys = ["gen_ai.tool.call.arguments", "tool.parameters", "input.value", "ponens.arguments"];
    let found = keys.iter().find_map(|key| raw_attribute(attributes, key))?;
    let inner = found.as_str().filter(|text| text.trim_start().starts_with(['{', '[']));
    let value = inner.and_then(|text| parse(text.as_bytes()).ok()).unwrap_or_else(|| found.clone());
    (!value.is_null() && value.as_str() != Some("")).then_some(value)
}

/// Returns the tokens and the cost, by the names of either convention.
fn usage(attributes: &Value) -> Option<Usage> {
    let first = |keys: &[&str]| keys.iter().find_map(|key| count(raw_attribute(attributes, key)?));
    let cost = ["gen_ai.usage.cost", "llm.cost.total", "gen_ai.usage.total_cost"];
    let usage = Usage {
        tokens_in: first(&[
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.token_count.prompt",
        ]),
        tokens_out: first(&[
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.completion",
        ]),
        tokens: first(&["gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens"]),
        cost: cost.iter().find_map(|key| Cost::of(raw_attribute(attributes, key)?)),
    };
    usage.summed()
}

/// Returns the names in a list, or in one text separated by commas.
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
        let name = item.as_str().or_else(|| word(item, &["stringValue", "string_value"]))?.trim();
        (!name.is_empty()).then(|| name.to_owned())
    };
    items.iter().filter_map(inner).collect()
}
