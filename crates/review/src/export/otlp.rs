//! OpenTelemetry spans with GenAI attributes, as OTLP JSON.

use hence_canon::{Digest, Object, Value};

use crate::import::parse_time;
use crate::wire::{Action, MetaAction, Trace};

/// Nanoseconds in a millisecond.
const MILLI_NANOS: i64 = 1_000_000;

/// Writes a trace as spans: one for the trace, one per unit of intent, one per action.
///
/// Ids are derived from the id of the trace. An action without a valid time starts when the action before it did.
pub fn otlp_json(trace: &Trace) -> Value {
    let ids = Ids::of(trace);
    let beginning = trace.entry().text("timestamp").and_then(parse_time).unwrap_or(0);
    let name = trace.trigger().and_then(|trigger| trigger.text("description").map(str::to_owned));
    let mut about = vec![attribute("gen_ai.operation.name", "invoke_agent")];
    let model = trace.entry().text("model").filter(|model| !["none", "unknown", ""].contains(model));
    about.extend(model.map(|model| attribute("gen_ai.request.model", model)));
    let root = span(&ids, &ids.span("trace", ""), None, name.as_deref().unwrap_or("trace"), beginning, about);
    let aborted = trace.outcome().is_some_and(|outcome| outcome.text("type") == Some("ProcessAborted"));
    let mut spans = vec![if aborted { root.with("status", failed()) } else { root }];
    let units: Vec<MetaAction> = trace.meta_actions().collect();
    for unit in &units {
        let Some(id) = unit.id() else { continue };
        let parent =
            unit.parent_id().map_or_else(|| ids.span("trace", ""), |parent| ids.span("unit", parent));
        let first = unit.action_ids().next().and_then(|id| trace.action_by_id(id));
        let start = first.and_then(time_of).unwrap_or(beginning);
        let intent = unit.text("intent").map(|intent| attribute("ponens.intent", intent));
        spans.push(span(
            &ids,
            &ids.span("unit", id),
            Some(&parent),
            unit.title(),
            start,
            intent.into_iter().collect(),
        ));
    }
    let mut last = beginning;
    for action in trace.actions() {
        last = time_of(action).unwrap_or(last);
        spans.push(action_span(&ids, action, last));
    }
    let service = trace.entry().text("assistant").unwrap_or("agent");
    let resource = Object::from_iter([("attributes", vec![attribute("service.name", service)])]);
    let scope = Object::from_iter([
        ("scope", Value::from(Object::from_iter([("name", "hence")]))),
        ("spans", spans.into()),
    ]);
    let resource_spans =
        Object::from_iter([("resource", Value::from(resource)), ("scopeSpans", vec![scope].into())]);
    Object::from_iter([("resourceSpans", vec![resource_spans])]).into()
}

fn time_of(action: &Action) -> Option<i64> {
    action.text("timestamp").and_then(parse_time)
}

/// Ids of spans, made from the ids of the trace.
struct Ids {
    trace_id: String,
}

impl Ids {
    fn of(trace: &Trace) -> Self {
        let id = trace.trace_id().unwrap_or("");
        Self { trace_id: hex(&[b"hence/otlp-trace/v1\0", id.as_bytes()], 32) }
    }

    fn span(&self, kind: &str, id: &str) -> String {
        hex(&[b"hence/otlp-span/v1\0", self.trace_id.as_bytes(), kind.as_bytes(), b"\0", id.as_bytes()], 16)
    }
}

fn hex(parts: &[&[u8]], length: usize) -> String {
    Digest::of_parts(parts.iter().copied()).to_string().chars().take(length).collect()
}

fn attribute(key: &str, text: &str) -> Value {
    let value = Object::from_iter([("stringValue", text)]);
    Object::from_iter([("key", Value::from(key)), ("value", value.into())]).into()
}

/// Makes an attribute with a list of texts, because names may have commas.
fn list(key: &str, texts: impl Iterator<Item = impl AsRef<str>>) -> Value {
    let item = |text: &str| Value::from(Object::from_iter([("stringValue", text)]));
    let values: Vec<Value> = texts.map(|text| item(text.as_ref())).collect();
    let array = Object::from_iter([("values", Value::from(values))]);
    let value = Object::from_iter([("arrayValue", Value::from(array))]);
    Object::from_iter([("key", Value::from(key)), ("value", value.into())]).into()
}

/// The status of a span that ended with an error.
fn failed() -> Object {
    Object::from_iter([("code", 2)])
}

fn span(ids: &Ids, id: &str, parent: Option<&str>, name: &str, start: i64, attributes: Vec<Value>) -> Object {
    let nanos = start.saturating_mul(MILLI_NANOS).to_string();
    let mut members = Object::from_iter([
        ("traceId", Value::from(ids.trace_id.as_str())),
        ("spanId", id.into()),
        ("name", name.into()),
        ("kind", 1.into()),
        ("startTimeUnixNano", nanos.as_str().into()),
        ("endTimeUnixNano", nanos.as_str().into()),
        ("attributes", attributes.into()),
    ]);
    if let Some(parent) = parent {
        members = members.with("parentSpanId", parent);
    }
    members
}

fn action_span(ids: &Ids, action: &Action, start: i64) -> Object {
    let number = action.id().map_or_else(|| format!("#{}", action.index()), |id| id.to_string());
    let parent = match action.text("meta_action_id") {
        Some(unit) => ids.span("unit", unit),
        None => ids.span("trace", ""),
    };
    let execution = action.object("execution");
    let tool =
        execution.and_then(|execution| execution.get("tool")?.as_str()).unwrap_or_else(|| action.type_word());
    let mut attributes = vec![
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.tool.name", tool),
        attribute("ponens.action_type", action.type_word()),
        attribute("ponens.rationale", action.rationale()),
        list("ponens.inputs", action.inputs()),
        list("ponens.outputs", action.outputs()),
    ];
    let optional = [("gen_ai.agent.name", action.text("agent")), ("ponens.result", action.result_summary())];
    attributes.extend(optional.into_iter().filter_map(|(key, text)| Some(attribute(key, text?))));
    let name = if action.label().is_empty() { action.type_word() } else { action.label() };
    let members = span(ids, &ids.span("action", &number), Some(&parent), name, start, attributes);
    let duration = execution.and_then(|execution| execution.get("duration_ms")?.as_i64());
    let members = match duration.filter(|duration| *duration >= 0) {
        Some(duration) => {
            let end = start.saturating_add(duration).saturating_mul(MILLI_NANOS);
            members.with("endTimeUnixNano", end.to_string())
        }
        None => members,
    };
    let ended_badly = |result: &str| result.starts_with("ERROR") || result.starts_with("failed: ");
    if action.result_summary().is_some_and(ended_badly) {
        return members.with("status", failed());
    }
    members
}
