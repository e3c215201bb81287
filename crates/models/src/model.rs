//! Questions to a model: prompts, retries, the check of the reply, and repairs.

use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value};
use hence_capabilities::client::{HttpClient, block_on};
use hence_capabilities::template::{Template, text_of};
use hence_cognition::budget::{Most, PriceKnown, Usage};

use crate::api::{Message, Role};
use crate::client::{ModelClient, ModelReply, RequestError, Retry};
use crate::exchange::Exchange;
use crate::failure::{AskError, FailureClass};
use crate::reply::{self, ReplySchema};
use crate::retry::RetryDecision;
use crate::settings::{InvalidSettings, ModelSettings, Structure};
use crate::usage::{NOT_REPORTED, Tokens, report};

/// The minimum length of a key that is hidden: local servers accept any word as a key, and a short word occurs in many
/// texts.
pub const KEY_BYTES_MIN: usize = 8;

/// The most tokens that an API adds around the texts of one request: roles, separators, its own instructions for structured
/// replies.
pub const FRAME_TOKENS_MAX: u64 = 1024;

/// The text that replaces a key in a message.
const HIDDEN_KEY: &str = "[key]";

/// A language model that can be asked.
#[derive(Clone, Debug)]
pub struct Model {
    settings: ModelSettings,
    http: Arc<HttpClient>,
}

/// One question to a model. It has no `Debug`, because it holds the key.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The values that fill the prompts.
    pub input: &'a Value,
    /// The schema of the reply; without a schema the reply is a text.
    pub schema: Option<&'a Value>,
    /// The key, if the endpoint requires one.
    pub key: Option<&'a str>,
    /// The time limit for the answer, including all retries and repairs.
    pub timeout: Duration,
    /// The maximum number of bytes of text in a reply.
    pub reply_bytes_max: u64,
}

/// The answer of a model, after all repairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The object in the reply; `{"text": …}` without a schema.
    pub output: Object,
    /// The counters of the call: `llm_calls`, `tokens_in`, `tokens_out` and, with prices, `cost`.
    pub meta: Object,
}

