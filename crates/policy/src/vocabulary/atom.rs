//! Atoms: names that hold at a position or do not.

use hence_review::vocabulary::{
    ActionCategory, ActionType, ArtifactType, CoSimulationStatus, ConformanceStatus, VerificationStatus,
};

use crate::structural::Structural;

/// What a name stands for when it is used as a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atom {
    /// `action`: every position.
    Action,
    /// A category of actions.
    Category(ActionCategory),
    /// A type of actions in the trace format.
    ActionType(ActionType),
    /// A type of actions that the well-known policy packs add.
    PackType,
    /// A type of artifacts: the action makes one, or is of a type called the same.
    ArtifactType(ArtifactType),
    /// An artifact type that only tools write.
    ToolArtifactType,
    /// `completed`: the action ended well.
    Completed,
    /// `failed`: the action did not.
    Failed,
    /// `proved`, `refuted`, `sat`, `unknown`: what a verification found.
    Verification(VerificationStatus),
    /// `passed`, `partial`: what a conformance check found.
    Conformance(ConformanceStatus),
    /// `matched`, `mismatched`: what a co-simulation found.
    CoSimulation(CoSimulationStatus),
    /// `high_stakes_path`: the target lies on a path declared as such.
    HighStakesPath,
    /// `start_event`: the trace says how it began.
    StartEvent,
    /// `end_event`: the trace says how it ended.
    EndEvent,
    /// A named check of the whole trace.
    Structural(Structural),
    /// A CamelCase name no list knows: matched literally against the type of the action.
    ForeignType,
    /// Any other word: looked for in the texts of the action, which is a guess and reported as one.
    Custom,
}

impl Atom {
    /// Finds what `name` stands for.
    pub fn of(name: &str) -> Self {
        fixed(name)
            .or_else(|| ActionCategory::from_word(name).map(Self::Category))
            .or_else(|| ActionType::from_word(name).map(Self::ActionType))
            .or_else(|| PACK_TYPES.contains(&name).then_some(Self::PackType))
            .or_else(|| ArtifactType::from_word(name).map(Self::ArtifactType))
            .or_else(|| Structural::from_name(name).map(Self::Structural))
            .unwrap_or(if name.starts_with(|first: char| first.is_ascii_uppercase()) {
                Self::ForeignType
            } else {
                Self::Custom
            })
    }

    /// Returns whether the name is a type of actions or artifacts that may carry conditions: `Verify(proved)`.
    pub fn is_type(self) -> bool {
        matches!(self, Self::ActionType(_) | Self::PackType | Self::ArtifactType(_) | Self::ToolArtifactType)
    }
}

fn fixed(name: &str) -> Option<Atom> {
    Some(match name {
        "action" => Atom::Action,
        "completed" => Atom::Completed,
        "failed" => Atom::Failed,
        "proved" => Atom::Verification(VerificationStatus::Proved),
        "refuted" => Atom::Verification(VerificationStatus::Refuted),
        "sat" => Atom::Verification(VerificationStatus::Sat),
        "unknown" => Atom::Verification(VerificationStatus::Unknown),
        "passed" => Atom::Conformance(ConformanceStatus::Passed),
        "partial" => Atom::Conformance(ConformanceStatus::Partial),
        "matched" => Atom::CoSimulation(CoSimulationStatus::Matched),
        "mismatched" => Atom::CoSimulation(CoSimulationStatus::Mismatched),
        "high_stakes_path" => Atom::HighStakesPath,
        "start_event" => Atom::StartEvent,
        "end_event" => Atom::EndEvent,
        "TestResult" => Atom::ToolArtifactType,
        _ => return None,
    })
}

/// Action types of the well-known packs. `SourceCode` and `Plan` are artifact types too; as atoms they name
/// actions.
const PACK_TYPES: &[&str] = &[
    "GitPush",
    "Deploy",
    "ToolCall",
    "Retrieve",
    "Compute",
    "Draft",
    "Release",
    "Decision",
    "Output",
    "Incident",
    "Recommendation",
    "Distribution",
    "Plan",
    "SystemRequirement",
    "HLR",
    "LLR",
    "SourceCode",
    "Test",
    "Change",
    "ProblemReport",
    "DerivedRequirement",
    "CoverageAnalysis",
    "AccomplishmentSummary",
    "StaticAnalysis",
    "Deviation",
    "ComplianceSummary",
    "Directive",
    "Finding",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_both_an_action_and_an_artifact_type_names_actions() {
        assert_eq!(Atom::of("SourceCode"), Atom::PackType);
        assert_eq!(Atom::of("Diff"), Atom::ArtifactType(ArtifactType::Diff));
        assert_eq!(Atom::of("Decompose"), Atom::of("StateSpaceAnalysis"));
    }

    #[test]
    fn other_names_are_told_apart_by_their_first_letter() {
        assert_eq!(Atom::of("CertificationRun"), Atom::ForeignType);
        assert_eq!(Atom::of("certification_run"), Atom::Custom);
    }
}
