//! The canonical model (§5–§15, §18): what a well-formed trace *is*.
//!
//! Documents become canonical values by [`decode`] and documents again by [`encode`]; past that border nothing
//! is re-checked. The types leave out what cannot be: a result whose tag contradicts its status, a gateway
//! without gateway data, an artifact with the payload of another kind, a trace that begins with its end.
//! References between parts are ids; whether they lead somewhere is said by [`crate::validate`].
//!
//! Fields have the names and the order of the specification. Members it does not know are kept in `extra` and
//! written back.

mod action;
mod artifact;
mod codec;
pub(crate) mod field;
mod goal;
mod id;
mod payload;
pub(crate) mod record;
mod reproduction;
mod residual;
mod review;
mod review_event;
pub(crate) mod schema;
mod trace;
mod upgrade;
mod upgrade_names;

pub use action::{
    Action, ActionCommon, ActionPayload, ActionStep, DecisionOption, Evidence, ExecutionMetadata,
    GatewayPayload, MetaAction, Observation,
};
pub use artifact::{Artifact, ArtifactCommon, ArtifactContent, ReferenceArtifact, ReferenceGoal};
pub use codec::{DecodeError, Defect, decode, decode_artifact, decode_policy, encode};
pub(crate) use field::{Defects, Field, Path};
pub use field::{Number, Text};
pub use goal::{
    AcceptanceBinding, AcceptanceItem, ChangeBinding, CriteriaReview, GapBinding, Goal, ObligationBinding,
    PropertyBinding,
};
pub use id::{
    AcceptanceId, ActionId, ArtifactId, CommentId, EnvironmentId, GoalId, LinkId, MetaActionId, PolicyId,
    ReferenceArtifactId, ResidualId, ReviewItemId, TraceId,
};
pub use payload::{
    CoSimulationResultPayload, ConformanceResultPayload, FormalModelPayload, FormalizationPayload,
    GeneratedTest, GeneratedTestsPayload, PropertyItem, ProvedResult, RefutedResult, Region,
    ReproductionBundlePayload, SatModel, SatResult, StateSpaceAnalysisResultPayload, UnknownResult,
    VerificationGoalPayload, VerificationOutcome, VerificationResultPayload,
};
pub use reproduction::{
    ActionReproducibility, EnvironmentComponent, ExecutionEnvironment, ExpectedOutput, ReproductionProcedure,
    TraceReproducibility,
};
pub use residual::{Residual, Target, TargetPart};
pub use review::{Comment, Policy, PolicyEvaluation, ReviewItem, TraceLineage, TraceLink};
pub use review_event::{
    CheckEvent, CheckOutcome, CommentEvent, DecisionEvent, GapEvent, ItemEvent, ReviewEvent, SubjectEvent,
    SubjectType,
};
pub use schema::json_schema;
pub(crate) use schema::{Definitions, words_schema};
pub use trace::{Metrics, Outcome, OutcomeType, Trace, TraceMembers, Trigger, TriggerType};
pub use upgrade::upgrade;

#[cfg(test)]
pub(crate) mod tests;
