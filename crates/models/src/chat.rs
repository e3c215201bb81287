//! Conversations: several messages, one reply as text. Nothing is repaired; whoever talks judges the reply.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hence_canon::Object;
use hence_capabilities::client::Connections;

use crate::api::{Message, Role};
use crate::client::{ModelClient, ModelReply, RequestError, Retry};
use crate::exchange::Exchange;
use crate::failure::{AskError, FailureClass};
use crate::model::{Model, about, failed, shows_key, without_key};
use crate::retry::RetryDecision;
use crate::usage::report;

/// The author of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// A conversation so far. It has no `Debug`, because it holds the key.
#[derive(Clone, Copy)]
pub struct Chat<'a> {
    /// The system prompt.
    pub system: Option<&'a str>,
    /// The messages, oldest first.
    pub messages: &'a [(Speaker, Arc<str>)],
    /// The key, if the endpoint requires one.
    pub key: Option<&'a str>,
    /// The key by which an endpoint that knows such keys recognises a repeated request.
    pub idempotency_key: Option<&'a str>,
    /// The time limit for the reply, including all retries.
    pub timeout: Duration,
    /// The maximum number of bytes of text in a reply.
    pub reply_bytes_max: u64,
    /// Says that the reply is not waited for any more. It is asked several times in a second.
    pub is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
}

/// The time between two questions whether a reply is still waited for.
const OVER_INTERVAL: Duration = Duration::from_millis(50);

/// The reply of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChatReply {
    /// The text. It is cut where `finish_reason` says so.
    pub text: String,
    /// The reason why the model stopped, as the endpoint names it.
    pub finish_reason: Option<String>,
    /// The model that answered, as the endpoint names it.
    pub model: Option<String>,
    /// The counters of the call: `llm_calls`, `tokens_in`, `tokens_out` and, with prices, `cost`.
    pub meta: Object,
}

/// A model that is asked often: connections to its endpoint stay open between requests.
pub struct ChatModel {
    model: Model,
    connections: Connections,
}

impl ChatModel {
    /// Prepares to talk to a model.
    ///
    /// # Errors
    /// [`AskError`] when the system cannot run a client.
    pub fn new(model: Model) -> Result<Self, AskError> {
        let connections = Connections::open().map_err(|error| {
            failed(FailureClass::Unreachable, format!("no runtime for a client: {error}"))
        })?;
        Ok(Self { model: model.keeping_connections(), connections })
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Continues a conversation. Many threads may do so at the same time.
    ///
    /// # Errors
    /// [`AskError`] when there is no reply in time. No message contains a key.
    pub fn reply(&self, chat: &Chat<'_>) -> Result<ChatReply, AskError> {
        let started = Instant::now();
        let answered = self.connections.block_on(chat.timeout, async {
            let mut asked = std::pin::pin!(self.ask(chat));
            loop {
                match tokio::time::timeout(OVER_INTERVAL, asked.as_mut()).await {
                    Ok(answered) => break Some(answered),
                    Err(_) if chat.is_over.is_some_and(|is_over| is_over()) => break None,
                    Err(_) => {}
                }
            }
        });
        let answered = match answered {
            Some(Some(answered)) => answered,
            Some(None) => Err(AskError::TimedOut(started.elapsed())),
            None => Err(AskError::TimedOut(chat.timeout)),
        };
        answered.map_err(|error| without_key(error, chat.key))
    }

    async fn ask(&self, chat: &Chat<'_>) -> Result<ChatReply, AskError> {
        let settings = self.model.settings();
        let client = ModelClient::new(settings, self.model.http(), chat.key, None, chat.reply_bytes_max)
            .and_then(|client| client.with_idempotency_key(chat.idempotency_key))
            .map_err(|error| about(settings, error))?;
        let messages: Vec<Message> = chat
            .messages
            .iter()
            .map(|(speaker, text)| {
                let role = match speaker {
                    Speaker::User => Role::User,
                    Speaker::Assistant => Role::Assistant,
                };
                Message { role, text: text.to_string() }
            })
            .collect();
        let reply = self.request(&client, chat.system, &messages).await;
        let reply = reply.map_err(|error| about(settings, error))?;
        let stated = [Some(&reply.text), reply.model.as_ref(), reply.finish_reason.as_ref()];
        if chat.key.is_some_and(|key| stated.into_iter().flatten().any(|text| shows_key(text, key))) {
            let message = "the reply shows the key it was asked with";
            return Err(about(settings, RequestError::permanent(FailureClass::ReplyInvalid, message)));
        }
        let meta = report(1, reply.tokens, settings.prices.as_ref());
        Ok(ChatReply { text: reply.text, finish_reason: reply.finish_reason, model: reply.model, meta })
    }

    /// Sends one request, and repeats it while the failure may be temporary. A reply that was cut is a reply.
    async fn request(
        &self,
        client: &ModelClient<'_>,
        system: Option<&str>,
        messages: &[Message],
    ) -> Result<ModelReply, RequestError> {
        let mut failures = 0;
        loop {
            let exchange = Exchange::new(self.model.settings());
            let mut error = match client.request(system, messages, &exchange).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if error.class == FailureClass::ReplyCut
                && let Some(received) = error.received.take()
            {
                return Ok(*received);
            }
            let Retry::After(requested) = error.retry else { return Err(error) };
            failures += 1;
            match self.model.settings().retry.decide(failures, requested) {
                RetryDecision::Wait(wait) => tokio::time::sleep(wait).await,
                RetryDecision::Exhausted | RetryDecision::WaitTooLong(_) => return Err(error),
            }
        }
    }
}
