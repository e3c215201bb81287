//! What a run over variables does not establish.

use hence_review::model::{ArtifactId, Residual, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};
use hence_variables::Status;

use super::VariablesView;
use crate::base::Base;
use crate::ending::Ending;
use crate::gap::gap;
use crate::shelf::PROBLEM;
use crate::word;

/// What the run as a whole leaves open.
pub(super) fn of_whole(view: &VariablesView) -> Vec<Residual> {
    if view.writes == 0 {
        return Vec::new();
    }
    let statement = "Values were set from outside; nothing in the record checks them.".to_owned();
    let unchecked = gap("values-from-outside", ResidualKind::Unverified, ResidualSeverity::Medium, statement)
        .check("Compare the values with what they were taken from.")
        .on(TargetPart::Trace);
    let statement =
        "What a value was computed from is not recorded: what its task read since it last wrote counts as its source."
            .to_owned();
    let sources = gap("sources-inferred", ResidualKind::Limitation, ResidualSeverity::Low, statement)
        .check("Do not take the lineage for more than the order of reads and writes.")
        .on(TargetPart::Artifact(ArtifactId::new(PROBLEM)));
    vec![unchecked.written(), sources.written()]
}

/// Tasks that did not come to an answer.
pub(super) fn of_end(view: &VariablesView, base: &Base<'_>, ending: &Ending) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let run = word::shell_word(base.run_id());
    for (state, task) in &view.tasks {
        let why =
            task.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", word::shortened(reason)));
        let (kind, severity, statement) = match task.status {
            Status::Complete => continue,
            Status::Incomplete => (
                ResidualKind::Limitation,
                ResidualSeverity::High,
                format!("The task {state} has no final answer."),
            ),
            Status::Cancelled => (
                ResidualKind::OutOfScope,
                ResidualSeverity::Medium,
                format!("The task {state} was called off{why}"),
            ),
            Status::Error => {
                (ResidualKind::Limitation, ResidualSeverity::High, format!("The task {state} failed{why}"))
            }
        };
        let found = gap(&format!("task-{state}"), kind, severity, statement)
            .check(&format!("hence vars status {run}"))
            .on(TargetPart::Trace);
        gaps.push(found.written());
    }
    if view.tasks.is_empty() && *ending == Ending::Unfinished {
        let statement = "Nothing was done in the run.".to_owned();
        let found = gap("unfinished", ResidualKind::Limitation, ResidualSeverity::High, statement)
            .check(&format!("hence vars status {run}"))
            .on(TargetPart::Trace);
        gaps.push(found.written());
    }
    gaps
}
