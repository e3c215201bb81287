//! The facts about a run that every part of its trace uses: header, problem, profile, blobs.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::run::{EXCHANGE_KEY, EXCHANGES_KEY};
use hence_engine::{Blobs, Determinism, referenced};
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

use crate::text::shell_word;

/// The id of the environment in which every step ran.
pub(crate) const ENGINE: &str = "engine";

/// The facts about a run before its first step.
pub(crate) struct RunInfo<'a> {
    pub(crate) header: Header,
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) profile: Profile,
    pub(crate) blobs: &'a dyn Blobs,
}

impl RunInfo<'_> {
    /// Returns the id of the run.
    pub(crate) fn id(&self) -> &str {
        &self.header.trace_id
    }

    /// Returns the command that replays the run.
    pub(crate) fn replay_command(&self) -> String {
        format!("hence replay {}", shell_word(self.id()))
    }

    /// Returns the command that continues a run that has not ended.
    pub(crate) fn resume_command(&self) -> String {
        format!("hence resume {}", shell_word(self.id()))
    }

    /// Returns the command that shows the record of an action, as evidence.
    pub(crate) fn evidence(&self, index: RecordIndex) -> Evidence {
        Evidence {
            evidence_type: EvidenceType::CommandOutput,
            reference: format!("hence show {} {}", shell_word(self.id()), index.get()).into(),
            exit_code: None,
            extra: Object::new(),
        }
    }

    /// Returns the same evidence with the digests of what was exchanged with models, which the command shows, as the report
    /// about the step lists them.
    pub(crate) fn evidence_with_exchanges(&self, index: RecordIndex, meta: Option<&Value>) -> Evidence {
        let listed = meta.and_then(|meta| meta.get(EXCHANGES_KEY)).and_then(Value::as_array);
        let named = listed.unwrap_or_default().iter().filter_map(|entry| entry.get(EXCHANGE_KEY));
        let digests = named.filter_map(referenced).map(|digest| Value::from(format!("sha256:{digest}")));
        let digests: Vec<Value> = digests.collect();
        let evidence = self.evidence(index);
        if digests.is_empty() {
            return evidence;
        }
        Evidence { extra: evidence.extra.with(EXCHANGES_KEY, digests), ..evidence }
    }

    /// Returns the execution metadata of a step of the engine.
    pub(crate) fn execution(&self, method: &str, determinism: Repeatability) -> ExecutionMetadata {
        ExecutionMetadata {
            tool: Some("hence-engine".into()),
            version: Some(self.header.engine_version.clone()),
            method: Some(method.into()),
            determinism: Some(determinism),
            ..ExecutionMetadata::default()
        }
    }

    /// Returns how a step can be reproduced: computed again, or by the calls that gave its result. A replay reads a recorded
    /// result from the journal, so it is not named as a way to check one.
    pub(crate) fn reproducibility(
        &self,
        determinism: Determinism,
        calls: &[String],
        inputs: &[ArtifactId],
        outputs: &[ArtifactId],
    ) -> ActionReproducibility {
        let is_recorded = determinism == Determinism::Recorded;
        let again = match calls {
            [] => vec!["it cannot be checked from here: it came from outside the run".into()],
            calls => calls.iter().map(|call| call.as_str().into()).collect(),
        };
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
                kind: if is_recorded { ProcedureKind::Manual } else { ProcedureKind::Command },
                command: (!is_recorded).then(|| self.replay_command().into()),
                working_directory: None,
                arguments: Vec::new(),
                steps: if is_recorded { again } else { Vec::new() },
                reference: None,
                extra: Object::new(),
            },
            expected_output: Some(ExpectedOutput {
                artifact_ids: outputs.to_vec(),
                result_summary: (!is_recorded).then(|| "every byte is equal".into()),
                ..ExpectedOutput::default()
            }),
            limitations,
            notes: None,
            extra: Object::new(),
        }
    }
}

/// Describes how the result of a call that acts is checked: never by making it again.
pub(crate) fn acted(run: &RunInfo<'_>, index: RecordIndex, capability: &str) -> String {
    let record = format!("hence show {} {}", shell_word(run.id()), index.get());
    format!(
        "do not call `{capability}` again, it acts: look at what it changed, with the input that `{record}` prints"
    )
}

/// Describes the call that would check a recorded result.
pub(crate) fn call_again(
    run: &RunInfo<'_>,
    index: RecordIndex,
    capability: &str,
    call: Option<&str>,
) -> String {
    let provider = call.map_or(" (unless it acts)".to_owned(), |call| format!(" ({call})"));
    let record = format!("hence show {} {}", shell_word(run.id()), index.get());
    format!(
        "call `{capability}`{provider} again with the input that `{record}` prints, and compare what it gives"
    )
}

/// Returns the determinism of a step in the words of the trace format.
pub(crate) fn repeatability(determinism: Determinism) -> Repeatability {
    match determinism {
        Determinism::Deterministic => Repeatability::Deterministic,
        Determinism::Recorded => Repeatability::Nondeterministic,
    }
}

/// Returns the common part of an action with only its texts set.
pub(crate) fn action_common(id: ActionId, label: &str, rationale: &str) -> ActionCommon {
    ActionCommon { id, label: label.into(), rationale: rationale.into(), ..ActionCommon::default() }
}

/// Returns the step of an action that is not a gateway; gateways are made where their options are known.
pub(crate) fn action_step(action: ActionType, payload: ActionPayload) -> ActionStep {
    match action {
        ActionType::Activity(word) => ActionStep::Activity(word, payload),
        ActionType::Reasoning(word) => ActionStep::Reasoning(word, payload),
        ActionType::Governance(word) => ActionStep::Governance(word, payload),
        ActionType::Custom(word) => ActionStep::Custom(word, payload),
        ActionType::Gateway(_) => ActionStep::Activity(ActivityType::RunCommand, payload),
    }
}
