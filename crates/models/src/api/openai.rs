//! The chat completions API, as OpenAI defines it and many servers implement it.

use hence_canon::{Float, Object, Value, parse};

use super::{
    Demanded, Message, PartialReply, Progress, ReportedTokens, count, joined_text, member, provider_schema,
    text_of,
};
use crate::client::RequestError;
use crate::events::Event;
use crate::settings::{Delivery, ModelSettings, Structure};

/// The name of the schema in a request; the API requires a name.
const SCHEMA_NAME: &str = "reply";

/// The data of the event that ends a stream.
const END_OF_STREAM: &str = "[DONE]";

/// The name prefixes of models that refuse `max_tokens` and require `max_completion_tokens` instead.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

pub(super) fn request(
    settings: &ModelSettings,
    schema: Option<&Value>,
    system: Option<&str>,
    messages: &[Message],
) -> Object {
    let system = system.map(|text| Object::from_iter([("role", "system"), ("content", text)]).into());
    let messages: Vec<Value> = system.into_iter().chain(messages.iter().map(Message::value)).collect();
    let renamed = COMPLETION_TOKENS.iter().any(|start| settings.model.starts_with(start));
    let max_tokens = if renamed { "max_completion_tokens" } else { "max_tokens" };
    let mut body = Object::from_iter([
        ("model", Value::from(settings.model.clone())),
        ("messages", messages.into()),
        ("stream", (settings.delivery == Delivery::Streamed).into()),
        (max_tokens, u64::from(settings.max_tokens).into()),
    ]);
    if settings.delivery == Delivery::Streamed {
        body = body.with("stream_options", Object::from_iter([("include_usage", true)]));
    }
    if let Some(format) = response_format(settings, schema) {
        body = body.with("response_format", format);
    }
    if let Some(temperature) = settings.temperature.and_then(|number| Float::new(number).ok()) {
        body = body.with("temperature", temperature);
    }
    if let Some(seed) = settings.seed {
        body = body.with("seed", seed);
    }
    body
}

fn response_format(settings: &ModelSettings, schema: Option<&Value>) -> Option<Object> {
    let schema = schema?;
    match settings.structure {
        Structure::Schema => {
            let named = Object::from_iter([
                ("name", Value::from(SCHEMA_NAME)),
                ("strict", true.into()),
                ("schema", provider_schema(schema, Demanded::All)),
            ]);
            Some(Object::from_iter([("type", Value::from("json_schema")), ("json_schema", named.into())]))
        }
        Structure::Json => Some(Object::from_iter([("type", "json_object")])),
        Structure::Prompt => None,
    }
}

pub(super) fn read_reply(body: &Value) -> PartialReply {
    let choice = body.get("choices").and_then(|choices| choices.at(0));
    let content = choice.and_then(|choice| member(choice, &["message", "content"]));
    let mut reply = PartialReply {
        text: content.map(content_text).unwrap_or_default().trim().to_owned(),
        tokens: body.get("usage").map(tokens).unwrap_or_default(),
        stop_reason: choice.and_then(|choice| text_of(choice, &["finish_reason"])),
        ..PartialReply::default()
    };
    reply.identify(body);
    reply
}

pub(super) fn read_event(event: &Event, reply: &mut PartialReply) -> Result<Progress, RequestError> {
    if event.data == END_OF_STREAM {
        return Ok(Progress::Ended);
    }
    let data = parse(event.data.as_bytes()).map_err(|error| RequestError::malformed(&error.to_string()))?;
    if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
        return Err(RequestError::in_stream(error));
    }
    reply.identify(&data);
    if let Some(choice) = data.get("choices").and_then(|choices| choices.at(0)) {
        let content = member(choice, &["delta", "content"]);
        reply.text.push_str(&content.map(content_text).unwrap_or_default());
        reply.stop_reason = text_of(choice, &["finish_reason"]).or(reply.stop_reason.take());
    }
    // Events before the last one may have no usage, or null.
    if let Some(usage) = data.get("usage").filter(|usage| !usage.is_null()) {
        reply.tokens = tokens(usage);
    }
    Ok(Progress::Continues)
}

/// Returns the text of a message's content, which some servers send in parts.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.to_string(),
        Value::Array(parts) => joined_text(parts),
        _ => String::new(),
    }
}

fn tokens(usage: &Value) -> ReportedTokens {
    ReportedTokens {
        input: count(usage, &["prompt_tokens"]),
        cached_input: count(usage, &["prompt_tokens_details", "cached_tokens"]).unwrap_or(0),
        output: count(usage, &["completion_tokens"]),
    }
}
