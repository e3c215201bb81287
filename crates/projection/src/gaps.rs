//! Declared gaps.

use hence_canon::Object;
use hence_review::model::{ActionId, ArtifactId, Residual, ResidualId, Target, TargetPart, Text};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus};

/// Returns an open gap that follows from the journal, with the check that could close it.
pub(crate) fn gap(
    id: impl Into<Text>,
    kind: ResidualKind,
    severity: ResidualSeverity,
    statement: impl Into<Text>,
    check: impl Into<Text>,
) -> Residual {
    Residual {
        residual_id: ResidualId::new(id),
        kind,
        statement: statement.into(),
        severity: Some(severity),
        target: None,
        related_artifact_ids: Vec::new(),
        rationale: None,
        suggested_check: Some(check.into()),
        source: Some(ResidualSource::ToolInferred),
        status: Some(ResidualStatus::Open),
        introduced_by_action_id: None,
        tags: Vec::new(),
        extra: Object::new(),
    }
}

/// Further members of a gap.
pub(crate) trait GapMembers: Sized {
    /// Sets the part of the trace that the gap is about.
    fn on(self, part: TargetPart) -> Self;
    /// Sets the artifact that the gap is about.
    fn on_artifact(self, id: impl Into<Text>) -> Self {
        self.on(TargetPart::Artifact(ArtifactId::new(id)))
    }
    /// Sets the action that introduced the gap.
    fn by(self, action: ActionId) -> Self;
    /// Sets the action that the gap is about and that introduced it.
    fn of_action(self, action: ActionId) -> Self {
        self.on(TargetPart::Action(action)).by(action)
    }
    /// Marks the gap as declared by the caller who asked for the run.
    fn declared(self) -> Self;
}

impl GapMembers for Residual {
    fn on(self, part: TargetPart) -> Self {
        Self { target: Some(Target::from(part)), ..self }
    }

    fn by(self, action: ActionId) -> Self {
        Self { introduced_by_action_id: Some(action), ..self }
    }

    fn declared(self) -> Self {
        Self { source: Some(ResidualSource::AgentDeclared), ..self }
    }
}

/// Returns the gap of a run whose journal ends before the run does.
pub(crate) fn unfinished(check: String) -> Residual {
    let statement = "The record ends before the run does.";
    gap("unfinished", ResidualKind::Limitation, ResidualSeverity::High, statement, check)
        .on(TargetPart::Trace)
}

/// Returns the gap of steps that never ran.
pub(crate) fn not_run(statement: String, check: &str) -> Residual {
    gap("not-run", ResidualKind::OutOfScope, ResidualSeverity::Medium, statement, check).on(TargetPart::Trace)
}
