//! The canonical model (§5–§15, §18): types that only a well-formed trace can have.
//!
//! Projections and importers build these types and write them once with [`encode`]; [`decode`] checks a document
//! strictly. The types exclude a gateway without gateway data, an artifact with the payload of another kind and a
//! trace that begins with its end. References between parts are ids; [`crate::validate`] checks that they exist.
//!
//! Fields have the names and the order of the specification. Members it does not know are stored in `extra` and
//! written back.

mod action;
mod artifact;
mod codec;
pub(crate) mod field;
mod goal;
mod payload;
pub(crate) mod record;
mod residual;
mod review;
mod review_event;
mod trace;
mod upgrade;

pub use action::{
    Action, ActionCommon, ActionPayload, ActionReproducibility, ActionStep, DecisionOption,
    EnvironmentComponent, Evidence, ExecutionEnvironment, ExecutionMetadata, ExpectedOutput, GatewayPayload,
    MetaAction, Observation, ReproductionProcedure, TraceReproducibility,
};
pub use artifact::{Artifact, ArtifactCommon, ArtifactContent, ReferenceArtifact, ReferenceGoal};
pub(crate) use codec::decode_field;
pub use codec::{DecodeError, decode, decode_artifact, decode_policy, encode, json_schema};
pub use field::{
    AcceptanceId, ActionId, ArtifactId, CommentId, EnvironmentId, GoalId, LinkId, MetaActionId, Number,
    PolicyId, ReferenceArtifactId, ResidualId, ReviewItemId, Text, TraceId,
};
pub use goal::{
    AcceptanceBinding, AcceptanceItem, ChangeBinding, CriteriaReview, GapBinding, Goal, ObligationBinding,
    PropertyBinding,
};
pub use payload::{
    CoSimulationResultPayload, ConformanceResultPayload, FormalModelPayload, FormalizationPayload,
    GeneratedTest, GeneratedTestsPayload, PropertyItem, ProvedResult, RefutedResult, Region,
    ReproductionBundlePayload, SatModel, SatResult, StateSpaceAnalysisResultPayload, UnknownResult,
    VerificationGoalPayload, VerificationOutcome, VerificationResultPayload,
};
pub use residual::{Residual, Target, TargetPart};
pub use review::{Comment, Policy, PolicyEvaluation, ReviewItem, TraceLineage, TraceLink};
pub use review_event::{
    CheckEvent, CheckOutcome, CommentEvent, DecisionEvent, GapEvent, ItemEvent, ReviewEvent, SubjectEvent,
    SubjectType,
};
pub use trace::{Metrics, Outcome, OutcomeType, Trace, TraceMembers, Trigger, TriggerType};
pub use upgrade::upgrade;

#[cfg(test)]
pub(crate) mod tests;
