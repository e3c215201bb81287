//! Results that policies blocked or remarked on.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_journal::RecordIndex;
use hence_state::{Outcome, StepError, StepResult, StepStatus};

use super::{BLOCKED_MEMBER, Judgement, POLICY_MEMBER, VERDICTS_STEP};

/// A step that policies blocked. Its attempt is recorded; the run can be resumed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("record {index}: step {step} {}: {}", self.at.words(), self.why())]
pub struct Blocked {
    /// The record.
    pub index: RecordIndex,
    /// The step.
    pub step: Arc<str>,
    /// One error for each policy that blocks.
    pub errors: Vec<StepError>,
    /// The moment at which policies blocked it.
    pub at: BlockedAt,
}

/// The moment at which policies block a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockedAt {
    /// Before the step was executed: nothing happened.
    BeforeExecution,
    /// Before one of its calls: the calls before that were made, and the rest were not.
    BetweenCalls,
    /// After the step was executed: its calls were made.
    AfterExecution,
    /// After the last step, before the run completes.
    End,
}

impl BlockedAt {
    /// Returns the moment at which the policies blocked a result.
    pub fn of(result: &StepResult) -> Self {
        match was_started(result) {
            _ if &**result.step() == VERDICTS_STEP => Self::End,
            true if attempt(result).outcome().is_blocked() => Self::BetweenCalls,
            true => Self::AfterExecution,
            false => Self::BeforeExecution,
        }
    }

    /// Returns what became of a step, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::BeforeExecution => "was not executed",
            Self::BetweenCalls => "was executed in part, then held back",
            Self::AfterExecution => "was executed, then blocked",
            Self::End => "is not completed",
        }
    }
}

impl Blocked {
    /// Returns the messages of the errors, joined.
    pub fn why(&self) -> String {
        let messages: Vec<&str> = self.errors.iter().map(|error| &*error.message).collect();
        messages.join("; ")
    }
}

/// Turns a result into a failed one with the violations that block it; a member says how the step itself ended.
pub(crate) fn block(result: StepResult, judgement: Judgement) -> StepResult {
    let ended = ending(result.outcome());
    let blocked = result.with_outcome(Outcome::Failed(judgement.blocks)).with_other(BLOCKED_MEMBER, ended);
    blocked.with_other(POLICY_MEMBER, judgement.remarks.into_iter().collect::<Value>())
}

/// The word for a step that was blocked before it was executed.
const NOT_STARTED: &str = "not_started";

/// Turns the possible result of a step that was not executed into a failed one with the violations that block it.
pub(crate) fn block_unstarted(result: StepResult, judgement: Judgement) -> StepResult {
    let ended = Object::from_iter([("status", NOT_STARTED)]);
    let blocked = result.with_outcome(Outcome::Failed(judgement.blocks)).with_other(BLOCKED_MEMBER, ended);
    blocked.with_other(POLICY_MEMBER, judgement.remarks.into_iter().collect::<Value>())
}

/// Returns whether the step of a result was executed. A step that policies blocked in advance was not.
pub fn was_started(result: &StepResult) -> bool {
    let status = result.others().get(BLOCKED_MEMBER).and_then(|ended| ended.get("status")?.as_str());
    !(result.outcome().is_blocked() && status == Some(NOT_STARTED))
}

/// Adds the remarks of policies to a result, if there are any.
pub(crate) fn remark(result: StepResult, remarks: Vec<Value>) -> StepResult {
    if remarks.is_empty() {
        return result;
    }
    result.with_other(POLICY_MEMBER, remarks.into_iter().collect::<Value>())
}

/// Returns a result as it was before policies judged it; for a blocked result, the original outcome.
pub fn attempt(result: &StepResult) -> StepResult {
    let outcome = match result.others().get(BLOCKED_MEMBER).and_then(ended) {
        Some(outcome) if result.outcome().is_blocked() => outcome,
        _ => result.outcome().clone(),
    };
    let others = result.others().without(BLOCKED_MEMBER).without(POLICY_MEMBER);
    StepResult::restore(
        hence_state::RESULT_VERSION,
        result.step().clone(),
        result.input_hash(),
        outcome.output_hash(),
        result.started_at().clone(),
        result.finished_at().clone(),
        outcome,
        others,
    )
}

fn ending(outcome: &Outcome) -> Object {
    let status = Object::from_iter([("status", outcome.status().as_str())]);
    match outcome {
        Outcome::Success(output) => status.with("output", output.value().clone()),
        Outcome::Failed(errors) => status.with("errors", errors.iter().collect::<Value>()),
        Outcome::Skipped => status,
    }
}

fn ended(value: &Value) -> Option<Outcome> {
    Some(match StepStatus::from_word(value.get("status")?.as_str()?)? {
        StepStatus::Success => Outcome::Success(Canonical::of(value.get("output")?)),
        StepStatus::Failed => {
            let errors: Option<Vec<StepError>> =
                value.get("errors")?.as_array()?.iter().map(StepError::decode).collect();
            Outcome::Failed(errors?)
        }
        StepStatus::Skipped => Outcome::Skipped,
    })
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;
    use hence_state::{POLICY_VIOLATION, Timestamp};

    use super::*;

    #[test]
    fn a_step_that_policies_stopped_between_its_calls_is_told_from_one_they_blocked_afterwards() {
        let at = || Timestamp::parse("2026-02-02T00:00:00Z").unwrap();
        for (code, expected) in
            [(POLICY_VIOLATION, BlockedAt::BetweenCalls), ("upstream_failure", BlockedAt::AfterExecution)]
        {
            let failed = Outcome::Failed(vec![StepError::new(code, "m")]);
            let result = StepResult::new("s", &Value::Null, at(), at(), failed);
            let blocks = vec![StepError::new(POLICY_VIOLATION, "no")];
            let blocked = block(result, Judgement { blocks, remarks: Vec::new() });
            assert_eq!(BlockedAt::of(&blocked), expected);
        }
    }

    #[test]
    fn a_blocked_result_keeps_what_the_step_would_have_recorded() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let outcomes = [
            Outcome::Success(parse(br#"{"n":1}"#).unwrap().into()),
            Outcome::Failed(vec![StepError::new("c", "m").in_step("s")]),
            Outcome::Skipped,
        ];
        for outcome in outcomes {
            let (started, finished) = (at("2026-02-02T00:00:00Z"), at("2026-02-02T00:00:01Z"));
            let result =
                StepResult::new("s", &Value::Null, started, finished, outcome).with_other("outcome", 1);
            let blocks = vec![StepError::new(POLICY_VIOLATION, "no")];
            let judgement = Judgement { blocks, remarks: vec![Value::from("p")] };
            let blocked = block(result.clone(), judgement);
            assert!(blocked.outcome().is_blocked());
            assert_eq!(attempt(&blocked), result);
            assert_eq!(attempt(&remark(result.clone(), vec![Value::from("p")])), result);
        }
    }
}
