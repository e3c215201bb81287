//! Calls of declared capabilities: the boundary between a run and the outside world.
//!
//! Every such call passes through this module. Before a call, references to secrets become values, for this call only.
//! After a call, values of secrets become names again, before anything is recorded, hashed, stored or shown. The
//! contract is checked in both directions.

use std::sync::Arc;
use std::time::Duration;

use hence_canon::Value;
use hence_cognition::failure::{CONTRACT_BROKEN, INPUT_REFUSED};
use hence_cognition::run::{Call, CallError, EXCHANGE_KEY, Reply};
use hence_cognition::secret::INPUT_PREFIX;

use crate::contract::in_a_line;
use crate::exchange::Exchanges;
use crate::provider::{ProviderCall, SecretValues};
use crate::registry::{Declared, Effects};
use crate::secret::{MissingSecret, Redactor, Vault};

/// The class of a call for which a secret is missing.
const SECRET_MISSING: &str = "SecretMissing";

/// Passes a call to its provider, and stores what was exchanged with a model. The result contains no secrets.
pub(crate) fn call(
    declared: &Declared,
    (vault, exchanges): (&Vault, &Exchanges),
    call: &Call<'_>,
) -> Result<Reply, CallError> {
    let mut exchange = None;
    let reply = redacted(attempt(declared, vault, call, &mut exchange), vault.redactor());
    let Some(kept) = exchange.and_then(|exchange| exchanges.keep(&vault.redactor().value(&exchange))) else {
        return reply;
    };
    match reply {
        Ok(reply) => Ok(Reply { meta: reply.meta.with(EXCHANGE_KEY, kept), ..reply }),
        Err(error) => {
            exchanges.note_failed(call.key(), kept);
            Err(error)
        }
    }
}

fn attempt(
    declared: &Declared,
    vault: &Vault,
    call: &Call<'_>,
    exchange: &mut Option<Value>,
) -> Result<Reply, CallError> {
    let input = vault.resolve(call.input, &|name| declared.may_be_given(name)).map_err(missing)?;
    if let Some(schema) = &declared.input {
        let mismatches = schema.check(&input);
        if !mismatches.is_empty() {
            return Err(failed(INPUT_REFUSED, format!("the input does not fit: {}", in_a_line(&mismatches))));
        }
    }
    let seconds = Duration::try_from_secs_f64(call.timeout_seconds.get()).unwrap_or(Duration::MAX);
    let key = call.key();
    let (reply, exchanged) = declared.provider.call_recorded(&ProviderCall {
        input: &input,
        key: &key,
        idempotency_key: &call.idempotency_key(),
        effects: declared.effects,
        timeout: declared.timeout.map_or(seconds, |own| own.min(seconds)),
        output_bytes_max: declared.output_bytes_max,
        output_schema: declared.output.as_ref().map(|schema| schema.source()),
        secrets: &Allowed { declared, vault },
    });
    *exchange = exchanged;
    let reply = reply?;
    if let Some(schema) = &declared.output {
        let mismatches = schema.check(&reply.output);
        if !mismatches.is_empty() {
            let message = format!("the output does not fit: {}", in_a_line(&mismatches));
            let error = failed(CONTRACT_BROKEN, message);
            // It replied, so it has acted; only a person can say what came of it.
            return Err(if declared.effects == Effects::Writes { error.undecided() } else { error });
        }
    }
    // The declared action is recorded, so that reviewers do not need the declaration.
    Ok(match &declared.spec.action {
        Some(action) => Reply { meta: reply.meta.with("action", action.clone()), ..reply },
        None => reply,
    })
}

/// Removes secrets from the result of a call.
fn redacted(result: Result<Reply, CallError>, redactor: &Redactor) -> Result<Reply, CallError> {
    match result {
        Ok(reply) => Ok(Reply { output: redactor.value(&reply.output), meta: redactor.object(&reply.meta) }),
        Err(error) => Err(redacted_error(&error, redactor)),
    }
}

fn redacted_error(error: &CallError, redactor: &Redactor) -> CallError {
    match error {
        CallError::TimedOut(seconds) => CallError::TimedOut(*seconds),
        CallError::Waiting(message) => CallError::Waiting(redactor.text(message).into()),
        CallError::Failed { class, message } => {
            let message = cut(redactor.text(message));
            CallError::Failed { class: redactor.text(class).into(), message: message.into() }
        }
        CallError::Undecided(call) => {
            redacted_error(&call.cause, redactor).undecided_with(redactor.object(&call.meta))
        }
    }
}

/// The maximum length of a provider's message. It is cut after secrets are removed, so that no secret is cut in two.
const MESSAGE_CHARACTERS_MAX: usize = 2400;

fn cut(message: String) -> String {
    let surplus = message.chars().count().saturating_sub(MESSAGE_CHARACTERS_MAX);
    if surplus == 0 {
        return message;
    }
    // The beginning names the failure, and the end is the most specific part of the rest.
    let half = MESSAGE_CHARACTERS_MAX / 2;
    let start: String = message.chars().take(half).collect();
    let end: String = message.chars().skip(half + surplus).collect();
    format!("{start} … {end}")
}

impl Declared {
    /// Returns whether the input may contain a secret. Only secrets that the declaration names are allowed, so that no
    /// value a step reads can send a secret to another capability.
    fn may_be_given(&self, name: &str) -> bool {
        let any_input =
            name.starts_with(INPUT_PREFIX) && self.given.iter().any(|given| &**given == "inputs.*");
        any_input || self.given.iter().any(|given| &**given == name)
    }
}

/// The secrets that a declaration's provider names.
struct Allowed<'a> {
    declared: &'a Declared,
    vault: &'a Vault,
}

impl SecretValues for Allowed<'_> {
    fn value(&self, name: &str) -> Result<Arc<str>, CallError> {
        if !self.declared.secrets.iter().any(|known| &**known == name) {
            return Err(failed(SECRET_MISSING, format!("the declaration does not name the secret `{name}`")));
        }
        self.vault.value(name).cloned().map_err(missing)
    }
}

fn missing(error: MissingSecret) -> CallError {
    failed(SECRET_MISSING, error.to_string())
}

fn failed(class: &str, message: String) -> CallError {
    CallError::Failed { class: class.into(), message: message.into() }
}
