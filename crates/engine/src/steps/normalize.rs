//! Normalize: removes needless white space from the prompt.

use hence_canon::Value;
use hence_state::{StepError, collapse_blank};

use crate::step::{InputUnavailable, Step, View, object};

pub(super) struct Normalize;

impl Step for Normalize {
    fn name(&self) -> &'static str {
        "Normalize"
    }

    fn artifact_key(&self) -> &'static str {
        "normalized"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(object([("prompt", view.problem()?.prompt().clone().into())]))
    }

    fn run(&self, _: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let prompt = input.get("prompt").and_then(Value::as_str).unwrap_or_default();
        Ok(object([("normalized_prompt", collapse_blank(prompt).into())]))
    }
}
