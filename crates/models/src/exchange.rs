//! One request and one reply.

mod relay;
mod trouble;

use std::time::Duration;

use futures_util::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ChatStreamEvent, JsonSpec, ReasoningEffort,
    StopReason,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use hence_capabilities::Authorities;

use crate::failure::FailureClass;
use crate::model::Question;
use crate::schema::Shape;
use crate::settings::{Api, Delivery, ModelSettings, Structure};
use crate::usage::Tokens;
use relay::Relay;

/// The name a schema goes by in a request; providers want one.
const SCHEMA_NAME: &str = "reply";

/// What a model said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) tokens: Tokens,
}

/// An exchange without a usable reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    pub(crate) class: FailureClass,
    pub(crate) message: String,
    pub(crate) may_pass: MayPass,
}

/// Whether a failure may be gone when the request is made again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MayPass {
    No,
    /// It may, perhaps after the wait the endpoint asks for.
    Yes(Option<Duration>),
}

impl Trouble {
    pub(crate) fn lasting(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), may_pass: MayPass::No }
    }

    pub(crate) fn passing(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), may_pass: MayPass::Yes(None) }
    }
}

/// A way to one endpoint.
pub(crate) struct Line<'a> {
    settings: &'a ModelSettings,
    reply_bytes_max: u64,
    relay: Relay,
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
}

impl<'a> Line<'a> {
    pub(crate) fn open(
        settings: &'a ModelSettings,
        question: &Question<'_>,
        shape: Option<&Shape>,
    ) -> Result<Self, Trouble> {
        let no_client = |error: reqwest::Error| {
            let message = format!("no client for HTTP: {}", trouble::root(&error));
            Trouble::lasting(FailureClass::Unreachable, message)
        };
        let no_way = |error: &dyn std::fmt::Display| {
            Trouble::lasting(FailureClass::Unreachable, format!("no way to the endpoint: {error}"))
        };
        let endpoint = reqwest::Url::parse(&settings.endpoint).map_err(|error| no_way(&error))?;
        let outside = http_client(settings).map_err(|message| no_way(&message))?;
        let relay = Relay::open(outside, endpoint, settings.delivery, question.reply_bytes_max)
            .map_err(|error| no_way(&error))?;
        let client = local_client().map_err(no_client)?;
        let base = relay.base().to_string();
        let (adapter, path) = match settings.api {
            Api::OpenAi => (AdapterKind::OpenAI, "chat/completions"),
            Api::Anthropic => (AdapterKind::Anthropic, "messages"),
        };
        // Without a key, the request is the same but for the header that would carry it.
        let auth = match question.key {
            Some(key) => AuthData::from_single(key.reveal()),
            None => AuthData::RequestOverride {
                url: below(&base, path)?,
                headers: anonymous_headers(settings.api),
            },
        };
        Ok(Self {
            settings,
            reply_bytes_max: question.reply_bytes_max,
            relay,
            client: Client::builder().with_reqwest(client).build().map_err(|error| {
                Trouble::lasting(FailureClass::Unreachable, format!("no client for models: {error}"))
            })?,
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(base),
                auth,
                model: ModelIden::new(adapter, plain_name(&settings.model)),
            },
            options: options(settings, shape),
        })
    }

    /// Makes one request and reads its reply to the end.
    pub(crate) async fn exchange(
        &self,
        system: Option<&str>,
        messages: &[ChatMessage],
    ) -> Result<Said, Trouble> {
        let mut request = ChatRequest::new(messages.to_vec());
        request.system = system.map(str::to_owned);
        match self.settings.delivery {
            Delivery::Whole => self.whole(request).await,
            Delivery::Streamed => self.streamed(request).await,
        }
    }

    async fn whole(&self, request: ChatRequest) -> Result<Said, Trouble> {
        let replied = self.client.exec_chat(self.target.clone(), request, Some(&self.options)).await;
        let replied = replied.map_err(|error| self.trouble(&error))?;
        let text = replied.texts().concat();
        self.check_size(text.len())?;
        check_end(replied.stop_reason.as_ref(), self.settings)?;
        Ok(Said { text, tokens: Tokens::of(&replied.usage) })
    }

    async fn streamed(&self, request: ChatRequest) -> Result<Said, Trouble> {
        let opened = self.client.exec_chat_stream(self.target.clone(), request, Some(&self.options)).await;
        let mut stream = opened.map_err(|error| self.trouble(&error))?.stream;
        let mut text = String::new();
        while let Some(event) = stream.next().await {
            match event.map_err(|error| self.trouble(&error))? {
                ChatStreamEvent::Chunk(chunk) => {
                    text.push_str(&chunk.content);
                    self.check_size(text.len())?;
                }
                ChatStreamEvent::End(end) => {
                    check_end(end.captured_stop_reason.as_ref(), self.settings)?;
                    let tokens = end.captured_usage.as_ref().map(Tokens::of).unwrap_or_default();
                    return Ok(Said { text, tokens });
                }
                _ => {}
            }
        }
        let broken = Trouble::passing(FailureClass::Unreachable, "the reply broke off before its end");
        Err(self.relay.take_fault().unwrap_or(broken))
    }

    /// Tells what went wrong: what happened on the way is known better than what the client saw of it.
    fn trouble(&self, error: &genai::Error) -> Trouble {
        self.relay.take_fault().unwrap_or_else(|| trouble::of(error))
    }

    fn check_size(&self, bytes: usize) -> Result<(), Trouble> {
        let limit = self.reply_bytes_max;
        if bytes as u64 <= limit {
            return Ok(());
        }
        let message = format!("the reply has more than {limit} bytes");
        Err(Trouble::lasting(FailureClass::ReplyTooLarge, message))
    }
}

