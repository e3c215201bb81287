//! The report of a run of a problem: the answer, what was verified and what was not.

use hence_canon::Value;
use hence_engine::{Blobs, resolve};
use hence_state::ReasoningState;

use super::RunEnd;
use crate::prelude::*;

/// The most reasons that the screen shows. The record lists all of them.
const REASONS_SHOWN_MAX: usize = 8;

/// The end of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunReport {
    /// The run's id.
    run: String,
    /// `completed`, `failed` or `waiting`.
    status: String,
    /// The synthesis, when there is one.
    answer: Option<Data>,
    /// The status of the step Verify: `passed`, `failed`, `unjudged`, or nothing.
    verification: Option<String>,
    /// The reasons why the verification did not pass.
    reasons: Vec<String>,
    /// The findings of the step Normalize, for the screen: the artifact has them for programs.
    #[serde(skip)]
    findings: Vec<String>,
    /// The errors of the run, in order.
    errors: Vec<RunErrorReport>,
    #[serde(flatten)]
    end: RunEnd,
}

/// An error of the run's record.
#[derive(Serialize, JsonSchema)]
struct RunErrorReport {
    code: String,
    message: String,
    step: Option<String>,
}

impl RunReport {
    /// Describes the end of a run by its state.
    pub(super) fn of(state: &ReasoningState, end: RunEnd, blobs: &dyn Blobs) -> Result<Self, CliError> {
        let newest = |key: &str| {
            let newest = state.artifacts().newest(key);
            newest.map(|value| resolve(value, blobs)).transpose()
        };
        let verification = newest("verification")?;
        let texts = |artifact: Option<&Value>, key: &str| -> Vec<String> {
            let list = artifact.and_then(|value| value.get(key)?.as_array()).unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let reasons = texts(verification.as_ref(), "reasons");
        let findings = texts(newest("normalized")?.as_ref(), "findings");
        let errors = state.errors().iter().map(|error| RunErrorReport {
            code: error.code.to_string(),
            message: error.message.to_string(),
            step: error.step.as_ref().map(ToString::to_string),
        });
        Ok(Self {
            run: end.run.clone(),
            status: end.status.clone(),
            answer: newest("synthesis")?.map(Data),
            verification: verification.and_then(|value| value.get("status")?.as_str().map(str::to_owned)),
            reasons,
            findings,
            errors: errors.collect(),
            end,
        })
    }

    /// Returns the exit code of a run that completed: what could not be verified is no success.
    pub(super) fn exit(&self) -> Exit {
        match self.verification.as_deref() {
            Some("failed") => Exit::No,
            Some("unjudged") => Exit::Partial,
            _ => Exit::Yes,
        }
    }
}

impl Text for RunReport {
    fn text(&self) -> String {
        let mut rows = Vec::new();
        if let Some(answer) = &self.answer {
            let text = answer.0.get("summary").and_then(Value::as_str).map(str::to_owned);
            let text = text.unwrap_or_else(|| answer.0.to_string());
            for (number, line) in text.lines().enumerate() {
                rows.push((if number == 0 { "answer" } else { "" }, escape(line)));
            }
        }
        if let Some(words) = self.answer.as_ref().and_then(|answer| answer.0.get("words")?.as_str()) {
            for (number, line) in words.lines().enumerate() {
                rows.push((if number == 0 { "in words" } else { "" }, escape(line)));
            }
            rows.push(("", "(what these sentences cite was checked; their words were not)".to_owned()));
        }
        if let Some(verification) = &self.verification {
            rows.push(("verification", escape(verification)));
            rows.extend(self.reasons.iter().take(REASONS_SHOWN_MAX).map(|reason| ("", escape(reason))));
            if let Some(more) = self.reasons.len().checked_sub(REASONS_SHOWN_MAX).filter(|more| *more > 0) {
                rows.push(("", format!("and {more} more")));
            }
        }
        rows.extend(self.findings.iter().map(|finding| ("note", escape(finding))));
        for error in &self.errors {
            rows.push(("error", escape(&format!("{}: {}", error.code, error.message))));
        }
        rows.extend(self.end.rows());
        pairs(&rows)
    }
}
