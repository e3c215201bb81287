//! The approvals and rejections that a run has on record.

use hence_canon::{Object, Value};
use hence_cognition::approval::Stance;
use hence_cognition::run::StepOutcome;
use hence_engine::{Blobs, attempt};
use hence_journal::{Reader, Record};
use hence_skills::recorded_outcome;
use hence_state::StepResult;
use schemars::JsonSchema;
use serde::Serialize;

use crate::data::Data;
use crate::escape::escape;

/// An answer that its question declares to approve or to reject.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DecisionRow {
    /// The step that asked, or whose call needed a confirmation.
    step: String,
    /// `approved` or `rejected`.
    decision: &'static str,
    /// The answer.
    answer: Data,
    /// The person who answered, as given.
    by: Option<String>,
}

impl DecisionRow {
    /// Reads the decisions in the records of a journal, as far as it can be read.
    pub(crate) fn of_journal(journal: &[u8], blobs: &dyn Blobs) -> Vec<Self> {
        let Ok((_, reader)) = Reader::open(journal) else { return Vec::new() };
        let steps = reader.map_while(Result::ok).filter_map(|chained| match chained.record {
            Record::Step(step) if !step.result.outcome().is_blocked() => Some(step.result),
            _ => None,
        });
        steps.flat_map(|result| Self::of_result(&result, blobs)).collect()
    }

    /// Reads the decisions in the result of a step.
    pub(crate) fn of_result(result: &StepResult, blobs: &dyn Blobs) -> Vec<Self> {
        recorded_outcome(&attempt(result), blobs).map(|outcome| Self::of(&outcome)).unwrap_or_default()
    }

    fn of(outcome: &StepOutcome) -> Vec<Self> {
        let row = |question: &Value, answer: &Value, by: Option<&Value>| {
            Some(Self {
                step: outcome.step_id.to_string(),
                decision: Stance::of(question, answer).word()?,
                answer: Data(answer.clone()),
                by: by.and_then(Value::as_str).map(str::to_owned),
            })
        };
        let confirmed = outcome.listed_calls().iter().filter(|call| call.is_confirmation());
        let mut rows: Vec<Self> = confirmed
            .filter_map(|call| {
                let output = &call.reply.as_ref().ok()?.output;
                row(&call.input, output.get("value")?, output.get("by"))
            })
            .collect();
        let Some(produced) = &outcome.produced else { return rows };
        let earlier = outcome.earlier_rounds().iter();
        rows.extend(earlier.filter_map(|round| row(&outcome.input, round.get("value")?, round.get("by"))));
        let (value, by) = (produced.get("value"), produced.get("by"));
        match (value, by) {
            // The answers of items are aligned with the people who gave them.
            (Some(Value::Array(answers)), Some(Value::Array(people))) => {
                let each = answers.iter().zip(people.iter());
                rows.extend(each.filter_map(|(answer, by)| row(&outcome.input, answer, Some(by))));
            }
            (Some(answer), by) => rows.extend(row(&outcome.input, answer, by)),
            (None, _) => {}
        }
        rows
    }

    /// Returns the row as a value that [`of_value`](Self::of_value) reads.
    pub(crate) fn to_value(&self) -> Value {
        Object::from_iter([
            ("answer", self.answer.0.clone()),
            ("by", self.by.clone().into()),
            ("decision", self.decision.into()),
            ("step", self.step.clone().into()),
        ])
        .into()
    }

    /// Reads a row; `None` when it is not one.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        let stances = [Stance::Approved, Stance::Rejected];
        let decision = value.get("decision")?.as_str()?;
        Some(Self {
            step: value.get("step")?.as_str()?.to_owned(),
            decision: stances.into_iter().filter_map(Stance::word).find(|word| *word == decision)?,
            answer: Data(value.get("answer")?.clone()),
            by: value.get("by")?.as_str().map(str::to_owned),
        })
    }

    /// Returns the row of a text.
    pub(crate) fn row(&self) -> (&'static str, String) {
        let by = self.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        (self.decision, escape(&format!("{}{by}: {}", self.step, self.answer.0)))
    }
}
