//! Results of formal reasoning as typed artifacts of the trace format (§10).
//!
//! A capability does not know the trace, so the subject of its result is taken from the artifacts its step read: the
//! model of a goal, the goal of a result, the analysis of generated tests. A result that lacks a required member stays a
//! note. A conformance result stays a note as well: a run has no reference artifacts that it could name.

use hence_canon::{Object, Value};
use hence_review::model::{Artifact, ArtifactContent, ArtifactId, decode_artifact};
use hence_review::vocabulary::{ArtifactType, ReasoningType, VerificationStatus};

/// The context of a result.
pub(super) struct Around<'a> {
    /// The artifacts the step read, oldest first.
    pub(super) sources: Vec<&'a Artifact>,
    /// The capability that reasoned.
    pub(super) engine: &'a str,
    /// A number for a goal that has none.
    pub(super) number: i64,
}

/// Returns the typed content of a result and its role, if the result has every required member.
pub(super) fn content(
    word: ReasoningType,
    produced: &Value,
    around: &Around<'_>,
) -> Option<(ArtifactContent, &'static str)> {
    let members = produced.as_object()?;
    let (kind, payload, role) = match word {
        ReasoningType::Formalize if members.contains_key("src_code") => {
            (ArtifactType::Formalization, members.clone(), "formal_model")
        }
        ReasoningType::Formalize => (ArtifactType::FormalModel, members.clone(), "formal_model"),
        ReasoningType::DefineVerificationGoal => {
            let goal = members.with("target_artifact_id", around.model()?.as_str());
            let numbered = goal.get("goal_id").and_then(Value::as_i64).is_some();
            let goal = if numbered { goal } else { goal.with("goal_id", around.number) };
            (ArtifactType::VerificationGoal, goal, "reasoning_goal")
        }
        ReasoningType::Verify => return verified(members, around),
        ReasoningType::StateSpaceAnalysis => {
            let analysis = members.with("target_artifact_id", around.subject()?.as_str());
            (ArtifactType::StateSpaceAnalysisResult, analysis, "state_space_analysis")
        }
        ReasoningType::CoSimulate => {
            let result = members.with("target_artifact_id", around.subject()?.as_str());
            let result = around.with_engine(&result.without("input_artifact_ids"));
            (ArtifactType::CoSimulationResult, result, "reasoning_result")
        }
        ReasoningType::GenerateTests => {
            let analysis = around.newest(|kind| kind == ArtifactType::StateSpaceAnalysisResult)?;
            let tests = members.with("source_analysis_artifact_id", analysis.common.artifact_id.as_str());
            (ArtifactType::GeneratedTests, tests, "generated_test")
        }
        ReasoningType::ConformanceCheck => return None,
    };
    typed(kind, payload).map(|content| (content, role))
}

impl Around<'_> {
    /// Returns the newest source of a kind.
    fn newest(&self, is_meant: impl Fn(ArtifactType) -> bool) -> Option<&Artifact> {
        self.sources.iter().rev().copied().find(|source| is_meant(source.content.artifact_type()))
    }

    /// Returns the model that was read.
    fn model(&self) -> Option<&ArtifactId> {
        self.newest(ArtifactType::is_model).map(|model| &model.common.artifact_id)
    }

    /// Returns the subject of the reasoning: a model, or else the artifact read last.
    fn subject(&self) -> Option<&ArtifactId> {
        self.model().or_else(|| self.sources.last().map(|source| &source.common.artifact_id))
    }

    fn with_engine(&self, members: &Object) -> Object {
        if members.get("engine").is_some_and(|engine| !engine.is_null()) {
            members.clone()
        } else {
            members.with("engine", self.engine)
        }
    }
}

/// Returns a verification result with the goal it answers.
fn verified(members: &Object, around: &Around<'_>) -> Option<(ArtifactContent, &'static str)> {
    let goal = around.newest(|kind| kind == ArtifactType::VerificationGoal)?;
    let ArtifactContent::VerificationGoal(asked) = &goal.content else { return None };
    let (status, result, rest) = tagged(members)?;
    let payload = around
        .with_engine(&rest)
        .with("status", status)
        .with("result", result)
        .with("goal_id", asked.goal_id)
        .with("goal_artifact_id", goal.common.artifact_id.as_str());
    let role = match status {
        VerificationStatus::Proved => "proof",
        VerificationStatus::Refuted => "counterexample",
        VerificationStatus::Sat | VerificationStatus::Unknown => "reasoning_result",
    };
    typed(ArtifactType::VerificationResult, payload).map(|content| (content, role))
}

/// Returns the status, the result tagged with it, and the other members. The result is tagged as in the specification,
/// or its members are next to its status.
fn tagged(members: &Object) -> Option<(VerificationStatus, Value, Object)> {
    let declared = members.get("status").and_then(Value::as_str).and_then(VerificationStatus::from_word);
    if let Some(result) = members.get("result").and_then(Value::as_object) {
        let tag = result.keys().next().and_then(|tag| VerificationStatus::from_word(tag))?;
        return Some((declared.unwrap_or(tag), result.clone().into(), members.clone()));
    }
    let status = declared?;
    let own: &[&str] = match status {
        VerificationStatus::Proved => &["proof_pp", "properties"],
        VerificationStatus::Refuted => &["counterexample"],
        VerificationStatus::Sat => &["model"],
        VerificationStatus::Unknown => &["note"],
    };
    let part = |keep: bool| -> Object {
        let kept = members.iter().filter(|(key, _)| own.contains(&&***key) == keep);
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let result = Object::from_iter([(status.as_str(), Value::from(part(true)))]);
    Some((status, result.into(), part(false)))
}

fn typed(kind: ArtifactType, payload: Object) -> Option<ArtifactContent> {
    let artifact = Object::from_iter([
        ("artifact_id", Value::from("result")),
        ("artifact_type", kind.into()),
        ("payload", payload.into()),
    ]);
    decode_artifact(&artifact.into()).ok().map(|artifact| artifact.content)
}
