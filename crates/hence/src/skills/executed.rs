//! The calls of a step that was executed and then blocked by policies.

use hence_engine::{Blobs, BlockedAt, attempt};
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
    capability: String,
    /// The input of the call.
    input: Data,
    /// The key by which the capability recognises a repeated call.
    idempotency_key: String,
}

impl ExecutedCall {
    /// Reads the calls that act from the record of a blocked step. A step that was not executed has made none.
    pub(crate) fn of(result: &StepResult, blobs: &dyn Blobs) -> Vec<Self> {
        if !result.outcome().is_blocked() || BlockedAt::of(result) != BlockedAt::AfterExecution {
            return Vec::new();
        }
        let Ok(outcome) = recorded_outcome(&attempt(result), blobs) else { return Vec::new() };
        outcome
            .acting_calls()
            .map(|call| Self {
                capability: call.capability.to_string(),
                input: Data(call.input.clone()),
                idempotency_key: call.idempotency_key.to_string(),
            })
            .collect()
    }

    /// Returns the call in a line.
    pub(crate) fn line(&self) -> String {
        format!(
            "executed: {} with {}, idempotency key {}",
            self.capability, self.input.0, self.idempotency_key
        )
    }

    /// Returns the row of a text.
    pub(crate) fn row(&self) -> (&'static str, String) {
        let line = self.line();
        ("executed", escape(line.strip_prefix("executed: ").unwrap_or(&line)))
    }
}
