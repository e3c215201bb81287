//! Normalize: removes needless white space from the prompt.

use hence_canon::{Object, Value};
use hence_state::{ProblemSpec, StepError, collapse_blank};

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
        let problem = view.problem()?;
        let prompt = ("prompt", problem.prompt().clone().into());
        if !view.is_worked() {
            return Ok(object([prompt]));
        }
        Ok(object([prompt, ("assumptions", problem.assumptions().iter().cloned().collect())]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let prompt = input.get("prompt").and_then(Value::as_str).unwrap_or_default();
        let normalized = Object::from_iter([("normalized_prompt", collapse_blank(prompt))]);
        if !view.is_worked() {
            return Ok(normalized.into());
        }
        let problem = view.problem().map_err(InputUnavailable::into_errors)?;
        Ok(with_findings(problem, &normalized))
    }

    fn check_reply(&self, view: &View<'_>, _: &str, reply: &Value) -> Result<Value, String> {
        let problem = view.problem().map_err(|error| error.to_string())?;
        match reply.as_object() {
            Some(object) if object.get("normalized_prompt").and_then(Value::as_str).is_some() => {
                Ok(with_findings(problem, object))
            }
            _ => Err("expected an object with `normalized_prompt`, a text".to_owned()),
        }
    }
}

/// Adds the assumptions of the problem, and a finding for each setting that nothing reads.
fn with_findings(problem: &ProblemSpec, normalized: &Object) -> Value {
    let finding = |key: std::sync::Arc<str>| Value::from(format!("nothing reads the setting `{key}`"));
    let findings: Value = problem.unread_settings().into_iter().map(finding).collect();
    let assumptions: Value = problem.assumptions().iter().cloned().collect();
    normalized.with("assumptions", assumptions).with("findings", findings).into()
}