impl Model {
    /// Reads a model's settings.
    ///
    /// # Errors
    /// [`InvalidSettings`] with every defect.
    pub fn read(settings: &Object) -> Result<Self, InvalidSettings> {
        let settings = ModelSettings::read(settings)?;
        let http = HttpClient::new(settings.ca_file.as_deref().map(Into::into)).into();
        Ok(Self { settings, http })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Returns the same model with a client of its own, whose connections stay open.
    pub(crate) fn keeping_connections(self) -> Self {
        let ca_file = self.settings.ca_file.as_deref().map(Into::into);
        Self { http: HttpClient::new(ca_file).keeping_connections().into(), ..self }
    }

    pub(crate) fn http(&self) -> &HttpClient {
        &self.http
    }

    /// Returns what a question may use at most: every repair is asked for, and every reply is as long as allowed.
    ///
    /// A token stands for at least one byte of text, so a prompt has at most as many tokens as bytes; what the API adds
    /// around messages is bounded by [`FRAME_TOKENS_MAX`]. A repair repeats the conversation so far.
    pub fn most(&self, input: &Value, schema: Option<&Value>) -> Most {
        let settings = &self.settings;
        let filled = |template: &Template| {
            let filled: Result<String, std::convert::Infallible> =
                template.fill(|placeholder| Ok(placeholder.value(input).map(text_of).unwrap_or_default()));
            filled.map_or(0, |text| text.len() as u64)
        };
        let schema_bytes = schema.map_or(0, |schema| schema.to_string().len() as u64);
        let prompt = filled(&settings.prompt)
            .saturating_add(settings.system.as_ref().map_or(0, filled))
            .saturating_add(schema_bytes.saturating_mul(2))
            .saturating_add(FRAME_TOKENS_MAX);
        let reply = u64::from(settings.max_tokens);
        let requests = u64::from(settings.repairs).saturating_add(1);
        // Request k repeats k replies and k demands, and a demand quotes at most the reply.
        let repeated = reply.saturating_mul(2).saturating_add(FRAME_TOKENS_MAX);
        let pairs = requests.saturating_mul(requests - 1) / 2;
        let tokens = Tokens {
            input: prompt.saturating_mul(requests).saturating_add(repeated.saturating_mul(pairs)),
            cached_input: 0,
            output: reply.saturating_mul(requests),
        };
        let cost = settings.prices.as_ref().map(|prices| prices.most(tokens));
        Most {
            usage: Usage {
                calls: 1,
                tokens_in: tokens.input,
                tokens_out: tokens.output,
                cost: cost.into_iter().collect(),
                unreported: 0,
            },
            price: if settings.prices.is_some() { PriceKnown::Yes } else { PriceKnown::No },
        }
    }

    /// Asks the model and returns its answer.
    ///
    /// # Errors
    /// [`AskError`] when there is no usable answer in time. No message contains a key of at least [`KEY_BYTES_MIN`]
    /// bytes.
    pub fn ask(&self, question: &Question<'_>) -> Result<Answer, AskError> {
        self.ask_recorded(question).0
    }

    /// Asks the model and returns its answer, and everything that was sent and received as data, if anything was.
    ///
    /// The data are an object with `api`, `endpoint`, `parameters` (the request without its messages), `system`,
    /// `messages` and `requests`: for each request its outcome (`used`, `rejected`, `failed` or `no_reply`), the reason,
    /// the text of the reply as it came, why the model stopped, which model answered, and ids. They are not redacted.
    pub fn ask_recorded(&self, question: &Question<'_>) -> (Result<Answer, AskError>, Option<Value>) {
        let exchange = Exchange::new(&self.settings);
        let answer = self.answer(question, &exchange);
        (answer, exchange.value())
    }

    fn answer(&self, question: &Question<'_>, exchange: &Exchange) -> Result<Answer, AskError> {
        let schema = question.schema.map(ReplySchema::read).transpose();
        let schema = schema.map_err(|reason| failed(FailureClass::SchemaInvalid, reason))?;
        let conversation = Conversation::begin(self, question, schema.as_ref(), exchange);
        let answer = conversation.and_then(|conversation| {
            let answered = block_on(question.timeout, conversation.answer());
            let timed_out = || Err(AskError::TimedOut(question.timeout));
            answered.map_or_else(
                |error| Err(failed(FailureClass::Unreachable, format!("no runtime for a call: {error}"))),
                |answer| answer.unwrap_or_else(timed_out),
            )
        });
        answer.map_err(|error| without_key(error, question.key))
    }
}

pub(crate) fn failed(class: FailureClass, message: String) -> AskError {
    AskError::Failed { class, message }
}

/// Returns whether a text contains a key that must be hidden.
pub(crate) fn shows_key(text: &str, key: &str) -> bool {
    key.len() >= KEY_BYTES_MIN && text.contains(key)
}

pub(crate) fn without_key(error: AskError, key: Option<&str>) -> AskError {
    match (error, key) {
        (AskError::Failed { class, message }, Some(key)) if shows_key(&message, key) => {
            failed(class, message.replace(key, HIDDEN_KEY))
        }
        (error, _) => error,
    }
}

/// The messages of one question so far, and the tokens used.
struct Conversation<'a> {
    settings: &'a ModelSettings,
    schema: Option<&'a ReplySchema>,
    key: Option<&'a str>,
    exchange: &'a Exchange,
    client: ModelClient<'a>,
    system: Option<String>,
    messages: Vec<Message>,
    replies: u64,
    /// `None` once a reply did not say how many it has.
    tokens: Option<Tokens>,
}

impl<'a> Conversation<'a> {
    fn begin(
        model: &'a Model,
        question: &Question<'a>,
        schema: Option<&'a ReplySchema>,
        exchange: &'a Exchange,
    ) -> Result<Self, AskError> {
        let settings = &model.settings;
        let fill = |template: &Template| {
            template.fill(|placeholder| {
                placeholder.value(question.input).map(text_of).ok_or_else(|| {
                    let name = &placeholder.name;
                    let message = format!("the prompt names `{name}`, which the input does not have");
                    failed(FailureClass::InvalidInput, message)
                })
            })
        };
        let system = settings.system.as_ref().map(fill).transpose()?;
        let prompt = fill(&settings.prompt)?;
        let client = ModelClient::new(
            settings,
            &model.http,
            question.key,
            schema.map(ReplySchema::source),
            question.reply_bytes_max,
        );
        Ok(Self {
            settings,
            schema,
            key: question.key,
            exchange,
            client: client.map_err(|error| about(settings, error))?,
            system: with_schema(system, schema, settings.structure),
            messages: vec![Message { role: Role::User, text: prompt }],
            replies: 0,
            tokens: Some(Tokens::default()),
        })
    }

