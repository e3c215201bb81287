//! The end of a run of variables: it follows from how its tasks ended.

use hence_state::{Outcome, StepError, StepResult};
use hence_variables::{State, Status, Workspace};

use super::Reasons;

/// The step of a run in which a task failed or was cancelled. It changes no variable.
pub const VARIABLES_END_STEP: &str = "vars.end";

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Every task that nobody in this run spawned has its `Final`.
    Completed,
    /// At least one of them failed or was cancelled.
    Failed(Vec<StepError>),
}

impl End {
    /// Returns the end of a run, or nothing while a task that lives in it goes on.
    pub(super) fn of(workspace: &Workspace, reasons: &Reasons) -> Option<Self> {
        let mut own = workspace.states().filter(|state| state.lives_in().is_none()).peekable();
        own.peek()?;
        if !own.all(|state| state.status().is_terminal()) {
            return None;
        }
        let roots = workspace.states().filter(|state| state.parent().is_none());
        let errors: Vec<StepError> = roots.filter_map(|state| error_of(state, reasons)).collect();
        Some(if errors.is_empty() { Self::Completed } else { Self::Failed(errors) })
    }
}

fn error_of(state: &State, reasons: &Reasons) -> Option<StepError> {
    let (code, word) = match state.status() {
        Status::Error => ("task_failed", "failed"),
        Status::Cancelled => ("task_cancelled", "was cancelled"),
        Status::Complete | Status::Incomplete => return None,
    };
    let reason = reasons.get(&state.id()).map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(StepError::new(code, format!("task {} {word}{reason}", state.id())))
}

/// Checks the step that ends a run against the end that follows from its tasks.
pub(super) fn check_end(expected: Option<&End>, result: &StepResult) -> Result<(), String> {
    match (expected, result.outcome()) {
        (Some(End::Failed(expected)), Outcome::Failed(found)) if expected == found => Ok(()),
        (None, _) => Err("a task of the run has not ended".to_owned()),
        _ => Err("the tasks ended otherwise".to_owned()),
    }
}
