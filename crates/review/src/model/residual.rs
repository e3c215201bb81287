//! Residuals (§13) and references to parts of a trace (§14.1).

use hence_canon::{Object, Value};

use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus, TargetType};

use super::field::{Defects, Field, Path, Text};
use super::id::{ActionId, ArtifactId, PolicyId, ReferenceArtifactId, ResidualId};
use super::record::{Reader, Writer, record};
use super::schema::{Definitions, object_schema};

record! {
    /// Something the trace does not establish (§13.1).
    Residual {
        residual_id: ResidualId,
        kind: ResidualKind,
        statement: Text,
        severity: Option<ResidualSeverity>,
        target: Option<Target>,
        related_artifact_ids: Vec<ArtifactId>,
        rationale: Option<Text>,
        suggested_check: Option<Text>,
        source: Option<ResidualSource>,
        status: Option<ResidualStatus>,
        introduced_by_action_id: Option<ActionId>,
        tags: Vec<Text>,
    }
}

/// A part of a trace, named by the id that kind of part has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the kinds of parts")]
pub enum TargetPart {
    Trace,
    Action(ActionId),
    Artifact(ArtifactId),
    Policy(PolicyId),
    /// The evaluation of this policy.
    PolicyEvaluation(PolicyId),
    ReferenceArtifact(ReferenceArtifactId),
}

impl TargetPart {
    /// Returns the kind of part.
    pub fn target_type(&self) -> TargetType {
        match self {
            Self::Trace => TargetType::Trace,
            Self::Action(_) => TargetType::Action,
            Self::Artifact(_) => TargetType::Artifact,
            Self::Policy(_) => TargetType::Policy,
            Self::PolicyEvaluation(_) => TargetType::PolicyEvaluation,
            Self::ReferenceArtifact(_) => TargetType::ReferenceArtifact,
        }
    }

    /// Returns the id of the part as it is written; the trace itself needs none.
    pub fn id(&self) -> Option<Text> {
        match self {
            Self::Trace => None,
            Self::Action(id) => Some(id.to_string().into()),
            Self::Artifact(id) => Some(id.as_str().into()),
            Self::Policy(id) | Self::PolicyEvaluation(id) => Some(id.as_str().into()),
            Self::ReferenceArtifact(id) => Some(id.as_str().into()),
        }
    }
}

/// A reference to a part of a trace (§14.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The part.
    pub part: TargetPart,
    /// Members the specification does not know.
    pub extra: Object,
}

impl From<TargetPart> for Target {
    fn from(part: TargetPart) -> Self {
        Self { part, extra: Object::new() }
    }
}

fn read_part(reader: &mut Reader<'_>) -> Option<TargetPart> {
    let target_type = reader.member::<TargetType>("target_type")?;
    if target_type == TargetType::Trace {
        // The id of the trace itself may be repeated here; it says nothing more.
        reader.raw("target_id");
        return Some(TargetPart::Trace);
    }
    let id = reader.member::<Text>("target_id")?;
    Some(match target_type {
        TargetType::Trace => TargetPart::Trace,
        TargetType::Action => {
            let Ok(number) = id.parse() else {
                let message = format!("an action is named by its number in decimal, found {id:?}");
                reader.defects.push(&reader.at.key("target_id"), message);
                return None;
            };
            TargetPart::Action(ActionId(number))
        }
        TargetType::Artifact => TargetPart::Artifact(ArtifactId::new(id)),
        TargetType::Policy => TargetPart::Policy(PolicyId::new(id)),
        TargetType::PolicyEvaluation => TargetPart::PolicyEvaluation(PolicyId::new(id)),
        TargetType::ReferenceArtifact => TargetPart::ReferenceArtifact(ReferenceArtifactId::new(id)),
    })
}

impl Field for Target {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        let mut reader = Reader::new(value, at, defects)?;
        let part = read_part(&mut reader);
        let extra = reader.rest();
        Some(Self { part: part?, extra })
    }

    fn encode(&self) -> Option<Value> {
        let mut writer = Writer::default();
        writer.member("target_type", &self.part.target_type());
        writer.member("target_id", &self.part.id());
        Some(writer.finish(&self.extra))
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.define("Target", |definitions| {
            let properties = vec![
                ("target_type".into(), TargetType::schema(definitions)),
                ("target_id".into(), Option::<Text>::schema(definitions)),
            ];
            object_schema(properties, vec!["target_type".into()])
        })
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        let part = match TargetType::sample(source) {
            TargetType::Trace => TargetPart::Trace,
            TargetType::Action => TargetPart::Action(Field::sample(source)),
            TargetType::Artifact => TargetPart::Artifact(Field::sample(source)),
            TargetType::Policy => TargetPart::Policy(Field::sample(source)),
            TargetType::PolicyEvaluation => TargetPart::PolicyEvaluation(Field::sample(source)),
            TargetType::ReferenceArtifact => TargetPart::ReferenceArtifact(Field::sample(source)),
        };
        Self { part, extra: source.extra() }
    }
}
