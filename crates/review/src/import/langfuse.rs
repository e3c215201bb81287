//! Langfuse exports.

use std::collections::BTreeMap;

use hence_canon::Value;

use crate::command::Signs;

use super::approval::Places;
use super::json::JsonExt;
use super::leaks::{Committed, Shown};
use super::span::{Export, Span, SpanEnd, Stated, Work, beginning, parse_time, trace};
use super::usage::{Cost, Usage, count};
use super::{Format, ImportError};

/// Longest trace id, in characters.
const TRACE_ID_CHARS_MAX: usize = 60;

pub(super) fn traces(document: &Value) -> Result<Vec<Value>, ImportError> {
    let mut collected = Collected::default();
    collected.add_document(document)?;
    Ok(collected.traces())
}

/// Observations by the trace they belong to.
#[derive(Default)]
pub(super) struct Collected {
    whole: Vec<Export>,
    order: Vec<String>,
    by_id: BTreeMap<String, Export>,
}

impl Collected {
    /// Adds a trace with its observations, a list of either, or one observation.
    pub(super) fn add_document(&mut self, document: &Value) -> Result<(), ImportError> {
        let whole = |trace: &Value| trace.get("observations").and_then(Value::as_array).is_some();
        let list = document.as_array().or_else(|| document.get("data")?.as_array());
        if whole(document) {
            self.whole.push(export(document));
            return Ok(());
        }
        match list {
            Some(items) if items.iter().any(whole) => {
                self.whole.extend(items.iter().filter(|item| whole(item)).map(export));
            }
            Some(items) => {
                items.iter().filter(|item| item.as_object().is_some()).for_each(|item| self.add(item))
            }
            None if document.get("type").is_some() && document.get("id").is_some() => self.add(document),
            None => {
                let expected = "a trace with observations, data, or a list of observations";
                return Err(ImportError::Shape { format: Format::Langfuse, expected });
            }
        }
        Ok(())
    }

    fn add(&mut self, observation: &Value) {
        // An observation without a trace id belongs to the trace of the observation before it.
        let own = text(observation, "traceId").or_else(|| self.order.last().map(String::as_str));
        let id = own.unwrap_or("langfuse").to_owned();
        self.observations_of(&id);
        if let Some(export) = self.by_id.get_mut(&id) {
            export.spans.push(span(observation, None));
        }
    }

    fn observations_of(&mut self, id: &str) {
        if !self.by_id.contains_key(id) {
            self.order.push(id.to_owned());
            self.by_id.insert(id.to_owned(), empty(id));
        }
    }

    /// Makes the traces: first the complete ones, then one per trace id of single observations.
    pub(super) fn traces(mut self) -> Vec<Value> {
        let mut traces: Vec<Value> = self.whole.into_iter().map(trace).collect();
        traces.extend(self.order.iter().filter_map(|id| self.by_id.remove(id)).map(trace));
        traces
    }
}

fn empty(id: &str) -> Export {
    Export {
        trace_id: id.chars().take(TRACE_ID_CHARS_MAX).collect(),
        assistant: "langfuse",
        kind: "Langfuse trace",
        unit: "observations",
        name: None,
        summary: None,
        spans: Vec::new(),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.text(key).filter(|text| !text.trim().is_empty())
}

fn export(head: &Value) -> Export {
    let observations = head.list("observations");
    let id = text(head, "id").or_else(|| observations.iter().find_map(|found| text(found, "traceId")));
    let user = text(head, "userId");
    let summary = head.get("output").and_then(shown).map(|text| beginning(&text));
    Export {
        name: text(head, "name").map(str::to_owned),
        summary,
        spans: observations.iter().map(|found| span(found, user)).collect(),
        ..empty(id.unwrap_or("langfuse"))
    }
}

/// Returns an input or output as text; other values are written as JSON.
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
        (text(raw, "startTime").and_then(parse_time), text(raw, "endTime").and_then(parse_time));
    let tool = metadata("ponens.tool").or_else(|| metadata("tool.name"));
    let work = match (tool.is_some(), kind) {
        (true, _) => Work::ToolCall,
        (false, "GENERATION" | "EMBEDDING") => Work::Compute,
        (false, "TOOL") => Work::ToolCall,
        (false, "RETRIEVER") => Work::Retrieve,
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
    let duration = start.zip(end).map(|(start, end)| end - start).filter(|duration| *duration >= 0);
    let input = raw.get("input").filter(|input| !input.is_null() && input.as_str() != Some(""));
    let output = raw.get("output").and_then(shown);
    let stated = Stated::read(metadata);
    let payload = stated.artifact.iter().flat_map(|(_, payload)| payload.iter());
    let beside = raw.get("metadata").and_then(Value::as_object).into_iter().flat_map(|found| found.iter());
    let message = raw.get("statusMessage").filter(|_| !failed).map(|message| ("message", message));
    let answer = Places {
        name: &name,
        output: error.as_deref().or(output.as_deref()),
        failed,
        members: beside.chain(payload).map(|(key, value)| (&**key, value)).chain(message).collect(),
        arguments: input,
    }
    .answer();
    let printed = error.clone().or_else(|| output.clone());
    Span {
        parent: text(raw, "parentObservationId").map(str::to_owned),
        start,
        duration_ms: duration,
        // What an observation was given is no reason for it.
        rationale: metadata("ponens.rationale"),
        arguments: input.cloned(),
        usage: usage(raw),
        intent: metadata("ponens.intent"),
        result: error.or(output).map(|text| beginning(&text)),
        ended: if failed { SpanEnd::Badly } else { SpanEnd::Unstated },
        agent: metadata("ponens.agent").or_else(|| user.map(str::to_owned)),
        inputs: listed(metadata("ponens.inputs")),
        outputs: listed(metadata("ponens.outputs")),
        part: None,
        stated,
        answer,
        model,
        tool,
        work,
        label,
        name,
        id,
        exit_code: None,
        committed: Committed::default(),
        signs: Signs::default(),
        shown: Shown::default(),
    }
    .with_stated_end(None, printed.as_deref())
}

/// Returns the tokens and the cost, by the names of any version.
fn usage(raw: &Value) -> Option<Usage> {
    let counted = ["usageDetails", "usage"].iter().find_map(|key| Usage::of(raw.get(key)?)).or_else(|| {
        let first = |key: &str| raw.get(key).and_then(count);
        let (tokens_in, tokens_out) = (first("promptTokens"), first("completionTokens"));
        Usage { tokens_in, tokens_out, tokens: first("totalTokens"), cost: None }.summed()
    });
    let cost = |value: Option<&Value>| value.and_then(Cost::of);
    let cost = cost(raw.get("costDetails").and_then(|details| details.get("total")))
        .or_else(|| ["calculatedTotalCost", "totalCost"].iter().find_map(|key| cost(raw.get(key))))
        .or_else(|| cost(raw.get("usage").and_then(|usage| usage.get("totalCost"))));
    let mut usage = counted.unwrap_or_default();
    usage.cost = cost.or(usage.cost);
    usage.summed()
}

fn listed(names: Option<String>) -> Vec<String> {
    let names = names.unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
