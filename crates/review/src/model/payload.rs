//! Payloads of artifacts (§10).

use hence_canon::read::{Finding, Findings};
use hence_canon::{JsonPointer, Object, Value};

use crate::vocabulary::{
    CoSimulationStatus, ConformanceStatus, FormalizationStatus, PropertyStatus, SatModelType,
    VerificationGoalKind, VerificationStatus,
};

use super::field::{ActionId, ArtifactId, EnvironmentId, Field, ReferenceArtifactId, Text};
use super::record::{Definitions, ObjectSchema, Reader, one, record};

record! {
    /// Source code and its formal counterpart (§10.1).
    FormalizationPayload {
        status: FormalizationStatus,
        src_lang: Text,
        src_code: Text,
        formal_code: Text,
        model_language: Option<Text>,
        symbols: Vec<Text>,
    }
}

record! {
    /// A model that can be reasoned about (§10.2).
    FormalModelPayload {
        model_language: Text,
        formal_code: Text,
        symbols: Vec<Text>,
        scope: Option<Text>,
    }
}

record! {
    /// One property of a goal or a proof (§10.3).
    PropertyItem {
        name: Text,
        status: PropertyStatus,
        src: Text,
        note: Option<Text>,
    }
}

record! {
    /// A property to verify (§10.3).
    VerificationGoalPayload {
        goal_id: i64,
        goal_revision: Option<i64>,
        kind: VerificationGoalKind,
        description: Text,
        src: Text,
        target_artifact_id: ArtifactId,
        target_symbol: Option<Text>,
        properties: Vec<PropertyItem>,
    }
}

record! {
    /// A proof (§10.4).
    ProvedResult {
        proof_pp: Text,
        properties: Vec<PropertyItem>,
    }
}

record! {
    /// A refutation (§10.4).
    RefutedResult {
        counterexample: Text,
    }
}

record! {
    /// A model that satisfies the goal (§10.4).
    SatResult {
        model: SatModel,
    }
}

record! {
    /// A model a solver found (§10.4).
    SatModel {
        m_type: SatModelType,
        src: Text,
    }
}

record! {
    /// No answer (§10.4).
    UnknownResult {
        note: Option<Text>,
    }
}

/// The result of a verification, tagged with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are those of the specification")]
pub enum VerificationOutcome {
    Proved(ProvedResult),
    Refuted(RefutedResult),
    Sat(SatResult),
    Unknown(UnknownResult),
}

impl VerificationOutcome {
    /// Returns the status.
    pub fn status(&self) -> VerificationStatus {
        match self {
            Self::Proved(_) => VerificationStatus::Proved,
            Self::Refuted(_) => VerificationStatus::Refuted,
            Self::Sat(_) => VerificationStatus::Sat,
            Self::Unknown(_) => VerificationStatus::Unknown,
        }
    }
}

/// An outcome is an object with one member, named by its tag.
impl Field for VerificationOutcome {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let mut tagged = value.as_object().into_iter().flat_map(|object| object.iter());
        let (Some((tag, content)), None) = (tagged.next(), tagged.next()) else {
            return Err(one(Finding::other("expected an object with one member, named by the status")));
        };
        let outcome = match VerificationStatus::from_word(tag) {
            Some(VerificationStatus::Proved) => Field::decode(content).map(Self::Proved),
            Some(VerificationStatus::Refuted) => Field::decode(content).map(Self::Refuted),
            Some(VerificationStatus::Sat) => Field::decode(content).map(Self::Sat),
            Some(VerificationStatus::Unknown) => Field::decode(content).map(Self::Unknown),
            None => Err(one(Finding::other(format!("{tag:?} is no verification status")))),
        };
        outcome.map_err(|findings| {
            let (place, mut moved) = (JsonPointer::root().child(&**tag), Findings::default());
            moved.extend(findings.into_vec().into_iter().map(|finding| finding.under(&place)));
            moved
        })
    }

    fn encode(&self) -> Option<Value> {
        let content = match self {
            Self::Proved(content) => content.encode(),
            Self::Refuted(content) => content.encode(),
            Self::Sat(content) => content.encode(),
            Self::Unknown(content) => content.encode(),
        };
        Some(Object::from_iter([(self.status().as_str(), content?)]).into())
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let variants = [
            ("proved", ProvedResult::schema(definitions)),
            ("refuted", RefutedResult::schema(definitions)),
            ("sat", SatResult::schema(definitions)),
            ("unknown", UnknownResult::schema(definitions)),
        ];
        let variants = variants.map(|(tag, schema)| {
            let mut tagged = ObjectSchema::default();
            tagged.required(tag, schema);
            tagged.build()
        });
        Object::from_iter([("oneOf", variants.into_iter().collect::<Value>())]).into()
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        match source.below(4) {
            0 => Self::Proved(Field::sample(source)),
            1 => Self::Refuted(Field::sample(source)),
            2 => Self::Sat(Field::sample(source)),
            _ => Self::Unknown(Field::sample(source)),
        }
    }
}

