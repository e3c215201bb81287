//! What is said about a model before it is asked: which, where, how, and how long.

mod read;

pub use read::{InvalidSettings, SettingsProblem};

use std::sync::Arc;
use std::time::Duration;

use hence_capabilities::template::Template;

use crate::usage::Prices;

/// How many tokens a reply may have unless the settings say otherwise.
pub const MAX_TOKENS_DEFAULT: u32 = 4096;

/// How many times a request is repeated when an endpoint is busy or breaks off, unless the settings say otherwise.
pub const RETRIES_DEFAULT: u32 = 4;

/// How many times a request is repeated whatever the settings say: beyond it a person should look.
pub const RETRIES_MAX: u32 = 20;

/// How many times a model is told what is wrong with its reply, unless the settings say otherwise.
pub const REPAIRS_DEFAULT: u32 = 2;

/// How many times a model is told what is wrong whatever the settings say: each time is paid for.
pub const REPAIRS_MAX: u32 = 10;

/// The first wait before a request is repeated; each further one is twice as long.
pub(crate) const WAIT_DEFAULT: Duration = Duration::from_millis(500);

/// The longest wait before a request is repeated, also when the endpoint asks for more.
pub(crate) const WAIT_MAX_DEFAULT: Duration = Duration::from_secs(30);

/// Which of the two ways to talk an endpoint understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// Chat completions as OpenAI and everything compatible with it speaks them.
    OpenAi,
    /// Messages as Anthropic speaks them.
    Anthropic,
}

/// How a model learns what its reply must look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// The provider holds the model to the schema.
    Schema,
    /// The provider holds the model to JSON, and the prompt shows the schema.
    Json,
    /// The prompt alone shows the schema.
    Prompt,
}

/// How a reply is delivered. It never shows in what comes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// Piece by piece. A reply over its limit is noticed while it comes.
    Streamed,
    /// In one piece.
    Whole,
}

/// How often a request is repeated, and how long to wait before each repetition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// The number of repetitions.
    pub retries: u32,
    /// The first wait.
    pub wait: Duration,
    /// The longest wait.
    pub wait_max: Duration,
}

/// Everything about a model that a call does not bring along.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// How to talk to the endpoint.
    pub api: Api,
    /// The model's name.
    pub model: Arc<str>,
    /// The address below which requests go; ends with a slash.
    pub endpoint: Arc<str>,
    /// A file with certificates of authorities to trust besides the system's.
    pub ca_file: Option<Arc<str>>,
    /// The name of the secret that holds the key, if the endpoint wants one.
    pub key: Option<Arc<str>>,
    pub(crate) system: Option<Template>,
    pub(crate) prompt: Template,
    /// How the model learns the schema.
    pub structure: Structure,
    /// How many tokens a reply may have.
    pub max_tokens: u32,
    /// The temperature, if any is said.
    pub temperature: Option<f64>,
    /// The seed, if any is said.
    pub seed: Option<u64>,
    /// How often and after which waits a request is repeated.
    pub retry: RetryPolicy,
    /// How many times a model is told what is wrong with its reply.
    pub repairs: u32,
    /// How replies are delivered.
    pub delivery: Delivery,
    /// What tokens cost, if it is said.
    pub prices: Option<Prices>,
}

impl ModelSettings {
    /// The members settings consist of.
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
