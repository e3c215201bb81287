//! A call of a declared capability: the border between a run and the world.

use std::sync::Arc;
use std::time::Duration;

use hence_cognition::run::{Call, CallError, Reply};

use crate::provider::{ProviderCall, SecretValues};
use crate::registry::Declared;

/// Hands a call to its provider.
pub(crate) fn call(declared: &Declared, call: &Call<'_>) -> Result<Reply, CallError> {
    let seconds = Duration::try_from_secs_f64(call.timeout_seconds.get()).unwrap_or(Duration::MAX);
    let key = call.key();
    let reply = declared.provider.call(&ProviderCall {
        input: call.input,
        key: &key,
        idempotency_key: &call.idempotency_key(),
        timeout: declared.timeout.map_or(seconds, |own| own.min(seconds)),
        output_bytes_max: declared.output_bytes_max,
        output_schema: declared.output.as_ref(),
        secrets: &NoSecrets,
    })?;
    // What the call is to a reviewer enters the record: whoever reads it later need not have the declaration.
    Ok(match &declared.spec.action {
        Some(action) => Reply { meta: reply.meta.with("action", action.clone()), ..reply },
        None => reply,
    })
}

struct NoSecrets;

impl SecretValues for NoSecrets {
    fn value(&self, name: &str) -> Result<Arc<str>, CallError> {
        let message = format!("the secret `{name}` cannot be had").into();
        Err(CallError::Failed { class: "SecretMissing".into(), message })
    }
}
