//! Version 1.0 exchanged names; the model exchanges artifacts.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::vocabulary::{ActionType, ActivityType, ArtifactType};
use crate::wire::{Action, ReasoningSlot, Trace};

/// Makes an artifact for every name some action put out, of the kind its payload or its action says.
///
/// The payload moves from the action to the artifact; what it derives from are the inputs of the action.
pub(super) fn with_artifacts(trace: &Trace, upgraded: Object) -> Object {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut artifacts: Vec<Value> = Vec::new();
    let mut actions: Vec<Value> = Vec::new();
    for action in trace.actions() {
        let mut moved = action.source().clone();
        for (index, name) in action.outputs().enumerate() {
            if !known.insert(name) {
                continue;
            }
            let slot = ReasoningSlot::ALL.iter().find(|slot| action.member(slot.member()).is_some());
            let payload = slot.filter(|_| index == 0).and_then(|slot| action.member(slot.member()));
            let mut artifact = Object::from_iter([
                ("artifact_id", Value::from(name)),
                ("artifact_type", kind_of(action, slot.copied()).into()),
                ("name", name.into()),
                ("derived_from", action.inputs().collect()),
            ]);
            if let Some(id) = action.id() {
                artifact = artifact.with("producer_action_id", id);
            }
            if let (Some(payload), Some(slot)) = (payload, slot) {
                artifact = artifact.with("payload", payload.clone());
                moved = moved.without(slot.member());
            }
            artifacts.push(super::upgrade::artifact(&artifact.into()));
        }
        actions.push(moved.into());
    }
    upgraded.with("actions", actions).with("artifacts", artifacts)
}

fn kind_of(action: &Action, slot: Option<ReasoningSlot>) -> ArtifactType {
    match (slot, action.action_type()) {
        (Some(ReasoningSlot::Formalization), _) => ArtifactType::Formalization,
        (Some(ReasoningSlot::VerificationGoal), _) => ArtifactType::VerificationGoal,
        (Some(ReasoningSlot::VerificationResult), _) => ArtifactType::VerificationResult,
        (Some(ReasoningSlot::Decomposition), _) => ArtifactType::StateSpaceAnalysisResult,
        (Some(ReasoningSlot::Conformance), _) => ArtifactType::ConformanceResult,
        (Some(ReasoningSlot::CoSimulation), _) => ArtifactType::CoSimulationResult,
        (Some(ReasoningSlot::GeneratedTests), _) => ArtifactType::GeneratedTests,
        (None, Some(ActionType::Activity(activity))) => match activity {
            ActivityType::ReadFile => ArtifactType::SourceCode,
            ActivityType::ReadDocumentation => ArtifactType::Documentation,
            ActivityType::SearchCode | ActivityType::SearchWeb => ArtifactType::SearchResults,
            ActivityType::FormulatePlan | ActivityType::DecomposeTask => ArtifactType::Plan,
            ActivityType::EditFile
            | ActivityType::CreateFile
            | ActivityType::DeleteFile
            | ActivityType::GitDiff => ArtifactType::Diff,
            ActivityType::GitCommit => ArtifactType::Commit,
            ActivityType::RunCommand
            | ActivityType::RunTests
            | ActivityType::TypeCheck
            | ActivityType::Lint => ArtifactType::CommandResult,
            _ => ArtifactType::AnalysisNote,
        },
        _ => ArtifactType::AnalysisNote,
    }
}
