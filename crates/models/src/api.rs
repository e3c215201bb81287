//! The two API shapes: chat completions as OpenAI defines them, messages as Anthropic defines them.

mod anthropic;
mod openai;

use hence_canon::{Object, Value};
use hence_capabilities::client::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::client::RequestError;
use crate::events::Event;
use crate::settings::{Api, ModelSettings};
use crate::usage::Tokens;

/// One turn of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) text: String,
}

/// The author of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    User,
    Assistant,
}

/// The part of a reply that has been read so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct PartialReply {
    pub(crate) text: String,
    pub(crate) tokens: ReportedTokens,
    pub(crate) stop_reason: Option<String>,
    /// The model that answers, as the endpoint names it.
    pub(crate) model: Option<String>,
    /// The id of the reply.
    pub(crate) id: Option<String>,
}

/// The counts of tokens as far as an endpoint has stated them. A count that is no whole number from 0 on is not stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportedTokens {
    pub(crate) input: Option<u64>,
    pub(crate) cached_input: u64,
    pub(crate) output: Option<u64>,
}

impl ReportedTokens {
    /// Returns the tokens if the endpoint stated both counts.
    pub(crate) fn complete(self) -> Option<Tokens> {
        Some(Tokens { input: self.input?, cached_input: self.cached_input, output: self.output? })
    }
}

impl PartialReply {
    /// Takes in the names that a body, or an event of a stream, states of the model and the reply.
    fn identify(&mut self, body: &Value) {
        self.model = text_of(body, &["model"]).or(self.model.take());
        self.id = text_of(body, &["id"]).or(self.id.take());
    }
}

/// Whether a stream continues after an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Continues,
    Ended,
}

impl Api {
    /// Returns the name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns the path of requests below the endpoint.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "chat/completions",
            Self::Anthropic => "messages",
        }
    }

    /// Returns the headers of a request; one of them holds the key, if there is a key.
    pub(crate) fn headers(self, key: Option<&str>) -> Result<HeaderMap, &'static str> {
        let mut headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let (name, prefix) = match self {
            Self::OpenAi => ("authorization", "Bearer "),
            Self::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
                ("x-api-key", "")
            }
        };
        if let Some(key) = key {
            let mut value = HeaderValue::from_str(&format!("{prefix}{key}"))
                .map_err(|_| "the key has characters that a header cannot hold")?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// Returns the body of a request. The settings decide whether the provider enforces `schema`.
    pub(crate) fn request(
        self,
        settings: &ModelSettings,
        schema: Option<&Value>,
        system: Option<&str>,
        messages: &[Message],
    ) -> Object {
        match self {
            Self::OpenAi => openai::request(settings, schema, system, messages),
            Self::Anthropic => anthropic::request(settings, schema, system, messages),
        }
    }

    /// Reads a whole reply; the error describes why `body` is not a reply.
    pub(crate) fn read_reply(self, body: &Value) -> Result<PartialReply, &'static str> {
        match self {
            Self::OpenAi => Ok(openai::read_reply(body)),
            Self::Anthropic => anthropic::read_reply(body),
        }
    }

    /// Reads one event of a streamed reply.
    pub(crate) fn read_event(
        self,
        event: &Event,
        reply: &mut PartialReply,
    ) -> Result<Progress, RequestError> {
        match self {
            Self::OpenAi => openai::read_event(event, reply),
            Self::Anthropic => anthropic::read_event(event, reply),
        }
    }
}

impl Message {
    /// Returns the message as both APIs write it.
    pub(crate) fn value(&self) -> Value {
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        Object::from_iter([("role", role), ("content", &self.text)]).into()
    }
}

fn member<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn count(usage: &Value, path: &[&str]) -> Option<u64> {
    member(usage, path)?.as_u64()
}

fn text_of(value: &Value, path: &[&str]) -> Option<String> {
    member(value, path)?.as_str().map(str::to_owned)
}

/// Joins the texts of content parts such as `{"type": "text", "text": …}`; other parts are reasoning or tool calls.
fn joined_text(parts: &[Value]) -> String {
    let texts = parts.iter().filter(|part| part.get("type").and_then(Value::as_str) == Some("text"));
    texts.filter_map(|part| part.get("text")?.as_str()).collect()
}

