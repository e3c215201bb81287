//! Reasoning payloads, wherever a version put them.
//!
//! Version 1.0 wrote them on the action, later versions on the artifact the action produced. Asking through a
//! slot makes both look alike.

use hence_canon::Value;

use crate::vocabulary::ArtifactType;

use super::{Action, Trace};

/// A kind of reasoning payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are the kinds of payload")]
pub enum ReasoningSlot {
    Formalization,
    VerificationGoal,
    VerificationResult,
    Decomposition,
    Conformance,
    CoSimulation,
    GeneratedTests,
}

impl ReasoningSlot {
    /// Every slot.
    pub const ALL: &'static [Self] = &[
        Self::Formalization,
        Self::VerificationGoal,
        Self::VerificationResult,
        Self::Decomposition,
        Self::Conformance,
        Self::CoSimulation,
        Self::GeneratedTests,
    ];

    /// Returns the member of an action that holds this payload in version 1.0.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Formalization => "formalization",
            Self::VerificationGoal => "vg_defined",
            Self::VerificationResult => "vg_result",
            Self::Decomposition => "decomposition",
            Self::Conformance => "conformance",
            Self::CoSimulation => "cosimulation",
            Self::GeneratedTests => "generated_tests",
        }
    }

    /// Returns the slot an artifact of this type fills.
    pub const fn of(artifact_type: ArtifactType) -> Option<Self> {
        Some(match artifact_type {
            ArtifactType::Formalization | ArtifactType::FormalModel => Self::Formalization,
            ArtifactType::VerificationGoal => Self::VerificationGoal,
            ArtifactType::VerificationResult => Self::VerificationResult,
            ArtifactType::StateSpaceAnalysisResult => Self::Decomposition,
            ArtifactType::ConformanceResult => Self::Conformance,
            ArtifactType::CoSimulationResult => Self::CoSimulation,
            ArtifactType::GeneratedTests => Self::GeneratedTests,
            _ => return None,
        })
    }
}

impl Trace {
    /// Returns the payload in `slot` of an action: from its last output that has one, else from the action.
    pub fn reasoning_payload<'a>(&'a self, action: &'a Action, slot: ReasoningSlot) -> Option<&'a Value> {
        let from_outputs = action.outputs().rev().find_map(|output| {
            let artifact = self.artifact_by_id(output)?;
            let fills = artifact.artifact_type().and_then(ReasoningSlot::of) == Some(slot);
            if fills { artifact.0.member("payload") } else { None }
        });
        from_outputs.or_else(|| action.member(slot.member()))
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn a_payload_is_found_on_the_artifact_and_on_the_action() {
        let trace = Trace::read(
            &parse(
                br#"{"actions": [
                    {"id": 1, "outputs": ["r"], "vg_result": {"status": "unknown"}},
                    {"id": 2, "vg_result": {"status": "sat"}}
                ], "artifacts": [
                    {"artifact_id": "r", "artifact_type": "VerificationResult", "payload": {"status": "proved"}}
                ]}"#,
            )
            .unwrap(),
        );
        let status = |action: &Action| {
            let payload = trace.reasoning_payload(action, ReasoningSlot::VerificationResult);
            payload.and_then(|payload| payload.get("status")).and_then(Value::as_str).map(str::to_owned)
        };
        let found: Vec<_> = trace.actions().iter().map(status).collect();
        assert_eq!(found, [Some("proved".to_owned()), Some("sat".to_owned())]);
    }
}
