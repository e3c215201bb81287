//! Whether a trace is ready to be handed to a reviewer.

use crate::wire::Trace;

use super::action::Subject;
use super::finding::Report;

/// What a reviewer needs before starting, and whether it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The document has the structure of a trace.
    pub structure_valid: bool,
    /// The trace says how it ended.
    pub outcome_recorded: bool,
    /// The ids of actions that give no reason.
    pub actions_without_rationale: Vec<String>,
    /// How many gaps the trace declares. None is suspicious: every piece of work has some.
    pub residuals_declared: usize,
}

impl Readiness {
    /// Returns whether nothing is missing.
    pub fn is_ready(&self) -> bool {
        self.structure_valid
            && self.outcome_recorded
            && self.actions_without_rationale.is_empty()
            && self.residuals_declared > 0
    }
}

/// Judges the readiness of a trace from what validation found.
pub fn readiness(trace: &Trace, report: &Report) -> Readiness {
    let silent = trace.actions().iter().filter(|action| action.rationale().trim().is_empty());
    Readiness {
        structure_valid: report.has_structure(),
        outcome_recorded: trace
            .outcome()
            .is_some_and(|outcome| outcome.text("type").is_some_and(|word| !word.is_empty())),
        actions_without_rationale: silent.map(|action| Subject(action).to_string()).collect(),
        residuals_declared: trace.residuals().count(),
    }
}
