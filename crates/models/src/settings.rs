//! The settings of a model: name, endpoint, prompts, limits and prices.

mod read;

pub use read::{InvalidSettings, SettingsProblem};

use std::sync::Arc;
use std::time::Duration;

use hence_capabilities::template::Template;

use crate::usage::Prices;

/// The maximum number of tokens of a reply, unless the settings state another.
pub const MAX_TOKENS_DEFAULT: u32 = 4096;

/// The number of times a request is repeated when an endpoint is busy or breaks off, unless the settings state another.
pub const RETRIES_DEFAULT: u32 = 4;

/// The largest number of retries that settings may state: after so many failures a person should look.
pub const RETRIES_MAX: u32 = 20;

/// The number of times a model is asked to correct its reply, unless the settings state another.
pub const REPAIRS_DEFAULT: u32 = 2;

/// The largest number of repairs that settings may state: each one is paid for.
pub const REPAIRS_MAX: u32 = 10;

/// The first wait before a request is repeated; each further wait is twice as long.
pub(crate) const WAIT_DEFAULT: Duration = Duration::from_millis(500);

/// The longest wait before a request is repeated. A call fails when its endpoint asks for a longer one.
pub(crate) const WAIT_MAX_DEFAULT: Duration = Duration::from_secs(30);

/// The API of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// Chat completions, as OpenAI and compatible servers implement them.
    OpenAi,
    /// Messages, as Anthropic implements them.
    Anthropic,
}

/// The way in which a model receives the schema of its reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// The provider enforces the schema.
    Schema,
    /// The prompt shows the schema, and with the API of OpenAI the provider also enforces JSON.
    Json,
    /// Only the prompt shows the schema.
    Prompt,
}

/// The way in which a reply is delivered. The answer does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// The reply arrives in pieces. A reply over its limit is noticed while it arrives.
    Streamed,
    /// The reply arrives in one piece.
    Whole,
}

/// The number of retries of a request, and the waits before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// The number of retries.
    pub retries: u32,
    /// The first wait.
    pub wait: Duration,
    /// The longest wait.
    pub wait_max: Duration,
}

/// The settings of a model: everything that does not change from call to call.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The API of the endpoint.
    pub api: Api,
    /// The name of the model.
    pub model: Arc<str>,
    /// The base address of requests; it ends with a slash.
    pub endpoint: Arc<str>,
    /// A file with certificates of authorities to trust in addition to the system's.
    pub ca_file: Option<Arc<str>>,
    /// The name of the secret that holds the key, if the endpoint requires one.
    pub key: Option<Arc<str>>,
    pub(crate) system: Option<Template>,
    pub(crate) prompt: Template,
    /// The way in which the model receives the schema.
    pub structure: Structure,
    /// The maximum number of tokens of a reply.
    pub max_tokens: u32,
    /// The temperature, if the settings state one.
    pub temperature: Option<f64>,
    /// The seed, if the settings state one.
    pub seed: Option<u64>,
    /// The number of retries of a request, and the waits before them.
    pub retry: RetryPolicy,
    /// The number of times a model is asked to correct its reply.
    pub repairs: u32,
    /// The way in which replies are delivered.
    pub delivery: Delivery,
    /// The prices of tokens, if the settings state them.
    pub prices: Option<Prices>,
}

impl ModelSettings {
    /// The names of all members of settings.
    pub const KEYS: [&'static str; 15] = [
        "api",
        "model",
        "endpoint",
        "ca_file",
        "key",
        "system",
        "prompt",
        "structure",
        "max_tokens",
        "temperature",
        "seed",
        "retries",
        "repairs",
        "stream",
        "price",
    ];
}
