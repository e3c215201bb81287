//! The client of one endpoint: sends a request and reads the reply within its limits.

use std::time::Duration;

use hence_canon::{Object, Value, parse};
use hence_capabilities::client::header::{HeaderMap, HeaderValue};
use hence_capabilities::client::{
    BodyError, HttpClient, HttpRequest, HttpResponse, Method, Stage, StatusCode, TransportError, Url,
};
use jiff::Timestamp;

use crate::api::{Message, PartialReply, Progress};
use crate::events::{EventReader, EventTooLong};
use crate::exchange::Exchange;
use crate::failure::{FailureClass, excerpt};
use crate::retry::requested_wait;
use crate::settings::{Api, Delivery, ModelSettings};
use crate::usage::Tokens;

/// The maximum number of bytes read from the body of an error. Messages show far less.
const ERROR_BYTES_MAX: u64 = 64 * 1024;

/// The maximum number of bytes of JSON for one byte of text, written as `\u0000`.
const ESCAPED_BYTES_MAX: u64 = 6;

/// The maximum number of bytes of a reply in addition to its text: names, ids, counts.
const ENVELOPE_BYTES_MAX: u64 = 1024 * 1024;

/// The header by which an endpoint recognises a repeated request.
const IDEMPOTENCY_HEADER: &str = "idempotency-key";

/// A complete reply of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ModelReply {
    pub(crate) text: String,
    /// The tokens, if the endpoint states them.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) finish_reason: Option<String>,
    /// The model that answered, as the endpoint names it.
    pub(crate) model: Option<String>,
    /// The id of the reply.
    pub(crate) id: Option<String>,
    /// The id that the endpoint gave the request.
    pub(crate) request_id: Option<String>,
}

impl ModelReply {
    fn of(reply: PartialReply, request_id: Option<String>) -> Self {
        let PartialReply { text, tokens, stop_reason, model, id } = reply;
        Self { text, tokens: tokens.complete(), finish_reason: stop_reason, model, id, request_id }
    }
}

/// The headers in which endpoints return the id of a request.
const REQUEST_ID_HEADERS: [&str; 2] = ["x-request-id", "request-id"];

fn request_id(headers: &HeaderMap) -> Option<String> {
    let named = REQUEST_ID_HEADERS.iter().find_map(|name| headers.get(*name));
    named.and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// A request without a usable reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RequestError {
    pub(crate) class: FailureClass,
    pub(crate) message: String,
    pub(crate) retry: Retry,
    /// The part of a reply that was received.
    pub(crate) received: Option<Box<ModelReply>>,
}

/// Whether the same request may succeed later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retry {
    Never,
    /// The request may succeed later, possibly after the wait that the endpoint asks for.
    After(Option<Duration>),
}

