//! Language models as capabilities.
//!
//! A [`Model`] is read from settings: which model, at which endpoint, with which prompts. [`Model::ask`] fills the prompts, talks to any endpoint that speaks like OpenAI's or Anthropic's, repeats a
//! request when the endpoint is busy, tells the model what is wrong with a reply that cannot be used, and gives an
//! object that satisfies the schema together with what it cost — or says, in time, why not.
//!
//! [`LlmKind`] makes such a model a capability: `provider: {kind: llm, …}` in a capabilities file.
//!
//! It keeps no record and knows no run: what a model answered is kept by whoever asked, and a replay asks nobody. It is
//! no chat and calls no tools. Settings name the secret that holds the key; the key itself comes with each
//! question, goes into one header and shows in no message.
//!
//! Requests go through the HTTP client of capabilities: every reply, whole or streamed, is bounded while it is read.
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
mod client;
mod decimal;
mod events;
mod failure;
mod kind;
mod model;
mod reply;
mod retry;
mod settings;
mod usage;

pub use decimal::{Cost, FRACTION_DIGITS_MAX, NotAPrice, Price, WHOLE_DIGITS_MAX};
pub use failure::{AskError, FailureClass};
pub use kind::LlmKind;
pub use model::{Answer, KEY_BYTES_MIN, Model, Question};
pub use reply::TEXT_MEMBER;
pub use settings::{
    Api, Delivery, InvalidSettings, MAX_TOKENS_DEFAULT, ModelSettings, REPAIRS_DEFAULT, REPAIRS_MAX,
    RETRIES_DEFAULT, RETRIES_MAX, RetryPolicy, SettingsProblem, Structure,
};
pub use usage::{Prices, Tokens};
