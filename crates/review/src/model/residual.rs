//! Residuals (§13) and references to parts of a trace (§14.1).

use hence_canon::Object;

use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus, TargetType};

#[cfg(test)]
use super::field::Field;
use super::field::{ActionId, ArtifactId, PolicyId, ReferenceArtifactId, ResidualId, Text};
use super::record::{Definitions, Members, ObjectSchema, Reader, Writer, record};

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

impl Members for TargetPart {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let target_type = reader.member::<TargetType>("target_type")?;
        if target_type == TargetType::Trace {
            // The id of the trace itself may be repeated here; it adds nothing.
            reader.raw("target_id");
            return Some(Self::Trace);
        }
        let id = reader.member::<Text>("target_id")?;
        Some(match target_type {
            TargetType::Trace => Self::Trace,
            TargetType::Action => {
                let Ok(number) = id.parse() else {
                    let message = format!("an action is named by its number in decimal, found {id:?}");
                    reader.refuse("target_id", message);
                    return None;
                };
                Self::Action(ActionId(number))
            }
            TargetType::Artifact => Self::Artifact(ArtifactId::new(id)),
            TargetType::Policy => Self::Policy(PolicyId::new(id)),
            TargetType::PolicyEvaluation => Self::PolicyEvaluation(PolicyId::new(id)),
            TargetType::ReferenceArtifact => Self::ReferenceArtifact(ReferenceArtifactId::new(id)),
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.member("target_type", &self.target_type());
        writer.member("target_id", &self.id());
    }

    fn describe(definitions: &mut Definitions, schema: &mut ObjectSchema) {
        schema.member::<TargetType>(definitions, "target_type");
        schema.member::<Option<Text>>(definitions, "target_id");
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        match TargetType::sample(source) {
            TargetType::Trace => Self::Trace,
            TargetType::Action => Self::Action(Field::sample(source)),
            TargetType::Artifact => Self::Artifact(Field::sample(source)),
            TargetType::Policy => Self::Policy(Field::sample(source)),
            TargetType::PolicyEvaluation => Self::PolicyEvaluation(Field::sample(source)),
            TargetType::ReferenceArtifact => Self::ReferenceArtifact(Field::sample(source)),
        }
    }
}

record! {
    /// A reference to a part of a trace (§14.1).
    Target [part: TargetPart] {}
}

impl From<TargetPart> for Target {
    fn from(part: TargetPart) -> Self {
        Self { part, extra: Object::new() }
    }
}
