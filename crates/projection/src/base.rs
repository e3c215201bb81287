//! What every part of a run's trace is made with: the header, the problem, where large values are.

use std::sync::Arc;

use hence_canon::Object;
use hence_engine::Blobs;
use hence_engine::Determinism;
use hence_journal::{Header, RecordIndex};
use hence_review::model::{
    ActionCommon, ActionId, ActionPayload, ActionReproducibility, ActionStep, ArtifactId, EnvironmentId,
    Evidence, ExecutionMetadata, ExpectedOutput, ReproductionProcedure,
};
use hence_review::vocabulary::{
    ActionType, ActivityType, Determinism as Repeatability, EvidenceType, ProcedureKind,
    ReproducibilityStatus, ReproductionKind,
};
use hence_state::{ProblemSpec, Profile};

use crate::word;

/// The id of the environment every step ran in.
pub(crate) const ENGINE: &str = "engine";

/// What is known of a run before its first step.
pub(crate) struct Base<'a> {
    pub(crate) header: Header,
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) profile: Profile,
    pub(crate) blobs: &'a dyn Blobs,
}

impl Base<'_> {
    pub(crate) fn run_id(&self) -> &str {
        &self.header.trace_id
    }

    /// Returns the command that runs the whole run again and compares every byte.
    pub(crate) fn replay_command(&self) -> String {
        format!("hence replay {}", word::shell_word(self.run_id()))
    }

    /// Returns the command that continues a run that has not ended.
    pub(crate) fn resume_command(&self) -> String {
        format!("hence resume {}", word::shell_word(self.run_id()))
    }

    /// Returns how to see the record an action was made from.
    pub(crate) fn evidence(&self, index: RecordIndex) -> Evidence {
        Evidence {
            evidence_type: EvidenceType::CommandOutput,
            reference: format!("hence show {} {}", word::shell_word(self.run_id()), index.get()).into(),
            exit_code: None,
            extra: Object::new(),
        }
    }

    /// Returns who executed a step of the engine, and how it can be executed again.
    pub(crate) fn execution(&self, method: &str, determinism: Repeatability) -> ExecutionMetadata {
        ExecutionMetadata {
            tool: Some("hence-engine".into()),
            version: Some(self.header.engine_version.clone()),
            method: Some(method.into()),
            determinism: Some(determinism),
            duration_ms: None,
            cost: None,
            extra: Object::new(),
        }
    }

    /// Returns how a step can be reproduced: computed again, or read from the journal.
    pub(crate) fn reproducibility(
        &self,
        determinism: Determinism,
        inputs: &[ArtifactId],
        outputs: &[ArtifactId],
    ) -> ActionReproducibility {
        let (status, reproduction_kind, limitations) = match determinism {
            Determinism::Deterministic => {
                (ReproducibilityStatus::Reproducible, ReproductionKind::DeterministicReplay, Vec::new())
            }
            Determinism::Recorded => (
                ReproducibilityStatus::PartiallyReproducible,
                ReproductionKind::ToolReexecution,
                vec![
                    "a replay reads this result from the journal; what it came from is not asked again"
                        .into(),
                ],
            ),
        };
        ActionReproducibility {
            status,
            reproduction_kind,
            input_artifact_ids: inputs.to_vec(),
            environment_id: Some(EnvironmentId::new(ENGINE)),
            procedure: ReproductionProcedure {
                kind: ProcedureKind::Command,
                command: Some(self.replay_command().into()),
                working_directory: None,
                arguments: Vec::new(),
                steps: Vec::new(),
                reference: None,
                extra: Object::new(),
            },
            expected_output: Some(ExpectedOutput {
                artifact_ids: outputs.to_vec(),
                result_summary: Some("every byte is equal".into()),
                extra: Object::new(),
            }),
            limitations,
            notes: None,
            extra: Object::new(),
        }
    }
}

/// Returns what a replay's way with a step means for running it again.
pub(crate) fn repeatability(determinism: Determinism) -> Repeatability {
    match determinism {
        Determinism::Deterministic => Repeatability::Deterministic,
        Determinism::Recorded => Repeatability::Nondeterministic,
    }
}

/// Returns an action's common part with nothing but its words.
pub(crate) fn common(id: ActionId, label: &str, rationale: &str) -> ActionCommon {
    ActionCommon {
        id,
        label: label.into(),
        rationale: rationale.into(),
        detail: None,
        inputs: Vec::new(),
        outputs: Vec::new(),
        evidence: Vec::new(),
        observations: Vec::new(),
        execution: None,
        reproducibility: None,
        meta_action_id: None,
    }
}

/// Returns the step of an action that is no gateway; gateways are made where the options are known.
pub(crate) fn family(action: ActionType, payload: ActionPayload) -> ActionStep {
    match action {
        ActionType::Activity(word) => ActionStep::Activity(word, payload),
        ActionType::Reasoning(word) => ActionStep::Reasoning(word, payload),
        ActionType::Governance(word) => ActionStep::Governance(word, payload),
        ActionType::Gateway(_) => ActionStep::Activity(ActivityType::RunCommand, payload),
    }
}
