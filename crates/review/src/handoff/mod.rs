//! The reviewer's packet: where to start, what to check again, what is known to be missing, and what is missing
//! without being said.
//!
//! Prose routes attention; only checkable artifacts carry weight. A claim without one counts as unverified.

mod render;
mod triage;
mod undeclared;

use crate::lineage::Lineage;
use crate::residuals::{DerivedResidual, by_severity, derive_residuals};
use crate::vocabulary::{ArtifactType, ResidualStatus};
use crate::wire::{Action, Artifact, Residual, Trace};

pub use triage::{Urgency, triage};
pub use undeclared::{UndeclaredGap, undeclared_gaps};

/// Something a reviewer can check again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckableClaim {
    /// The id of the artifact.
    pub artifact_id: String,
    /// What kind of artifact it is.
    pub artifact_type: ArtifactType,
    /// What it claims, in a line.
    pub claim: String,
    /// The command that gives it again, when its action recorded one.
    pub command: Option<String>,
    /// The tool that made it, when its action recorded one.
    pub tool: Option<String>,
}

/// A declared gap, as work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkItem {
    /// The gap as the trace declares it.
    pub residual: Residual,
    /// How urgent it is.
    pub urgency: Urgency,
    /// What to do about a gap of this kind.
    pub advice: &'static str,
}

/// The packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// What was asked.
    pub task: String,
    /// How it ended.
    pub outcome: String,
    /// The files that changed.
    pub files_modified: Vec<String>,
    /// The traces this one follows, as it says.
    pub predecessors: Vec<String>,
    /// What can be checked again.
    pub claims: Vec<CheckableClaim>,
    /// Open gaps, the worst first.
    pub work: Vec<WorkItem>,
    /// Gaps the trace shows without declaring them.
    pub derived: Vec<DerivedResidual>,
    /// What was touched and neither verified nor declared.
    pub undeclared: Vec<UndeclaredGap>,
}

/// Prepares the packet of a trace.
pub fn handoff(trace: &Trace, lineage: &Lineage) -> Handoff {
    let text = |event: Option<crate::wire::Event>, keys: [&str; 2]| {
        event
            .and_then(|event| keys.iter().find_map(|key| event.text(key)).map(str::to_owned))
            .unwrap_or_default()
    };
    let open =
        by_severity(trace).into_iter().filter(|residual| residual.status() == Some(ResidualStatus::Open));
    Handoff {
        task: text(trace.trigger(), ["description", "summary"]),
        outcome: text(trace.outcome(), ["summary", "description"]),
        files_modified: trace.files_modified().map(str::to_owned).collect(),
        predecessors: crate::residuals::predecessors(trace),
        claims: checkable_claims(trace, lineage),
        work: open.map(|residual| work_item(trace, lineage, residual)).collect(),
        derived: derive_residuals(trace),
        undeclared: undeclared_gaps(trace, lineage),
    }
}

fn work_item(trace: &Trace, lineage: &Lineage, residual: Residual) -> WorkItem {
    let (urgency, advice) = triage(trace, lineage, &residual);
    WorkItem { residual, urgency, advice }
}

/// Kinds of artifacts whose content can be checked again.
pub const fn is_checkable(artifact_type: ArtifactType) -> bool {
    matches!(
        artifact_type,
        ArtifactType::VerificationResult
            | ArtifactType::CommandResult
            | ArtifactType::StateSpaceAnalysisResult
            | ArtifactType::ConformanceResult
    )
}

/// Lists what can be checked again, in the order of the trace.
pub fn checkable_claims(trace: &Trace, lineage: &Lineage) -> Vec<CheckableClaim> {
    let claim = |artifact: &Artifact| {
        let artifact_type = artifact.artifact_type().filter(|kind| is_checkable(*kind))?;
        let id = artifact.id()?;
        let maker = lineage.producer(id).and_then(|position| trace.action(position));
        let status = artifact.payload_text("status");
        let summary = maker.and_then(Action::result_summary).or(status).unwrap_or("");
        let about = artifact.about();
        let said = if summary.is_empty() { about.to_owned() } else { format!("{about}: {summary}") };
        Some(CheckableClaim {
            artifact_id: id.to_owned(),
            artifact_type,
            claim: said,
            command: maker.and_then(command_of),
            tool: maker
                .and_then(|action| action.object("execution")?.get("tool")?.as_str().map(str::to_owned)),
        })
    };
    trace.artifacts().iter().filter_map(claim).collect()
}

fn command_of(action: &Action) -> Option<String> {
    let procedure = action.object("reproducibility")?.get("procedure")?;
    procedure.get("command")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
