//! The closed word lists of the trace format.
//!
//! Each list is an enum; [`str::parse`] reads the exact wire word (and names that older versions used for the
//! same thing), [`as_str`](ActionCategory::as_str) writes the current one.

mod action;
mod action_type;
mod artifact;
mod governance;
mod word;

pub use action::{
    ActionCategory, ActivityType, Confidence, Determinism, EventType, EvidenceType, GatewayType,
    GovernanceType, MetaSource, MetaStatus, ReasoningType,
};
pub use action_type::{ActionType, ActionTypes, CUSTOM_TYPE_BYTES_MAX, CustomType, UnknownActionType};
pub use artifact::{
    ArtifactType, CoSimulationStatus, ConformanceStatus, EnvironmentKind, FormalizationStatus, ProcedureKind,
    PropertyStatus, ReferenceGoalKind, ReproducibilityStatus, ReproductionKind, SatModelType,
    VerificationGoalKind, VerificationStatus,
};
pub use governance::{
    AcceptanceKind, AcceptanceStatus, ChainStatus, CommentStatus, EvaluationStatus, GoalStatus, PolicyScope,
    PolicySeverity, Relationship, ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus,
    ReviewItemStatus, TargetType, Verdict,
};
pub use word::UnknownWord;
pub(crate) use word::{Word, words};