    /// Asks until a reply satisfies the schema, or all repairs are used up.
    async fn answer(mut self) -> Result<Answer, AskError> {
        loop {
            let reply = self.request().await.map_err(|error| about(self.settings, error))?;
            self.replies += 1;
            self.tokens = self.tokens.zip(reply.tokens).map(|(sum, tokens)| sum.plus(tokens));
            if self.key.is_some_and(|key| shows_key(&reply.text, key)) {
                let message = "the reply shows the key it was asked with";
                self.exchange.rejected(message, None);
                return Err(about(
                    self.settings,
                    RequestError::permanent(FailureClass::ReplyInvalid, message),
                ));
            }
            match reply::read(&reply.text, self.schema) {
                Ok(output) => {
                    let meta = report(self.replies, self.tokens, self.settings.prices.as_ref());
                    return Ok(Answer { output, meta });
                }
                Err(wrong) if self.replies > u64::from(self.settings.repairs) => {
                    self.exchange.rejected(&wrong, None);
                    return Err(self.given_up(&wrong));
                }
                Err(wrong) => {
                    let [reply, demand] = repair(reply.text, &wrong);
                    self.exchange.rejected(&wrong, Some(&demand.text));
                    self.messages.extend([reply, demand]);
                }
            }
        }
    }

    /// Sends one request, and repeats it while the failure may be temporary.
    async fn request(&self) -> Result<ModelReply, RequestError> {
        let mut failures = 0;
        loop {
            let error = match self.client.request(self.system.as_deref(), &self.messages, self.exchange).await
            {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let Retry::After(requested) = error.retry else { return Err(error) };
            failures += 1;
            let RequestError { class, message, .. } = error;
            let message = match self.settings.retry.decide(failures, requested) {
                RetryDecision::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    continue;
                }
                RetryDecision::Exhausted if failures == 1 => message,
                RetryDecision::Exhausted => format!("{message} ({failures} times in a row)"),
                RetryDecision::WaitTooLong(wait) => {
                    let longest = self.settings.retry.wait_max;
                    format!("{message}; it asks to wait {wait:?}, allowed are {longest:?}")
                }
            };
            return Err(RequestError::permanent(class, message));
        }
    }

    fn given_up(&self, wrong: &str) -> AskError {
        let tokens = match self.tokens {
            Some(Tokens { input, output, .. }) => format!("{input} tokens in, {output} out"),
            None => format!("tokens {NOT_REPORTED}"),
        };
        let replies = self.replies;
        let message = format!("none of {replies} replies can be used ({tokens}); of the last, {wrong}");
        about(self.settings, RequestError::permanent(FailureClass::ReplyInvalid, message))
    }
}

pub(crate) fn about(settings: &ModelSettings, error: RequestError) -> AskError {
    let message = format!("model `{}` at {}: {}", settings.model, settings.endpoint, error.message);
    failed(error.class, message)
}

/// Adds the schema to the system prompt unless the provider enforces it.
fn with_schema(system: Option<String>, schema: Option<&ReplySchema>, structure: Structure) -> Option<String> {
    let Some(schema) = schema.filter(|_| structure != Structure::Schema) else {
        return system;
    };
    let demand = format!(
        "Reply with one JSON object that satisfies this JSON Schema, and with nothing else:\n{}",
        schema.source()
    );
    Some(system.map_or_else(|| demand.clone(), |system| format!("{system}\n\n{demand}")))
}

/// Returns the messages that ask for a corrected reply.
fn repair(reply: String, wrong: &str) -> [Message; 2] {
    // Some endpoints refuse an empty message.
    let reply = if reply.trim().is_empty() { "(nothing)".to_owned() } else { reply };
    let demand = format!(
        "That reply cannot be used: {wrong}. Reply again with the whole JSON object, corrected, and with nothing else."
    );
    [Message { role: Role::Assistant, text: reply }, Message { role: Role::User, text: demand }]
}
