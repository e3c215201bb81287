//! The language models of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value};
use hence_models::{AskError, Chat, ChatModel, ChatReply, FailureClass, Model, ModelRef, Speaker};
use hence_solve::{ModelPin, NoReply, Request, Role, Spec};

use crate::prelude::{CliError, Code};

/// The longest time that one request may take, with all its repetitions.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

/// The most bytes of one reply.
const REPLY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The models of a run and its children, by the names that the problem pins.
pub(crate) struct ModelSet(BTreeMap<Arc<str>, Endpoint>);

struct Endpoint {
    chat: ChatModel,
    key: Option<String>,
}

/// A call that gave no reply.
pub(super) struct NoModelReply {
    pub(super) reply: NoReply,
    /// Whether it is certain that the endpoint has not computed a reply that it charges for and that is lost.
    pub(super) is_decided: bool,
}

/// Pins a model that a person names.
pub(super) fn pin(name: &str, parameters: &Object, price: Option<&Object>) -> Result<ModelPin, CliError> {
    let reference: ModelRef = name.parse().map_err(|error| CliError::at(Code::Model, "--model", error))?;
    let mut settings = reference.settings();
    for (key, value) in parameters.iter() {
        settings = settings.with(key.clone(), value.clone());
    }
    let pin = ModelPin {
        name: reference.to_string().into(),
        max_tokens: settings.get("max_tokens").and_then(Value::as_u64).unwrap_or_default(),
        settings,
        price: price.cloned(),
    };
    read(&pin)?;
    Ok(pin)
}

/// Pins another model with the parameters and the price of one that is pinned.
pub(crate) fn pin_like(name: &str, like: &ModelPin) -> Result<ModelPin, CliError> {
    let parameters = ["max_tokens", "temperature", "seed"].into_iter();
    let parameters = parameters.filter_map(|key| Some((key, like.settings.get(key)?.clone()))).collect();
    pin(name, &parameters, like.price.as_ref())
}

fn read(pin: &ModelPin) -> Result<Model, CliError> {
    // Conversations are sent as they are; the settings of a capability have a prompt.
    let mut settings = pin.settings.with("prompt", "-");
    if let Some(price) = &pin.price {
        settings = settings.with("price", price.clone());
    }
    Model::read(&settings).map_err(|error| CliError::at(Code::Model, &pin.name, error))
}

fn key(pin: &ModelPin) -> Result<Option<String>, CliError> {
    let reference: ModelRef =
        pin.name.parse().map_err(|error| CliError::at(Code::Model, &pin.name, error))?;
    let Some(variable) = reference.key_variable() else { return Ok(None) };
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(Some(key)),
        _ => {
            let message =
                format!("model {}: the environment variable {variable} with its key is not set", pin.name);
            Err(CliError::new(Code::SecretMissing, message))
        }
    }
}

fn pins(spec: &Spec) -> impl Iterator<Item = &ModelPin> {
    [Some(&spec.model), spec.sub_model.as_ref()].into_iter().flatten()
}

/// Refuses to begin when a key is missing.
pub(super) fn require_keys(spec: &Spec) -> Result<(), CliError> {
    pins(spec).try_for_each(|pin| key(pin).map(drop))
}

impl ModelSet {
    /// Prepares to talk to the models that a run pins.
    pub(crate) fn open(spec: &Spec) -> Result<Self, CliError> {
        let mut set = BTreeMap::new();
        for pin in pins(spec) {
            let chat = ChatModel::new(read(pin)?);
            let chat = chat.map_err(|error| CliError::at(Code::Model, &pin.name, error))?;
            set.insert(pin.name.clone(), Endpoint { chat, key: key(pin)? });
        }
        Ok(Self(set))
    }

    /// Asks a model. `idempotency_key` is the same for every attempt of the same call; the call is given up when `is_over` says so.
    pub(super) fn ask(
        &self,
        pin: &ModelPin,
        request: &Request,
        idempotency_key: &str,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<ChatReply, NoModelReply> {
        let Some(endpoint) = self.0.get(&pin.name) else {
            let reply = NoReply::Refused(format!("the run has no model {}", pin.name));
            return Err(NoModelReply { reply, is_decided: true });
        };
        let messages: Vec<(Speaker, Arc<str>)> = request
            .messages
            .iter()
            .map(|message| {
                let speaker = match message.role {
                    Role::User => Speaker::User,
                    Role::Assistant => Speaker::Assistant,
                };
                (speaker, message.text.clone())
            })
            .collect();
        let chat = Chat {
            system: request.system.as_deref(),
            messages: &messages,
            key: endpoint.key.as_deref(),
            idempotency_key: Some(idempotency_key),
            timeout: REQUEST_TIMEOUT,
            reply_bytes_max: REPLY_BYTES_MAX,
            is_over: Some(is_over),
        };
        endpoint.chat.reply(&chat).map_err(|error| {
            // An endpoint that may have been reached, and did not answer as it should, may have charged for the call. A connection that
            // breaks off and one that is never made have the same class.
            let (is_refused, is_decided) = match &error {
                AskError::TimedOut(_) => (false, false),
                AskError::Failed { class, .. } => match class {
                    FailureClass::Unauthorized | FailureClass::RateLimited => (false, true),
                    FailureClass::Unavailable | FailureClass::Unreachable => (false, false),
                    _ => (true, true),
                },
            };
            let message = error.to_string();
            let reply = if is_refused { NoReply::Refused(message) } else { NoReply::Unavailable(message) };
            NoModelReply { reply, is_decided }
        })
    }
}
