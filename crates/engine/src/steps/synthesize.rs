//! Synthesize: writes the answer from the conclusions; in profiles whose steps only count, a fixed sentence or the reply of a
//! language model.

use hence_canon::{Value, parse_lenient};
use hence_state::{ModelRequest, ProblemSpec, StepError};

use crate::Determinism;
use crate::step::{InputUnavailable, Step, View, object};
use crate::work;

pub(super) struct Synthesize;

impl Step for Synthesize {
    fn name(&self) -> &'static str {
        "Synthesize"
    }

    fn artifact_key(&self) -> &'static str {
        "synthesis"
    }

    fn determinism(&self, problem: &ProblemSpec) -> Determinism {
        match problem.settings().model {
            Some(_) => Determinism::Recorded,
            None => Determinism::Deterministic,
        }
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        if view.is_worked() {
            let conclusions = view.artifact_member("computation", "conclusions")?;
            return Ok(object([
                ("conclusions", conclusions),
                ("verification", view.artifact("verification")?),
            ]));
        }
        Ok(object([("task_count", view.artifact_member("computation", "task_count")?)]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        if view.is_worked() {
            let conclusions = input.get("conclusions").and_then(Value::as_array).unwrap_or_default();
            let verification = input.get("verification").cloned().unwrap_or_default();
            return Ok(work::answer(conclusions, &verification));
        }
        let count = input.get("task_count").cloned().unwrap_or_default();
        match &view.problem().map_err(InputUnavailable::into_errors)?.settings().model {
            None => Ok(object([("summary", format!("Processed {count} task(s).").into())])),
            Some(request) => ask(view, request, &count)
                .map_err(|message| vec![StepError::new("structured_generation_failed", message)]),
        }
    }

    fn check_reply(&self, view: &View<'_>, capability: &str, reply: &Value) -> Result<Value, String> {
        let known = || -> Result<_, InputUnavailable> {
            Ok((view.artifact_list("computation", "conclusions")?, view.artifact("verification")?))
        };
        let (conclusions, verification) = known().map_err(|error| error.to_string())?;
        work::check_answer(&conclusions, &verification, capability, reply)
    }
}

fn ask(view: &View<'_>, request: &ModelRequest, count: &Value) -> Result<Value, String> {
    let model = view.model().ok_or("litellm is required for LiteLLMProvider. Install litellm first.")?;
    let prompt = format!(
        "Return a JSON object with key 'summary' that describes the deterministic synthesis result for \
         task_count={count}."
    );
    read_reply(&model.complete(request, &prompt)?)
}

/// Reads the reply of a model: a JSON object whose only member is the non-empty text `summary`.
fn read_reply(reply: &str) -> Result<Value, String> {
    let document = parse_lenient(reply.as_bytes())
        .map_err(|_| "Model response is not valid JSON for structured generation".to_owned())?;
    let object = document
        .value
        .as_object()
        .ok_or("Model response JSON must be an object for structured generation")?;
    let is_text = object.get("summary").and_then(Value::as_str).is_some_and(|summary| !summary.is_empty());
    let has_form = document.defects.iter().all(|defect| defect.kind == hence_canon::DefectKind::DuplicateKey);
    if object.len() != 1 || !is_text || !has_form {
        return Err("Model response must hold exactly one member, summary, a non-empty string".to_owned());
    }
    Ok(document.value)
}