impl RequestError {
    pub(crate) fn permanent(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry: Retry::Never, received: None }
    }

    pub(crate) fn transient(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry: Retry::After(None), received: None }
    }

    /// Returns the error for a reply that does not follow its API.
    pub(crate) fn malformed(cause: &str) -> Self {
        let message = format!("the endpoint's reply cannot be understood: {}", excerpt(cause));
        Self::transient(FailureClass::Unavailable, message)
    }

    /// Returns the error for a whole body that is something else than a reply. Asking again would be charged again and give the same.
    fn other_content(content_type: &str, body: &str) -> Self {
        let message = format!(
            "the endpoint answers with the content type {content_type:?} instead of JSON or a stream of events: {}",
            excerpt(body)
        );
        Self::permanent(FailureClass::Unavailable, message)
    }

    /// Returns the error for an error that an endpoint reports in a stream instead of by a status.
    pub(crate) fn in_stream(error: &Value) -> Self {
        let message = format!("the endpoint reports an error: {}", error_text(&error.to_string()));
        Self::transient(FailureClass::Unavailable, message)
    }

    fn too_large(reply_bytes_max: u64) -> Self {
        let message = format!("the reply has more than {reply_bytes_max} bytes");
        Self::permanent(FailureClass::ReplyTooLarge, message)
    }

    fn of_transport(error: &TransportError) -> Self {
        let cause = excerpt(error.root_cause());
        match error.stage {
            Stage::Setup => {
                Self::permanent(FailureClass::Unreachable, format!("cannot reach the endpoint: {cause}"))
            }
            Stage::Connect => Self::transient(FailureClass::Unreachable, format!("no connection: {cause}")),
            Stage::Exchange => {
                Self::transient(FailureClass::Unreachable, format!("the connection broke: {cause}"))
            }
        }
    }

    fn of_status(status: StatusCode, body: &[u8], headers: &HeaderMap) -> Self {
        let reason = status.canonical_reason().unwrap_or("unknown");
        let said = String::from_utf8_lossy(body).into_owned();
        let body = error_text(&said);
        let colon = if body.is_empty() { "" } else { ": " };
        let message = format!("the endpoint answers {} {reason}{colon}{body}", status.as_u16());
        let class = match status.as_u16() {
            401 | 403 => FailureClass::Unauthorized,
            429 => FailureClass::RateLimited,
            408 | 500.. => FailureClass::Unavailable,
            _ => FailureClass::RequestRefused,
        };
        let retry = match class {
            FailureClass::RateLimited | FailureClass::Unavailable => {
                Retry::After(requested_wait(headers, Timestamp::now()))
            }
            _ => Retry::Never,
        };
        let received = ModelReply { text: said, request_id: request_id(headers), ..ModelReply::default() };
        Self { class, message, retry, received: None }.with_received(received)
    }

    /// Adds what was received, unless something more complete is known already.
    fn with_received(self, received: ModelReply) -> Self {
        Self { received: self.received.or_else(|| Some(Box::new(received))), ..self }
    }
}

/// Returns the message in the body of an error, which both APIs put in the same place.
fn error_text(body: &str) -> String {
    let value = parse(body.as_bytes()).ok();
    let message = value.as_ref().and_then(|value| {
        let inner = value.get("error").and_then(|error| error.get("message"));
        inner.or_else(|| value.get("message"))?.as_str()
    });
    excerpt(message.unwrap_or(body))
}

/// A client of one model's endpoint.
pub(crate) struct ModelClient<'a> {
    settings: &'a ModelSettings,
    http: &'a HttpClient,
    url: Url,
    headers: HeaderMap,
    schema: Option<&'a Value>,
    reply_bytes_max: u64,
}

impl<'a> ModelClient<'a> {
    /// Prepares requests. The settings decide whether the provider enforces `schema`.
    pub(crate) fn new(
        settings: &'a ModelSettings,
        http: &'a HttpClient,
        key: Option<&str>,
        schema: Option<&'a Value>,
        reply_bytes_max: u64,
    ) -> Result<Self, RequestError> {
        let refused = |reason: &dyn std::fmt::Display| {
            RequestError::permanent(FailureClass::Unreachable, format!("cannot reach the endpoint: {reason}"))
        };
        let url = url_below(&settings.endpoint, settings.api).map_err(|error| refused(&error))?;
        let headers = settings.api.headers(key).map_err(|error| refused(&error))?;
        Ok(Self { settings, http, url, headers, schema, reply_bytes_max })
    }

    /// Sends a key with every request by which an endpoint recognises a repeated one.
    pub(crate) fn with_idempotency_key(mut self, key: Option<&str>) -> Result<Self, RequestError> {
        if let Some(key) = key {
            let value = HeaderValue::from_str(key).map_err(|_| {
                RequestError::permanent(FailureClass::RequestRefused, "the idempotency key is no header")
            })?;
            self.headers.insert(IDEMPOTENCY_HEADER, value);
        }
        Ok(self)
    }

