//! The calls of a step that was executed and then blocked by policies.

use hence_canon::Value;
use hence_engine::{Blobs, BlockedAt, CALL_MEMBER, attempt};
use hence_skills::recorded_outcome;
use hence_state::StepResult;
use schemars::JsonSchema;
use serde::Serialize;

use crate::data::Data;
use crate::escape::escape;

/// A call that was made for a step that policies then blocked.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExecutedCall {
    /// The capability.
    pub(super) capability: String,
    /// The input of the call.
    input: Data,
    /// The key by which the capability recognises a repeated call; the record of a bound step has none.
    idempotency_key: Option<String>,
}

impl ExecutedCall {
    /// Reads the calls that act from the record of a blocked step. A step that was not executed has made none.
    pub(crate) fn of(result: &StepResult, blobs: &dyn Blobs) -> Vec<Self> {
        let was_executed =
            || matches!(BlockedAt::of(result), BlockedAt::AfterExecution | BlockedAt::BetweenCalls);
        if !result.outcome().is_blocked() || !was_executed() {
            return Vec::new();
        }
        if let Some(call) = result.others().get(CALL_MEMBER) {
            let capability = call.get("capability").and_then(Value::as_str).unwrap_or_default().to_owned();
            let input = Data(call.get("input").cloned().unwrap_or_default());
            return vec![Self { capability, input, idempotency_key: None }];
        }
        let Ok(outcome) = recorded_outcome(&attempt(result), blobs) else { return Vec::new() };
        outcome
            .acting_calls()
            .map(|call| Self {
                capability: call.capability.to_string(),
                input: Data(call.input.clone()),
                idempotency_key: Some(call.idempotency_key.to_string()),
            })
            .collect()
    }

    /// Returns the call in a line.
    pub(crate) fn line(&self) -> String {
        let key = self.idempotency_key.as_ref().map(|key| format!(", idempotency key {key}"));
        format!("executed: {} with {}{}", self.capability, self.input.0, key.unwrap_or_default())
    }

    /// Returns the row of a text.
    pub(crate) fn row(&self) -> (&'static str, String) {
        let line = self.line();
        ("executed", escape(line.strip_prefix("executed: ").unwrap_or(&line)))
    }
}
