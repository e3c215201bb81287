//! Decompose: lists the tasks, which are the goals or else the prompt.

use hence_canon::Value;
use hence_state::StepError;

use crate::step::{InputUnavailable, Step, View, object};

pub(super) struct Decompose;

impl Step for Decompose {
    fn name(&self) -> &'static str {
        "Decompose"
    }

    fn artifact_key(&self) -> &'static str {
        "decomposition"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        let goals: Value = view.problem()?.goals().iter().cloned().collect();
        Ok(object([("goals", goals), ("prompt", view.artifact_member("normalized", "normalized_prompt")?)]))
    }

    fn run(&self, _: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let goals =
            input.get("goals").filter(|goals| goals.as_array().is_some_and(|goals| !goals.is_empty()));
        let tasks = match (goals, input.get("prompt")) {
            (Some(goals), _) => goals.clone(),
            (None, prompt) => prompt.cloned().into_iter().collect(),
        };
        Ok(object([("tasks", tasks)]))
    }
}
