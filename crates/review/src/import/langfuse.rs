//! Langfuse exports.

use hence_canon::Value;

use super::instant;
use super::span::{Export, Span, Work, trace};
use super::text::shorten;
use super::{Format, ImportError};

/// Longest texts, in characters.
const TRACE_ID_CHARS_MAX: usize = 60;
const RATIONALE_CHARS_MAX: usize = 200;
const RESULT_CHARS_MAX: usize = 160;

pub(super) fn traces(document: &Value) -> Result<Vec<Value>, ImportError> {
    let exported = exported(document)?;
    Ok(exported.into_iter().map(|(head, observations)| trace(export(head, observations))).collect())
}

/// A trace object, when the export has one, with its observations.
type Exported<'a> = (Option<&'a Value>, Vec<&'a Value>);

fn exported(document: &Value) -> Result<Vec<Exported<'_>>, ImportError> {
    let whole = |trace: &'_ Value| trace.get("observations").and_then(Value::as_array).is_some();
    let observations = |trace: &'static str| ImportError::Shape { format: Format::Langfuse, expected: trace };
    let list = document.as_array().or_else(|| document.get("data")?.as_array());
    if whole(document) {
        let items = document.get("observations").and_then(Value::as_array).unwrap_or(&[]);
        return Ok(vec![(Some(document), items.iter().collect())]);
    }
    match list {
        Some(items) if items.iter().any(whole) => Ok(items
            .iter()
            .filter(|item| whole(item))
            .map(|item| {
                (
                    Some(item),
                    item.get("observations").and_then(Value::as_array).unwrap_or(&[]).iter().collect(),
                )
            })
            .collect()),
        Some(items) => Ok(vec![(None, items.iter().filter(|item| item.as_object().is_some()).collect())]),
        None if document.get("type").is_some() && document.get("id").is_some() => {
            Ok(vec![(None, vec![document])])
        }
        None => Err(observations("a trace with observations, data, or a list of observations")),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn export(head: Option<&Value>, observations: Vec<&Value>) -> Export {
    let own = head.and_then(|head| text(head, "id"));
    let id =
        own.or_else(|| observations.iter().find_map(|found| text(found, "traceId"))).unwrap_or("langfuse");
    let user = head.and_then(|head| text(head, "userId"));
    let summary = head
        .and_then(|head| head.get("output"))
        .and_then(shown)
        .map(|text| shorten(&text, RATIONALE_CHARS_MAX));
    Export {
        trace_id: id.chars().take(TRACE_ID_CHARS_MAX).collect(),
        assistant: "langfuse",
        kind: "Langfuse trace",
        unit: "observations",
        name: head.and_then(|head| text(head, "name")).map(str::to_owned),
        summary,
        spans: observations.into_iter().map(|found| span(found, user)).collect(),
    }
}

/// Shows an input or output: text as it is, anything else as JSON.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.to_string()),
        other => Some(other.to_string()),
    }
}

fn span(raw: &Value, user: Option<&str>) -> Span {
    let metadata = |key: &str| raw.get("metadata")?.get(key)?.as_str().map(str::to_owned);
    let kind = text(raw, "type").unwrap_or("SPAN");
    let name = text(raw, "name").unwrap_or(kind).to_owned();
    let id = text(raw, "id").unwrap_or("").to_owned();
    let (start, end) =
        (text(raw, "startTime").and_then(instant::parse), text(raw, "endTime").and_then(instant::parse));
    let tool = metadata("ponens.tool").or_else(|| metadata("tool.name"));
    let work = match (tool.is_some(), kind) {
        (true, _) => Work::ToolCall,
        (false, "GENERATION") => Work::Compute,
        (false, "EVENT") => Work::of_name(&name).unwrap_or(Work::Progress),
        (false, _) => Work::of_name(&name).unwrap_or(Work::Compute),
    };
    let failed = text(raw, "level") == Some("ERROR");
    let error = failed.then(|| {
        format!("ERROR: {}", text(raw, "statusMessage").unwrap_or("the observation reports an error"))
    });
    let model = text(raw, "model").map(str::to_owned);
    let mut label = name.clone();
    if let Some(model) = &model {
        label.push_str(&format!(" · {model}"));
    }
    if let (Some(start), Some(end)) = (start, end.filter(|end| start.is_some_and(|start| *end >= start))) {
        label.push_str(&format!(" ({}ms)", end - start));
    }
    let input = raw.get("input").and_then(shown).map(|text| shorten(&text, RATIONALE_CHARS_MAX));
    Span {
        parent: text(raw, "parentObservationId").map(str::to_owned),
        start,
        rationale: metadata("ponens.rationale")
            .or(input)
            .unwrap_or_else(|| format!("recorded as the {kind} {name} ({id})")),
        intent: metadata("ponens.intent"),
        result: error
            .or_else(|| raw.get("output").and_then(shown))
            .map(|text| shorten(&text, RESULT_CHARS_MAX)),
        failed,
        agent: metadata("ponens.agent").or_else(|| user.map(str::to_owned)),
        inputs: listed(metadata("ponens.inputs")),
        outputs: listed(metadata("ponens.outputs")),
        model,
        tool,
        work,
        label,
        name,
        id,
    }
}

fn listed(names: Option<String>) -> Vec<String> {
    let names = names.unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
