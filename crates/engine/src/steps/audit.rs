//! Audit: summarizes the run.

use hence_canon::Value;
use hence_state::StepError;

use crate::step::{InputUnavailable, Step, View, object};
use crate::work;

pub(super) struct Audit;

impl Step for Audit {
    fn name(&self) -> &'static str {
        "Audit"
    }

    fn artifact_key(&self) -> &'static str {
        "audit"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(object([("artifact_keys", view.artifact_keys().into_iter().collect())]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let keys = input.get("artifact_keys").cloned().unwrap_or_default();
        let report = report(view, &keys).map_err(InputUnavailable::into_errors)?;
        Ok(object([("artifact_keys", keys), ("status", "ok".into()), ("report", report)]))
    }
}

fn report(view: &View<'_>, keys: &Value) -> Result<Value, InputUnavailable> {
    let problem = view.problem()?;
    let metadata = view.metadata()?;
    let constraints = problem.constraints().len();
    let inputs = object([
        ("prompt_length", problem.prompt().chars().count().into()),
        ("has_constraints", (constraints > 0).into()),
        ("constraint_count", constraints.into()),
    ]);
    let steps = object([
        ("step_index", view.step_index().get().into()),
        ("artifact_keys", keys.clone()),
        ("artifact_count", keys.as_array().map_or(0, <[Value]>::len).into()),
    ]);
    let timestamps = object([
        ("created_at", metadata.created_at.as_str().into()),
        ("updated_at", metadata.updated_at.as_str().into()),
    ]);
    Ok(object([
        ("inputs", inputs),
        ("steps", steps),
        ("verification", verification(view)?),
        ("timestamps", timestamps),
        ("notes", notes(view)?.into()),
    ]))
}

fn notes(view: &View<'_>) -> Result<Vec<Value>, InputUnavailable> {
    if !view.is_worked() {
        return Ok(Vec::new());
    }
    Ok(work::notes(
        &view.artifact_or_null("normalized")?,
        &view.all_items("evidence")?,
        &view.artifact_or_null("computation")?,
        &view.artifact_or_null("verification")?,
        &view.artifact_or_null("synthesis")?,
    ))
}

fn verification(view: &View<'_>) -> Result<Value, InputUnavailable> {
    let newest = view.artifact_or_null("verification")?;
    let status = newest.get("status").cloned().unwrap_or_else(|| "unknown".into());
    let brief = |path: &Value| {
        let member = |key| path.get(key).cloned().unwrap_or_default();
        object([("name", member("name")), ("status", member("status"))])
    };
    let paths = newest.get("paths").and_then(Value::as_array).unwrap_or_default();
    Ok(object([("status", status), ("paths", paths.iter().map(brief).collect())]))
}
