//! Language models as capabilities.
//!
//! A [`Model`] is read from settings: the name of the model, its endpoint and its prompts. [`Model::ask`] fills the
//! prompts and sends them to an endpoint with the API of OpenAI or Anthropic. It repeats a request when the endpoint is
//! busy, and asks the model to correct a reply that cannot be used. It returns an object that satisfies the schema,
//! with its cost, or an error within the time limit.
//!
//! [`ChatModel`] continues a conversation and returns the reply as text.
//!
//! [`LlmKind`] makes such a model a capability: `provider: {kind: llm, …}` in a capabilities file.
//!
//! This crate records nothing and knows no run: the caller records the answer, and a replay calls no model. It calls no
//! tools. Settings name the secret that holds the key; the key itself is passed with each question,
//! is sent in one header, and is hidden in messages.
//!
//! Requests use the HTTP client of `hence-capabilities`. Every reply, whole or streamed, is limited while it is read.
//!
//! ```
//! use hence_canon::parse;
//! use hence_models::{Api, Model};
//!
//! let settings = parse(br#"{"api": "openai", "model": "small", "endpoint": "http://127.0.0.1:8080/v1",
//!     "key": {"$secret": "MODEL_KEY"}, "prompt": "Is this spam? {{mail}}"}"#)?;
//! let model = Model::read(settings.as_object().expect("it is an object"))?;
//! assert_eq!(model.settings().api, Api::OpenAi);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api;
mod chat;
mod client;
mod decimal;
mod events;
mod exchange;
mod failure;
mod kind;
mod model;
mod model_ref;
mod reason_pack;
mod reply;
mod retry;
mod settings;
mod usage;

pub use chat::{Chat, ChatModel, ChatReply, Speaker};
pub use decimal::{Cost, FRACTION_DIGITS_MAX, NotAPrice, Price, WHOLE_DIGITS_MAX};
pub use failure::{AskError, FailureClass};
pub use kind::LlmKind;
pub use model::{Answer, FRAME_TOKENS_MAX, KEY_BYTES_MIN, Model, Question};
pub use model_ref::{KEY_SECRET, MODEL_REF_BYTES_MAX, ModelRef, NotAModel};
pub use reason_pack::{NotAPrompt, ReasonPack};
pub use reply::TEXT_MEMBER;
pub use settings::{
    Api, Delivery, InvalidSettings, MAX_TOKENS_DEFAULT, ModelSettings, REPAIRS_DEFAULT, REPAIRS_MAX,
    RETRIES_DEFAULT, RETRIES_MAX, RetryPolicy, SettingsProblem, Structure,
};
pub use usage::{NOT_REPORTED, Prices, Tokens};