fn check_end(reason: Option<&StopReason>, settings: &ModelSettings) -> Result<(), Trouble> {
    match reason {
        Some(StopReason::MaxTokens(_)) => {
            let message = format!("the reply was cut at {} tokens, its `max_tokens`", settings.max_tokens);
            Err(Trouble::lasting(FailureClass::ReplyCut, message))
        }
        Some(StopReason::ContentFilter(reason)) => {
            Err(Trouble::lasting(FailureClass::Declined, format!("the model declines: {reason}")))
        }
        _ => Ok(()),
    }
}

fn options(settings: &ModelSettings, shape: Option<&Shape>) -> ChatOptions {
    let mut options = ChatOptions::default().with_max_tokens(settings.max_tokens).with_capture_usage(true);
    options.temperature = settings.temperature;
    options.seed = settings.seed;
    options.extra_body = Some(serde_json::json!({"model": &*settings.model}));
    options.response_format = match (shape, settings.structure) {
        (Some(shape), Structure::Schema) => {
            Some(ChatResponseFormat::JsonSpec(JsonSpec::new(SCHEMA_NAME, shape.schema().clone())))
        }
        (Some(_), Structure::Json) => Some(ChatResponseFormat::JsonMode),
        (_, Structure::Prompt) | (None, _) => None,
    };
    options
}

/// Returns a name in which the client finds no meaning of its own.
///
/// It takes `NAMESPACE::` and a last word such as `-high` out of a model's name and turns them into settings nobody made.
/// The request names the model as the settings do, in any case; this is only what the client looks at.
fn plain_name(model: &str) -> String {
    let name = model.replace("::", ":");
    match ReasoningEffort::from_model_name(&name) {
        (None, _) => name,
        (Some(_), _) => format!("{name}-"),
    }
}

fn http_client(settings: &ModelSettings) -> Result<reqwest::Client, String> {
    // Whoever came first has chosen; any choice will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A redirect would take the key somewhere nobody named.
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_gzip();
    let builder = if is_local(&settings.endpoint) { builder.no_proxy() } else { builder };
    let authorities = Authorities::new(settings.ca_file.as_deref().map(Into::into));
    authorities.trusted_by(builder)?.build().map_err(|error| trouble::root(&error))
}

/// Returns the client that talks to the way to the endpoint, which is on this machine.
fn local_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_gzip().no_proxy().build()
}

/// Returns whether an endpoint is on this machine, where no proxy stands between.
fn is_local(endpoint: &str) -> bool {
    let host = reqwest::Url::parse(endpoint).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

fn below(endpoint: &str, path: &str) -> Result<String, Trouble> {
    let joined = reqwest::Url::parse(endpoint).and_then(|base| {
        let mut url = base.join(path)?;
        url.set_query(base.query());
        Ok(url)
    });
    let refused = |error| Trouble::lasting(FailureClass::Unreachable, format!("no address: {error}"));
    joined.map(|url| url.to_string()).map_err(refused)
}

fn anonymous_headers(api: Api) -> Headers {
    match api {
        Api::OpenAi => Headers::default(),
        Api::Anthropic => Headers::from(("anthropic-version".to_owned(), "2023-06-01".to_owned())),
    }
}
