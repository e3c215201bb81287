//! The report of a run of a skill that ended or waits.

use hence_canon::Value;
use hence_cognition::run::{Part, StepOutcome};
use hence_cognition::state::StepResult;
use hence_skills::SkillProgram;

use super::RunEnd;
use crate::prelude::*;
use crate::standing;

/// The end of a run of a skill.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SkillRunReport {
    /// The run's id.
    run: String,
    /// The skill's id.
    skill: String,
    /// `completed`, `partial` (completed, although steps or parts of steps failed), `failed` or `waiting`.
    status: String,
    /// The outputs of the skill, by name.
    outputs: Data,
    /// The value of `Final`, if it completed the run.
    answer: Option<Data>,
    /// Each step and how it ended, in the order of the record.
    steps: Vec<StepRow>,
    /// The failure that ended the run.
    failure: Option<FailureRow>,
    #[serde(flatten)]
    end: RunEnd,
}

impl SkillRunReport {
    pub(super) fn of(program: &SkillProgram<'_>, end: RunEnd) -> Self {
        let ended = (!end.is_waiting()).then(|| program.report());
        let failure = ended.as_ref().and_then(|report| report.failure.as_ref()).map(|failure| FailureRow {
            code: failure.recorded_code().as_str(),
            message: failure.failure.to_string(),
            step: failure.step_id.as_ref().map(ToString::to_string),
        });
        let recorded = program.outcomes().iter().map(StepRow::of);
        let results = ended.iter().flat_map(|report| report.state.step_results.iter());
        let not_run = results.skip(program.outcomes().len()).map(StepRow::not_run);
        let state = ended.as_ref().map_or(program.execution(), |report| &report.state);
        Self {
            run: end.run.clone(),
            skill: state.skill_id.to_string(),
            status: end.status.clone(),
            outputs: Data(state.memory.outputs().to_object().into()),
            answer: state.answer().cloned().map(Data),
            steps: recorded.chain(not_run).collect(),
            failure,
            end,
        }
    }
}

/// A step of a run.
#[derive(Serialize, JsonSchema)]
struct StepRow {
    step: String,
    /// `completed`, `partial` (parts of it failed), `failed`, `skipped` or `degraded`.
    status: &'static str,
    /// The failure of the step, or why it did not run.
    error: Option<String>,
    /// The items, branches and nested steps that failed, while the step continued without them.
    failed: Vec<FailedPartRow>,
}

/// A part of a step that failed.
#[derive(Serialize, JsonSchema)]
struct FailedPartRow {
    /// The part: `item 3`, `branch NAME` or `skill ID: STEP`.
    part: String,
    /// The index of an item.
    index: Option<u64>,
    /// The class of the failure.
    class: String,
    message: String,
}

impl StepRow {
    fn of(outcome: &StepOutcome) -> Self {
        let failed = outcome.failed_parts().into_iter().map(|failed| FailedPartRow {
            part: failed.part.to_string(),
            index: match failed.part {
                Part::Item(index) => Some(index),
                Part::Branch(_) | Part::Nested { .. } => None,
            },
            class: failed.class.to_string(),
            message: failed.message.to_string(),
        });
        Self {
            step: outcome.step_id.to_string(),
            status: standing::of_outcome(outcome).unwrap_or("completed"),
            error: outcome.failure.as_ref().map(ToString::to_string),
            failed: failed.collect(),
        }
    }

    /// Returns the row of a step that depends on one that failed.
    fn not_run(result: &StepResult) -> Self {
        Self {
            step: result.step_id.to_string(),
            status: result.status.as_str(),
            error: result.error_message.as_ref().map(ToString::to_string),
            failed: Vec::new(),
        }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        if self.failed.is_empty() {
            let why = self.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            return vec![(self.status, escape(&format!("{}{why}", self.step)))];
        }
        let failed =
            self.failed.iter().map(|part| format!("step {}, {}: {}", self.step, part.part, part.message));
        standing::failure_rows(&failed.collect::<Vec<_>>())
    }
}

/// The failure that ended a run.
#[derive(Serialize, JsonSchema)]
struct FailureRow {
    code: &'static str,
    message: String,
    step: Option<String>,
}

impl Text for SkillRunReport {
    fn text(&self) -> String {
        let mut text = String::new();
        let outputs = self.outputs.0.as_object().into_iter().flat_map(|outputs| outputs.iter());
        let outputs = outputs.map(|(name, value)| (&**name, value));
        // An output often is the answer; it is then shown once.
        let answer = self.answer.as_ref().map(|answer| &answer.0);
        let answer = answer.filter(|answer| !outputs.clone().any(|(_, value)| value == *answer));
        for (name, value) in outputs.chain(answer.map(|answer| ("answer", answer))) {
            let shown = match value {
                // A text of several lines is shown as its author laid it out.
                Value::String(value) if value.contains('\n') => {
                    value.lines().map(|line| format!("  {}\n", escape(line))).collect()
                }
                Value::String(value) => format!("  {}\n", escape(value)),
                other => hence_canon::pretty(other)
                    .lines()
                    .map(|line| format!("  {}\n", escape_json(line)))
                    .collect(),
            };
            text.push_str(&format!("{}:\n{shown}\n", escape(name)));
        }
        let mut rows = Vec::new();
        let of_failure = self.failure.as_ref().and_then(|failure| failure.step.as_deref());
        for step in self.steps.iter().filter(|step| step.status != "completed") {
            // The failure that ended the run is a row of its own below, with its code.
            let is_said_below = step.status == "failed" && of_failure == Some(step.step.as_str());
            match is_said_below && step.failed.is_empty() {
                true => rows.push((step.status, escape(&step.step))),
                false => rows.extend(step.rows()),
            }
        }
        if let Some(failure) = &self.failure {
            rows.push(("error", escape(&format!("{}: {}", failure.code, failure.message))));
        }
        rows.extend(self.end.rows());
        text + &pairs(&rows)
    }
}