record! {
    /// The answer to a goal (§10.4). Its status is the tag of its result.
    VerificationResultPayload {
        goal_id: i64,
        goal_artifact_id: ArtifactId,
        status: VerificationStatus,
        engine: Option<Text>,
        completed_at: Option<Text>,
        result: VerificationOutcome,
    } check VerificationResultPayload::check_status
}

impl VerificationResultPayload {
    fn check_status(&self, reader: &mut Reader<'_>) {
        let (tag, status) = (self.result.status(), self.status);
        if status != tag {
            reader.refuse("status", format!("the result is tagged {tag}, found status {status}"));
        }
    }
}

record! {
    /// One part of a state space (§10.5).
    Region {
        constraints: Vec<Text>,
        invariant: Option<Text>,
        model: Option<Value>,
        model_eval: Option<Text>,
    }
}

record! {
    /// The result of an analysis of a state space (§10.5).
    StateSpaceAnalysisResultPayload {
        target_artifact_id: ArtifactId,
        target_symbol: Option<Text>,
        analysis_kind: Text,
        analysis_revision: Option<i64>,
        description: Option<Text>,
        complete: Option<bool>,
        regions: Vec<Region>,
        coverage_summary: Option<Text>,
        notes: Option<Text>,
    }
}

record! {
    /// The conformance of an artifact to its reference (§10.6).
    ConformanceResultPayload {
        reference_artifact_id: ReferenceArtifactId,
        target_artifact_id: ArtifactId,
        status: ConformanceStatus,
        engine: Option<Text>,
        findings: Vec<Text>,
        note: Option<Text>,
    }
}

record! {
    /// The agreement of two executions (§10.7).
    CoSimulationResultPayload {
        target_artifact_id: ArtifactId,
        input_artifact_ids: Vec<ArtifactId>,
        status: CoSimulationStatus,
        engine: Option<Text>,
        replayed_steps: Option<i64>,
        divergence_points: Vec<Value>,
        summary: Option<Text>,
        observations: Vec<Text>,
    }
}

record! {
    /// One generated test (§10.8).
    GeneratedTest {
        name: Text,
        region_index: Option<i64>,
        constraints: Vec<Text>,
        inputs: Option<Value>,
        expected: Option<Value>,
        code: Text,
    }
}

record! {
    /// Tests made from an analysis (§10.8).
    GeneratedTestsPayload {
        function: Text,
        language: Text,
        source_analysis_artifact_id: ArtifactId,
        tests: Vec<GeneratedTest>,
    }
}

record! {
    /// The actions, artifacts and environments that reproduce a trace elsewhere (§10.10).
    ReproductionBundlePayload {
        entry_action_ids: Vec<ActionId>,
        artifact_ids: Vec<ArtifactId>,
        environment_ids: Vec<EnvironmentId>,
        notes: Option<Text>,
    }
}