    /// Sends one request, reads its reply to the end, and notes both in `exchange`.
    pub(crate) async fn request(
        &self,
        system: Option<&str>,
        messages: &[Message],
        exchange: &Exchange,
    ) -> Result<ModelReply, RequestError> {
        let body = self.settings.api.request(self.settings, self.schema, system, messages);
        exchange.sends(&body, system, messages);
        let reply = self.send(body).await;
        match &reply {
            Ok(reply) => exchange.replied(reply),
            Err(error) => exchange.failed(error),
        }
        reply
    }

    async fn send(&self, body: Object) -> Result<ModelReply, RequestError> {
        let request = HttpRequest {
            method: Method::POST,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: Some(Value::from(body).to_string().into_bytes()),
        };
        let sent = self.http.send(request).await;
        let mut response = sent.map_err(|error| RequestError::of_transport(&error))?;
        if !response.status().is_success() {
            // An error whose body breaks off is reported as that error.
            let body = response.body_start(ERROR_BYTES_MAX).await.unwrap_or_default();
            return Err(RequestError::of_status(response.status(), &body, response.headers()));
        }
        let request_id = request_id(response.headers());
        let mut reply = PartialReply::default();
        // Some endpoints ignore that a stream was asked for.
        let is_stream = self.settings.delivery == Delivery::Streamed
            && response.content_type().starts_with("text/event-stream");
        let read = match is_stream {
            true => self.read_stream(response, &mut reply).await,
            false => self.read_whole(response, &mut reply).await,
        };
        let complete = read.and_then(|()| self.check_end(&reply));
        let reply = ModelReply::of(reply, request_id);
        match complete {
            Ok(()) => Ok(reply),
            Err(error) => Err(error.with_received(reply)),
        }
    }

    /// Returns the maximum number of bytes of a whole reply, or of one event of a stream.
    fn json_bytes_max(&self) -> u64 {
        self.reply_bytes_max.saturating_mul(ESCAPED_BYTES_MAX).saturating_add(ENVELOPE_BYTES_MAX)
    }

    async fn read_whole(
        &self,
        mut response: HttpResponse,
        reply: &mut PartialReply,
    ) -> Result<(), RequestError> {
        let body = response.body(self.json_bytes_max()).await.map_err(|error| match error {
            BodyError::TooLarge => RequestError::too_large(self.reply_bytes_max),
            BodyError::Transport(error) => RequestError::of_transport(&error),
        })?;
        // Until it is understood, the reply is the text that came.
        reply.text = String::from_utf8_lossy(&body).into_owned();
        let (content_type, is_streamed) =
            (response.content_type(), self.settings.delivery == Delivery::Streamed);
        let is_json = content_type.starts_with("application/json");
        // Simple servers name no type, or that of any text.
        let is_open = content_type.is_empty() || content_type.starts_with("text/plain");
        if !is_json && !is_open {
            return Err(RequestError::other_content(content_type, &reply.text));
        }
        let body = match parse(&body) {
            Ok(body) => body,
            Err(_) if is_open && is_streamed => {
                let text = std::mem::take(&mut reply.text);
                return self.read_events_of(content_type, text, reply);
            }
            Err(_) if is_open => return Err(RequestError::other_content(content_type, &reply.text)),
            Err(error) => return Err(RequestError::malformed(&error.to_string())),
        };
        *reply = self.settings.api.read_reply(&body).map_err(RequestError::malformed)?;
        self.check_size(reply)
    }

    /// Reads a body of no stated type that has the events of a stream.
    fn read_events_of(
        &self,
        content_type: &str,
        body: String,
        reply: &mut PartialReply,
    ) -> Result<(), RequestError> {
        let mut events = EventReader::new(self.json_bytes_max());
        let pushed = events.push(body.as_bytes());
        pushed.map_err(|EventTooLong| RequestError::too_large(self.reply_bytes_max))?;
        events.finish();
        if events.is_empty() {
            let error = RequestError::other_content(content_type, &body);
            reply.text = body;
            return Err(error);
        }
        match self.take_events(&mut events, reply)? {
            Progress::Ended => Ok(()),
            Progress::Continues => end_of_stream(reply),
        }
    }