/// The properties that a provider schema requires: those that the declared schema requires, or all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demanded {
    Declared,
    All,
}

/// Returns a schema in the subset that providers enforce: closed objects, no `oneOf`, and no text next to a reference.
///
/// The reply is checked against the declared schema, so this schema may be looser, and stricter where a provider
/// requires that.
fn provider_schema(schema: &Value, demanded: Demanded) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(|schema| provider_schema(schema, demanded)).collect(),
        Value::Object(object) => provider_object_schema(object, demanded).into(),
        other => other.clone(),
    }
}

fn provider_object_schema(schema: &Object, demanded: Demanded) -> Object {
    if schema.contains_key("$ref") {
        let described = |key: &str| ["title", "description", "default"].contains(&key);
        return schema
            .iter()
            .filter(|(key, _)| !described(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
    }
    let has_any_of = schema.contains_key("anyOf");
    let mut members: Vec<(std::sync::Arc<str>, Value)> = Vec::with_capacity(schema.len() + 2);
    for (key, value) in schema.iter() {
        let (key, value) = match (&**key, value) {
            ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", _) => {
                let schemas = value.as_object().into_iter().flat_map(Object::iter);
                let schemas = schemas.map(|(name, schema)| (name.clone(), provider_schema(schema, demanded)));
                (key.clone(), schemas.collect::<Object>().into())
            }
            ("oneOf", _) if !has_any_of => ("anyOf".into(), provider_schema(value, demanded)),
            // These members hold data, not schemas.
            ("enum" | "const" | "default" | "examples" | "required" | "type", _) => {
                (key.clone(), value.clone())
            }
            _ => (key.clone(), provider_schema(value, demanded)),
        };
        members.push((key, value));
    }
    let mut schema: Object = members.into_iter().collect();
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    if is_object || schema.contains_key("properties") {
        if !schema.contains_key("additionalProperties") {
            schema = schema.with("additionalProperties", false);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        if let (Demanded::All, Some(properties)) = (demanded, properties) {
            let required: Vec<Value> = properties.keys().map(|name| name.clone().into()).collect();
            schema = schema.with("required", required);
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    #[test]
    fn a_provider_gets_the_subset_of_a_schema_that_it_enforces() {
        let schema = parse(
            br##"{"type": "object", "required": ["a"], "properties": {
                "a": {"$ref": "#/$defs/x", "description": "an x"},
                "oneOf": {"type": "object", "enum": [{"properties": {}}]},
                "b": {"oneOf": [{"type": "null"}, {"properties": {"c": true}, "additionalProperties": true}]}},
              "$defs": {"x": {"type": "string", "title": "X"}}}"##,
        );
        let schema = schema.unwrap();
        let x = r#""$defs":{"x":{"title":"X","type":"string"}}"#;
        let subset = |demanded| provider_schema(&schema, demanded).to_string();
        let properties = |required: &str| {
            format!(
                r##""properties":{{"a":{{"$ref":"#/$defs/x"}},"b":{{"anyOf":[{{"type":"null"}},{{"additionalProperties":true,"properties":{{"c":true}}{required}}}]}},"oneOf":{{"additionalProperties":false,"enum":[{{"properties":{{}}}}],"type":"object"}}}}"##
            )
        };
        assert_eq!(
            subset(Demanded::Declared),
            format!(
                r#"{{{x},"additionalProperties":false,{},"required":["a"],"type":"object"}}"#,
                properties("")
            )
        );
        assert_eq!(
            subset(Demanded::All),
            format!(
                r#"{{{x},"additionalProperties":false,{},"required":["a","oneOf","b"],"type":"object"}}"#,
                properties(r#","required":["c"]"#)
            )
        );
    }

    #[test]
    fn a_key_that_no_header_can_hold_is_refused_without_being_shown() {
        for api in [Api::OpenAi, Api::Anthropic] {
            assert!(!api.headers(Some("bad\nkey")).unwrap_err().contains("bad"));
            assert!(!format!("{:?}", api.headers(Some("sk-12345678")).unwrap()).contains("sk-1"));
        }
    }
}
