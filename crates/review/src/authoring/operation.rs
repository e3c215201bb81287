//! Operations on a trace that is being written, as values.

use hence_canon::read::{Finding, Findings};
use hence_canon::time::Instant;
use hence_canon::{Object, Value};

use crate::model::record::{Reader, Writer, one};
use crate::model::{
    Action, ActionId, Artifact, DecodeError, Observation, Outcome, ReferenceArtifact, Residual, ResidualId,
    Text, TraceLink,
};
use crate::vocabulary::{ResidualStatus, words};

words! {
    /// The kinds of operations.
    OperationKind, "operation" {
        Init = "init",
        Act = "act",
        Artifact = "artifact",
        Reference = "reference",
        Observe = "observe",
        Link = "link",
        Residual = "residual",
        Status = "status",
        Complete = "complete",
    }
}

/// One operation, at the time that its caller states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The time, which never goes back.
    pub at: Instant,
    /// The change of the trace.
    pub change: Change,
}

/// The change that an operation makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Names the agent and its model. It comes first, and once.
    Init {
        /// The agent.
        assistant: Text,
        /// Its model.
        model: Text,
    },
    /// Adds an action with the artifacts that it made.
    Act {
        /// The action; its number is the next one.
        action: Box<Action>,
        /// The artifacts, which are exactly its outputs.
        artifacts: Vec<Artifact>,
        /// The title of the unit of intent that the action belongs to.
        unit: Option<Text>,
    },
    /// Adds an artifact that an earlier action made.
    Artifact(Box<Artifact>),
    /// Adds an approved artifact that work is compared with.
    Reference(Box<ReferenceArtifact>),
    /// Adds an observation to an earlier action.
    Observe {
        /// The action.
        action: ActionId,
        /// The observation.
        observation: Box<Observation>,
    },
    /// Links the trace to another one.
    Link(Box<TraceLink>),
    /// Declares a gap.
    Residual(Box<Residual>),
    /// Changes the status of a gap.
    Status {
        /// The gap.
        residual: ResidualId,
        /// Its new status.
        status: ResidualStatus,
        /// The action that closed it.
        action: Option<ActionId>,
        /// The reason.
        note: Option<Text>,
    },
    /// Ends the trace.
    Complete(Box<Outcome>),
}

impl Change {
    /// Returns the kind of operation.
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Init { .. } => OperationKind::Init,
            Self::Act { .. } => OperationKind::Act,
            Self::Artifact(_) => OperationKind::Artifact,
            Self::Reference(_) => OperationKind::Reference,
            Self::Observe { .. } => OperationKind::Observe,
            Self::Link(_) => OperationKind::Link,
            Self::Residual(_) => OperationKind::Residual,
            Self::Status { .. } => OperationKind::Status,
            Self::Complete(_) => OperationKind::Complete,
        }
    }

    fn read(kind: OperationKind, reader: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            OperationKind::Init => {
                let (assistant, model) = (reader.member("assistant"), reader.member("model"));
                Self::Init { assistant: assistant?, model: model? }
            }
            OperationKind::Act => {
                let (action, artifacts) = (reader.member("action"), reader.member("artifacts"));
                let unit = reader.member("unit");
                Self::Act { action: Box::new(action?), artifacts: artifacts?, unit: unit? }
            }
            OperationKind::Artifact => Self::Artifact(Box::new(reader.member("artifact")?)),
            OperationKind::Reference => Self::Reference(Box::new(reader.member("reference_artifact")?)),
            OperationKind::Observe => {
                let (action, observation) = (reader.member("action_id"), reader.member("observation"));
                Self::Observe { action: action?, observation: Box::new(observation?) }
            }
            OperationKind::Link => Self::Link(Box::new(reader.member("trace_link")?)),
            OperationKind::Residual => Self::Residual(Box::new(reader.member("residual")?)),
            OperationKind::Status => {
                let (residual, status) = (reader.member("residual_id"), reader.member("status"));
                let (action, note) = (reader.member("action_id"), reader.member("note"));
                Self::Status { residual: residual?, status: status?, action: action?, note: note? }
            }
            OperationKind::Complete => Self::Complete(Box::new(reader.member("outcome")?)),
        })
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Init { assistant, model } => {
                writer.member("assistant", assistant);
                writer.member("model", model);
            }
            Self::Act { action, artifacts, unit } => {
                writer.member("action", &**action);
                writer.member("artifacts", artifacts);
                writer.member("unit", unit);
            }
            Self::Artifact(artifact) => writer.member("artifact", &**artifact),
            Self::Reference(reference) => writer.member("reference_artifact", &**reference),
            Self::Observe { action, observation } => {
                writer.member("action_id", action);
                writer.member("observation", &**observation);
            }
            Self::Link(link) => writer.member("trace_link", &**link),
            Self::Residual(residual) => writer.member("residual", &**residual),
            Self::Status { residual, status, action, note } => {
                writer.member("residual_id", residual);
                writer.member("status", status);
                writer.member("action_id", action);
                writer.member("note", note);
            }
            Self::Complete(outcome) => writer.member("outcome", &**outcome),
        }
    }
}

impl Operation {
    /// Reads an operation. A member that the operation does not have is refused: nothing is recorded that no trace shows.
    ///
    /// # Errors
    /// [`DecodeError`] with every place that does not fit.
    pub fn from_value(value: &Value) -> Result<Self, DecodeError> {
        read(value).map_err(|findings| DecodeError { findings })
    }

    /// Returns the operation as a value.
    pub fn to_value(&self) -> Value {
        let mut writer = Writer::default();
        writer.member("op", &self.change.kind());
        writer.member("at", &Text::from(self.at.to_string()));
        self.change.write(&mut writer);
        writer.finish(&Object::new())
    }
}

fn read(value: &Value) -> Result<Operation, Findings> {
    let mut reader = Reader::new(value)?;
    let (kind, at) = (reader.member::<OperationKind>("op"), reader.member::<Text>("at"));
    let at = at.and_then(|text| match text.parse::<Instant>() {
        Ok(at) => Some(at),
        Err(error) => {
            reader.refuse("at", error.to_string());
            None
        }
    });
    let change = kind.and_then(|kind| Change::read(kind, &mut reader));
    let mut others = None;
    let read = reader.finish(|extra| {
        others = extra.keys().next().map(|key| format!("the operation has no member {key:?}"));
        Some(Operation { at: at?, change: change? })
    })?;
    match others {
        None => Ok(read),
        Some(message) => Err(one(Finding::other(message))),
    }
}
