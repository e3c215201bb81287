//! Compute: counts the tasks.

use hence_canon::Value;
use hence_state::StepError;

use crate::step::{InputUnavailable, Step, View, object};

pub(super) struct Compute;

impl Step for Compute {
    fn name(&self) -> &'static str {
        "Compute"
    }

    fn artifact_key(&self) -> &'static str {
        "computation"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(object([("tasks", view.artifact_member("decomposition", "tasks")?)]))
    }

    fn run(&self, _: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let count = input.get("tasks").and_then(Value::as_array).map_or(0, <[Value]>::len);
        Ok(object([("task_count", count.into()), ("status", "ok".into())]))
    }
}
