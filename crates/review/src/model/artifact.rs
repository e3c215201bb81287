//! Artifacts (§7) and reference artifacts (§11).

use hence_canon::read::Findings;
use hence_canon::{Object, Value};

use crate::vocabulary::{ArtifactType, ReferenceGoalKind};

use super::field::{ActionId, ArtifactId, Field, ReferenceArtifactId, Text, any_of};
use super::payload::{
    CoSimulationResultPayload, ConformanceResultPayload, FormalModelPayload, FormalizationPayload,
    GeneratedTestsPayload, ReproductionBundlePayload, StateSpaceAnalysisResultPayload,
    VerificationGoalPayload, VerificationResultPayload,
};
use super::record::{Definitions, Members, Reader, Writer, members, record};

members! {
    /// The members that every artifact has (§7.1). A role is any word; the specification names some.
    #[derive(Default)]
    ArtifactCommon {
        artifact_id: ArtifactId,
        artifact_role: Option<Text>,
        name: Option<Text>,
        format: Option<Text>,
        revision: Option<i64>,
        producer_action_id: Option<ActionId>,
        derived_from: Vec<ArtifactId>,
        supersedes: Option<ArtifactId>,
        content_ref: Option<Text>,
        summary: Option<Text>,
        metadata: Option<Object>,
    }
}

macro_rules! contents {
    (plain: $($plain:ident),+; typed: $($typed:ident($payload:ty)),+; open: $($open:ident),+ $(;)?) => {
        /// The kind of an artifact with the payload that belongs to it.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the variants are the constructors of the specification")]
        pub enum ArtifactContent {
            $($plain,)+
            $($typed($payload),)+
            $($open(Option<Value>),)+
        }

        impl ArtifactContent {
            /// Returns the kind.
            pub fn artifact_type(&self) -> ArtifactType {
                match self {
                    $(Self::$plain => ArtifactType::$plain,)+
                    $(Self::$typed(_) => ArtifactType::$typed,)+
                    $(Self::$open(_) => ArtifactType::$open,)+
                }
            }

            fn read(artifact_type: ArtifactType, reader: &mut Reader<'_>) -> Option<Self> {
                Some(match artifact_type {
                    $(ArtifactType::$plain => {
                        if reader.raw("payload").is_some() {
                            let message = format!("{artifact_type} carries no payload");
                            reader.refuse("payload", message);
                            return None;
                        }
                        Self::$plain
                    })+
                    $(ArtifactType::$typed => Self::$typed(reader.member("payload")?),)+
                    $(ArtifactType::$open => Self::$open(reader.member("payload")?),)+
                })
            }

            fn write(&self, writer: &mut Writer) {
                match self {
                    $(Self::$plain)|+ => {}
                    $(Self::$typed(payload) => writer.member("payload", payload),)+
                    $(Self::$open(payload) => writer.member("payload", payload),)+
                }
            }

            fn payload_schemas(definitions: &mut Definitions) -> Vec<Value> {
                vec![$(<$payload>::schema(definitions),)+]
            }

            #[cfg(test)]
            fn sample(source: &mut super::tests::Choices<'_>) -> Self {
                match ArtifactType::sample(source) {
                    $(ArtifactType::$plain => Self::$plain,)+
                    $(ArtifactType::$typed => Self::$typed(Field::sample(source)),)+
                    $(ArtifactType::$open => Self::$open(Field::sample(source)),)+
                }
            }
        }
    };
}

contents! {
    plain: UserInstruction, SourceCode, Documentation, SearchResults, AnalysisNote, Plan, Diff, UserApproval, Commit;
    typed:
        Formalization(FormalizationPayload),
        FormalModel(FormalModelPayload),
        VerificationGoal(VerificationGoalPayload),
        VerificationResult(VerificationResultPayload),
        StateSpaceAnalysisResult(StateSpaceAnalysisResultPayload),
        ConformanceResult(ConformanceResultPayload),
        CoSimulationResult(CoSimulationResultPayload),
        GeneratedTests(GeneratedTestsPayload),
        ReproductionBundle(ReproductionBundlePayload);
    open: CommandResult;
}

/// An artifact (§7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The members that every artifact has.
    pub common: ArtifactCommon,
    /// Its kind and payload.
    pub content: ArtifactContent,
    /// Members the specification does not know.
    pub extra: Object,
}

impl Field for Artifact {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let mut reader = Reader::new(value)?;
        let common = ArtifactCommon::read(&mut reader);
        let artifact_type = reader.member::<ArtifactType>("artifact_type");
        let content = artifact_type.and_then(|kind| ArtifactContent::read(kind, &mut reader));
        reader.finish(|extra| {
            let is_null = extra.get("payload").is_some_and(Value::is_null);
            let extra = if is_null { extra.without("payload") } else { extra };
            Some(Self { common: common?, content: content?, extra })
        })
    }

    fn encode(&self) -> Option<Value> {
        let mut writer = Writer::default();
        writer.member("artifact_id", &self.common.artifact_id);
        writer.member("artifact_type", &self.content.artifact_type());
        self.common.write(&mut writer);
        self.content.write(&mut writer);
        Some(writer.finish(&self.extra))
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.object("Artifact", |definitions, schema| {
            schema.member::<ArtifactType>(definitions, "artifact_type");
            ArtifactCommon::describe(definitions, schema);
            let open = Object::new().into();
            let payloads = ArtifactContent::payload_schemas(definitions).into_iter().chain([open]);
            schema.optional("payload", any_of(payloads));
        })
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        let common = ArtifactCommon::sample(source);
        Self { common, content: ArtifactContent::sample(source), extra: source.extra() }
    }
}

record! {
    /// An approved artifact that work is compared with (§11). Its type is any word; the specification names some.
    ReferenceArtifact {
        reference_artifact_id: ReferenceArtifactId,
        name: Text,
        description: Option<Text>,
        domain: Text,
        version: Option<Text>,
        source: Option<Text>,
        artifact_type: Text,
        format: Option<Text>,
        content_ref: Option<Text>,
        payload: Option<Value>,
        verification_goals: Vec<ReferenceGoal>,
    }
}

record! {
    /// A requirement of a reference artifact (§11.1).
    ReferenceGoal {
        vg_id: Text,
        description: Text,
        kind: ReferenceGoalKind,
        src: Text,
    }
}
