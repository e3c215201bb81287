//! A declared gap, being written down.

use hence_canon::Object;
use hence_review::model::{ActionId, ArtifactId, Residual, ResidualId, Target, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus};

/// A gap being written down.
pub(crate) struct Gap(Residual);

/// Begins a gap that follows from the record.
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
    /// Says how it could be closed.
    pub(crate) fn check(mut self, check: &str) -> Self {
        self.0.suggested_check = Some(check.into());
        self
    }

    /// Says what it is about.
    pub(crate) fn on(mut self, part: TargetPart) -> Self {
        self.0.target = Some(Target::from(part));
        self
    }

    /// Says which action introduced it, and that it is about that action.
    pub(crate) fn of_action(self, action: ActionId) -> Self {
        self.on(TargetPart::Action(action)).by(action)
    }

    /// Says which action introduced it.
    pub(crate) fn by(mut self, action: ActionId) -> Self {
        self.0.introduced_by_action_id = Some(action);
        self
    }

    /// Says which artifacts it touches.
    pub(crate) fn related(mut self, artifacts: &[ArtifactId]) -> Self {
        self.0.related_artifact_ids = artifacts.to_vec();
        self
    }

    /// Says that whoever asked for the run declared it.
    pub(crate) fn declared(mut self) -> Self {
        self.0.source = Some(ResidualSource::AgentDeclared);
        self
    }

    /// Returns it as the format has it.
    pub(crate) fn written(self) -> Residual {
        self.0
    }
}
