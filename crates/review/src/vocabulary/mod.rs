//! The closed word lists of the trace format.
//!
//! Each list is an enum; [`str::parse`] reads the exact wire word (and names that older versions used for the
//! same thing), [`as_str`](ActionCategory::as_str) writes the current one.

mod action;
mod artifact;
mod governance;
mod reasoning;
mod residual;
mod word;

pub use action::{
    ActionCategory, ActionType, ActivityType, Confidence, Determinism, EventType, EvidenceType, GatewayType,
    GovernanceType, MetaSource, MetaStatus, ReasoningType,
};
pub use artifact::{ArtifactType, EnvironmentKind, ProcedureKind, ReproducibilityStatus, ReproductionKind};
pub use governance::{
    AcceptanceKind, AcceptanceStatus, ChainStatus, CommentStatus, EvaluationStatus, GoalStatus, PolicyScope,
    PolicySeverity, Relationship, ReviewItemStatus, TargetType, Verdict,
};
pub use reasoning::{
    CoSimulationStatus, ConformanceStatus, FormalizationStatus, PropertyStatus, ReferenceGoalKind,
    SatModelType, VerificationGoalKind, VerificationStatus,
};
pub use residual::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus};
pub use word::UnknownWord;
pub(crate) use word::{Word, words};
