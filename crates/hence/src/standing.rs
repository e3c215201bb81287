//! The status of a step or a run, as every view shows it.
//!
//! A record has one of the words that the state document allows. A step of a skill that failed while its run continued
//! is recorded as `success`, with an outcome that says it failed, because the document allows nothing after `failed`.
//! People see how it ended.

use hence_cognition::run::StepOutcome;
use hence_cognition::state::StepStatus;
use hence_engine::{Blobs, RunKind};
use hence_skills::{outcomes_with_failures, recorded_outcome};
use hence_state::{Outcome, StepResult};
use hence_store::{RunId, StoreHandle};

use crate::escape::escape;
use crate::kind::whole_records;
use crate::sink::StoreBlobs;

/// The status of a run or a step that completed although parts of it failed.
pub(crate) const PARTIAL: &str = "partial";

/// Returns the status of a recorded step.
pub(crate) fn of_step(kind: RunKind, result: &StepResult, blobs: &dyn Blobs) -> &'static str {
    let outcome = result.outcome();
    if outcome.is_blocked() {
        // It is recorded as failed, but can be tried again.
        return "blocked";
    }
    if kind != RunKind::Skill || !matches!(outcome, Outcome::Success(_)) || result.step().starts_with('$') {
        return outcome.status().as_str();
    }
    match recorded_outcome(result, blobs) {
        Ok(recorded) => of_outcome(&recorded).unwrap_or_else(|| outcome.status().as_str()),
        // The value that says it is missing or damaged.
        Err(_) => "unknown",
    }
}

/// Returns the status of an outcome that differs from a success.
pub(crate) fn of_outcome(outcome: &StepOutcome) -> Option<&'static str> {
    match outcome.status {
        StepStatus::Completed => outcome.has_failures().then_some(PARTIAL),
        other => Some(other.as_str()),
    }
}

/// Returns the outcomes of a completed run that make it a partial one.
pub(crate) fn failures(store: &StoreHandle, run: &RunId) -> Vec<StepOutcome> {
    let journal = store.journal_bytes(run).unwrap_or_default();
    outcomes_with_failures(whole_records(&journal), &StoreBlobs(store))
}

/// The maximum number of failures that a text shows.
const FAILURES_SHOWN_MAX: usize = 10;

/// Returns the rows of a text about the failures of a partial run.
pub(crate) fn failure_rows(failures: &[String]) -> Vec<(&'static str, String)> {
    let shown = failures.iter().take(FAILURES_SHOWN_MAX).map(|failure| ("failed", escape(failure)));
    let left = failures.len().saturating_sub(FAILURES_SHOWN_MAX);
    let more = (left > 0).then(|| ("failed", format!("{left} more; --json lists all")));
    shown.chain(more).collect()
}