    async fn read_stream(
        &self,
        mut response: HttpResponse,
        reply: &mut PartialReply,
    ) -> Result<(), RequestError> {
        let mut events = EventReader::new(self.json_bytes_max());
        loop {
            let chunk = match response.chunk().await {
                Ok(chunk) => chunk,
                // The model has ended its reply; the connection broke after it.
                Err(_) if reply.stop_reason.is_some() => None,
                Err(error) => return Err(RequestError::of_transport(&error)),
            };
            let ended = chunk.is_none();
            match chunk {
                Some(chunk) => events
                    .push(chunk.as_ref())
                    .map_err(|EventTooLong| RequestError::too_large(self.reply_bytes_max))?,
                None => events.finish(),
            }
            if self.take_events(&mut events, reply)? == Progress::Ended {
                return Ok(());
            }
            if ended {
                return end_of_stream(reply);
            }
        }
    }

    /// Reads the events that are complete.
    fn take_events(
        &self,
        events: &mut EventReader,
        reply: &mut PartialReply,
    ) -> Result<Progress, RequestError> {
        while let Some(event) = events.next() {
            let progress = self.settings.api.read_event(&event, reply)?;
            self.check_size(reply)?;
            if progress == Progress::Ended {
                return Ok(progress);
            }
        }
        Ok(Progress::Continues)
    }

    fn check_size(&self, reply: &PartialReply) -> Result<(), RequestError> {
        if reply.text.len() as u64 <= self.reply_bytes_max {
            return Ok(());
        }
        Err(RequestError::too_large(self.reply_bytes_max))
    }

    fn check_end(&self, reply: &PartialReply) -> Result<(), RequestError> {
        match reply.stop_reason.as_deref() {
            Some("length" | "max_tokens" | "model_length" | "model_context_window_exceeded") => {
                let max = self.settings.max_tokens;
                let message = format!("the reply was cut at {max} tokens, its `max_tokens`");
                Err(RequestError::permanent(FailureClass::ReplyCut, message))
            }
            Some(reason @ ("content_filter" | "refusal")) => {
                let message = format!("the model declines: {reason}");
                Err(RequestError::permanent(FailureClass::Declined, message))
            }
            _ => Ok(()),
        }
    }
}

/// Judges a stream that ended without the event that ends streams: a reply that says why it ended is whole.
fn end_of_stream(reply: &PartialReply) -> Result<(), RequestError> {
    if reply.stop_reason.is_some() {
        return Ok(());
    }
    Err(RequestError::transient(FailureClass::Unreachable, "the reply broke off before its end"))
}

/// Returns the address of an API below an endpoint; the query of the endpoint is preserved.
fn url_below(endpoint: &str, api: Api) -> Result<Url, impl std::fmt::Display + use<>> {
    let mut url = Url::parse(endpoint)?;
    let path = format!("{}{}", url.path(), api.path());
    url.set_path(&path);
    Ok::<_, <Url as std::str::FromStr>::Err>(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_stays_below_its_endpoint() {
        for (endpoint, expected) in [
            ("https://h/v1/", "https://h/v1/chat/completions"),
            ("https://h:8443/v1/?api-version=2", "https://h:8443/v1/chat/completions?api-version=2"),
            ("http://h//other.example/v1/", "http://h//other.example/v1/chat/completions"),
            ("http://h/http://other.example/", "http://h/http://other.example/chat/completions"),
        ] {
            let url = url_below(endpoint, Api::OpenAi).map_err(|error| error.to_string()).unwrap();
            assert_eq!(url.as_str(), expected);
            assert_eq!(url.host_str(), Some("h"));
        }
    }
}
