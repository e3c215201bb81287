//! A builder of declared gaps.

use hence_canon::Object;
use hence_review::model::{ActionId, ArtifactId, Residual, ResidualId, Target, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus};

/// A declared gap under construction.
pub(crate) struct Gap(Residual);

/// Begins an open gap that follows from the journal.
pub(crate) fn gap(id: &str, kind: ResidualKind, severity: ResidualSeverity, statement: String) -> Gap {
    Gap(Residual {
        residual_id: ResidualId::new(id),
        kind,
        statement: statement.into(),
        severity: Some(severity),
        target: None,
        related_artifact_ids: Vec::new(),
        rationale: None,
        suggested_check: None,
        source: Some(ResidualSource::ToolInferred),
        status: Some(ResidualStatus::Open),
        introduced_by_action_id: None,
        tags: Vec::new(),
        extra: Object::new(),
    })
}

impl Gap {
    /// Sets the check that could close the gap.
    pub(crate) fn check(mut self, check: &str) -> Self {
        self.0.suggested_check = Some(check.into());
        self
    }

    /// Sets the part of the trace that the gap is about.
    pub(crate) fn on(mut self, part: TargetPart) -> Self {
        self.0.target = Some(Target::from(part));
        self
    }

    /// Sets the action that the gap is about and that introduced it.
    pub(crate) fn of_action(self, action: ActionId) -> Self {
        self.on(TargetPart::Action(action)).by(action)
    }

    /// Sets the action that introduced the gap.
    pub(crate) fn by(mut self, action: ActionId) -> Self {
        self.0.introduced_by_action_id = Some(action);
        self
    }

    /// Sets the affected artifacts.
    pub(crate) fn related(mut self, artifacts: &[ArtifactId]) -> Self {
        self.0.related_artifact_ids = artifacts.to_vec();
        self
    }

    /// Marks the gap as declared by whoever asked for the run.
    pub(crate) fn declared(mut self) -> Self {
        self.0.source = Some(ResidualSource::AgentDeclared);
        self
    }

    /// Returns the gap as a residual of the trace format.
    pub(crate) fn build(self) -> Residual {
        self.0
    }
}

/// Returns the gap of a run whose journal ends before the run does.
pub(crate) fn unfinished(check: &str) -> Residual {
    let statement = "The record ends before the run does.".to_owned();
    gap("unfinished", ResidualKind::Limitation, ResidualSeverity::High, statement)
        .check(check)
        .on(TargetPart::Trace)
        .build()
}
