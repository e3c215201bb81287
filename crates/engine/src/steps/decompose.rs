//! Decompose: lists the tasks, which are the goals or else the prompt.

use hence_canon::Value;
use hence_state::StepError;

use crate::step::{InputUnavailable, Step, View, object};
use crate::work;

pub(super) struct Decompose;

impl Step for Decompose {
    fn name(&self) -> &'static str {
        "Decompose"
    }

    fn artifact_key(&self) -> &'static str {
        "decomposition"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        let problem = view.problem()?;
        let goals: Value = problem.goals().iter().cloned().collect();
        let prompt = view.artifact_member("normalized", "normalized_prompt")?;
        if !view.is_worked() {
            return Ok(object([("goals", goals), ("prompt", prompt)]));
        }
        let tasks = problem.tasks().iter().map(|task| task.document.clone()).collect();
        Ok(object([("goals", goals), ("prompt", prompt), ("tasks", tasks)]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        if view.is_worked() {
            let problem = view.problem().map_err(InputUnavailable::into_errors)?;
            let prompt = input.get("prompt").and_then(Value::as_str).unwrap_or_default();
            return Ok(object([("tasks", work::tasks(problem.goals(), problem.tasks(), prompt))]));
        }
        let goals =
            input.get("goals").filter(|goals| goals.as_array().is_some_and(|goals| !goals.is_empty()));
        let tasks = match (goals, input.get("prompt")) {
            (Some(goals), _) => goals.clone(),
            (None, prompt) => prompt.cloned().into_iter().collect(),
        };
        Ok(object([("tasks", tasks)]))
    }

    fn check_reply(&self, view: &View<'_>, _: &str, reply: &Value) -> Result<Value, String> {
        let problem = view.problem().map_err(|error| error.to_string())?;
        let prompt = view.artifact_member("normalized", "normalized_prompt");
        let prompt = prompt.map_err(|error| error.to_string())?;
        let tasks = work::check_tasks(problem, prompt.as_str().unwrap_or_default(), reply)?;
        Ok(object([("tasks", tasks)]))
    }
}
