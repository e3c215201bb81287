//! The messages API, as Anthropic defines it.

use hence_canon::{Float, Object, Value, parse};

use super::{
    Demanded, Message, PartialReply, Progress, ReportedTokens, count, joined_text, member, provider_schema,
    text_of,
};
use crate::client::RequestError;
use crate::events::Event;
use crate::settings::{Delivery, ModelSettings, Structure};

/// The version of the API, which every request states.
pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn request(
    settings: &ModelSettings,
    schema: Option<&Value>,
    system: Option<&str>,
    messages: &[Message],
) -> Object {
    let messages: Vec<Value> = messages.iter().map(Message::value).collect();
    let mut body = Object::from_iter([
        ("model", Value::from(settings.model.clone())),
        ("messages", messages.into()),
        ("stream", (settings.delivery == Delivery::Streamed).into()),
        ("max_tokens", u64::from(settings.max_tokens).into()),
    ]);
    if let Some(system) = system {
        body = body.with("system", system);
    }
    if let (Some(schema), Structure::Schema) = (schema, settings.structure) {
        let schema = provider_schema(schema, Demanded::Declared);
        let format = Object::from_iter([("type", Value::from("json_schema")), ("schema", schema)]);
        body = body.with("output_config", Object::from_iter([("format", format)]));
    }
    if let Some(temperature) = settings.temperature.and_then(|number| Float::new(number).ok()) {
        body = body.with("temperature", temperature);
    }
    body
}

pub(super) fn read_reply(body: &Value) -> Result<PartialReply, &'static str> {
    let content = body.get("content").and_then(Value::as_array).ok_or("there is no `content` in it")?;
    let mut reply = PartialReply { text: joined_text(content), ..PartialReply::default() };
    reply.identify(body);
    reply.stop_reason = text_of(body, &["stop_reason"]);
    reply.tokens = body.get("usage").map(|usage| updated(reply.tokens, usage)).unwrap_or_default();
    Ok(reply)
}

pub(super) fn read_event(event: &Event, reply: &mut PartialReply) -> Result<Progress, RequestError> {
    let data = parse(event.data.as_bytes()).map_err(|error| RequestError::malformed(&error.to_string()))?;
    let kind = data.get("type").and_then(Value::as_str).unwrap_or(&event.name);
    match kind {
        "message_start" => {
            data.get("message").into_iter().for_each(|message| reply.identify(message));
            let usage = member(&data, &["message", "usage"]);
            reply.tokens = usage.map_or(reply.tokens, |usage| updated(reply.tokens, usage));
            // The count of the reply at its beginning is none; the last event states it.
            reply.tokens.output = None;
        }
        // Deltas of thinking and of tool calls have no `text`.
        "content_block_delta" => {
            let text = member(&data, &["delta", "text"]).and_then(Value::as_str);
            reply.text.push_str(text.unwrap_or_default());
        }
        "message_delta" => {
            reply.tokens = data.get("usage").map_or(reply.tokens, |usage| updated(reply.tokens, usage));
            reply.stop_reason = text_of(&data, &["delta", "stop_reason"]).or(reply.stop_reason.take());
        }
        "message_stop" => return Ok(Progress::Ended),
        "error" => return Err(RequestError::in_stream(data.get("error").unwrap_or(&data))),
        _ => {}
    }
    Ok(Progress::Continues)
}

/// Returns the token counts after a report that may omit some of them. Its `input_tokens` exclude cached tokens.
fn updated(tokens: ReportedTokens, usage: &Value) -> ReportedTokens {
    let cache_read = count(usage, &["cache_read_input_tokens"]).unwrap_or(0);
    let cache_written = count(usage, &["cache_creation_input_tokens"]).unwrap_or(0);
    let stated = |key: &str, known: Option<u64>| match usage.get(key) {
        None => known,
        Some(_) => count(usage, &[key]),
    };
    let is_stated = usage.get("input_tokens").is_some();
    let whole = |input: u64| input.saturating_add(cache_read).saturating_add(cache_written);
    ReportedTokens {
        input: if is_stated { stated("input_tokens", None).map(whole) } else { tokens.input },
        cached_input: if (cache_read, cache_written) != (0, 0) { cache_read } else { tokens.cached_input },
        output: stated("output_tokens", tokens.output),
    }
}
