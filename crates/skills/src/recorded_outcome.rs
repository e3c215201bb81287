//! Conversion of step outcomes to results of records, and back.

use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::run::{OutcomeError, StepOutcome};
use hence_cognition::schedule::FailureMode;
use hence_cognition::state::StepStatus;
use hence_engine::{BlobError, Blobs};
use hence_state::{Outcome, StepError, StepResult, Timestamp};

/// The member of a result that holds the outcome of a step without an output.
const OUTCOME_KEY: &str = "outcome";

/// A result that holds no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RecordedOutcomeError {
    /// The result has neither output nor outcome.
    #[error("the result keeps no outcome of a step")]
    Nothing,
    /// The member is not an outcome.
    #[error(transparent)]
    NotAnOutcome(#[from] OutcomeError),
    /// The outcome is stored outside the journal and is missing or damaged.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// Returns whether an outcome ends its run.
pub(crate) fn ends_run(outcome: &StepOutcome, mode: FailureMode) -> bool {
    let denied = outcome.failure.as_ref().is_some_and(|failure| failure.class.is_safety());
    outcome.status == StepStatus::Failed && (denied || mode == FailureMode::FailFast)
}

/// The form of an outcome in a result: an output, or errors or a skip with the outcome next to it.
pub(crate) enum RecordedOutcome {
    /// The outcome is the output.
    Output(Canonical),
    /// The step ended the run.
    Ended(Vec<StepError>, Canonical),
    /// The step did nothing.
    Skipped(Canonical),
}

impl RecordedOutcome {
    /// Returns the form of an outcome. `canonical` is the outcome as it is recorded.
    pub(crate) fn of(outcome: &StepOutcome, canonical: Canonical, mode: FailureMode) -> Self {
        if ends_run(outcome, mode) {
            let error = match &outcome.failure {
                Some(failure) => StepError::new(failure.code().as_str(), failure.message.clone()),
                None => StepError::new("step_failed", "the step failed without saying why"),
            };
            return Self::Ended(vec![error.in_step(outcome.step_id.clone())], canonical);
        }
        match outcome.status {
            StepStatus::Skipped => Self::Skipped(canonical),
            _ => Self::Output(canonical),
        }
    }
}

/// Makes the result of an outcome whose output, if any, is already stored.
pub(crate) fn result(
    step: &Arc<str>,
    input: &Value,
    times: (Timestamp, Timestamp),
    outcome: Outcome,
    beside: Option<Canonical>,
) -> StepResult {
    let made = StepResult::new(step.clone(), input, times.0, times.1, outcome);
    match beside {
        Some(beside) => made.with_other(OUTCOME_KEY, beside.value().clone()),
        None => made,
    }
}

/// Reads an outcome back from a result.
///
/// # Errors
/// [`RecordedOutcomeError`] when the result holds no outcome.
pub fn read(result: &StepResult, blobs: &dyn Blobs) -> Result<StepOutcome, RecordedOutcomeError> {
    let value = match result.outcome().output() {
        Some(output) => hence_engine::resolve(output, blobs)?,
        None => {
            let outcome = result.others().get(OUTCOME_KEY).cloned().ok_or(RecordedOutcomeError::Nothing)?;
            hence_engine::resolve(&outcome.into(), blobs)?
        }
    };
    Ok(StepOutcome::from_value(&value)?)
}
