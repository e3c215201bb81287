//! Compute: works the tasks out, or counts them in profiles whose steps only count.

use hence_canon::Value;
use hence_state::StepError;

use crate::step::{InputUnavailable, Step, View, object};
use crate::work;

pub(super) struct Compute;

impl Step for Compute {
    fn name(&self) -> &'static str {
        "Compute"
    }

    fn artifact_key(&self) -> &'static str {
        "computation"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        let tasks = ("tasks", view.artifact_member("decomposition", "tasks")?);
        if !view.is_worked() {
            return Ok(object([tasks]));
        }
        let evidence = view.all_items("evidence")?;
        Ok(object([tasks, ("context", work::context(view.problem()?)), ("evidence", evidence.into())]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        if view.is_worked() {
            let list = |key: &str| input.get(key).and_then(Value::as_array).unwrap_or_default();
            let context = input.get("context").cloned().unwrap_or_default();
            return Ok(work::conclude(context, list("tasks"), list("evidence"), view.callees()));
        }
        let count = input.get("tasks").and_then(Value::as_array).map_or(0, <[Value]>::len);
        Ok(object([("task_count", count.into()), ("status", "ok".into())]))
    }

    fn check_reply(&self, view: &View<'_>, capability: &str, reply: &Value) -> Result<Value, String> {
        let known = || -> Result<_, InputUnavailable> {
            let tasks = view.artifact_list("decomposition", "tasks")?;
            Ok((work::context(view.problem()?), tasks, view.all_items("evidence")?))
        };
        let (context, tasks, items) = known().map_err(|error| error.to_string())?;
        work::check_conclusions(context, &tasks, &items, view.callees(), capability, reply)
    }
}
