//! The meaning of the names in a formula: atoms, functions, lists of a trace, fields of an action.

use hence_review::vocabulary::{
    ActionCategory, ActionType, ArtifactType, CoSimulationStatus, ConformanceStatus, VerificationStatus,
};

use crate::named_check::NamedCheck;

/// The meaning of a name used as a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atom {
    /// `action`: every position.
    Action,
    /// A category of actions.
    Category(ActionCategory),
    /// A type of actions: of the trace format or of the policy packs.
    ActionType(ActionType),
    /// A type of artifacts: the action makes one, or is of a type called the same.
    ArtifactType(ArtifactType),
    /// An artifact type that only tools write.
    ToolArtifactType,
    /// `completed`: the action ended well.
    Completed,
    /// `failed`: the action ended badly.
    Failed,
    /// `proved`, `refuted`, `sat`, `unknown`: the result of a verification.
    Verification(VerificationStatus),
    /// `passed`, `partial`: the result of a conformance check.
    Conformance(ConformanceStatus),
    /// `matched`, `mismatched`: the result of a co-simulation.
    CoSimulation(CoSimulationStatus),
    /// `high_stakes_path`: the target is on a path declared as high-stakes.
    HighStakesPath,
    /// `start_event`: the trace has a trigger.
    StartEvent,
    /// `end_event`: the trace has an outcome.
    EndEvent,
    /// A named check of the whole trace.
    NamedCheck(NamedCheck),
    /// An unknown CamelCase name: compared literally with the type of the action.
    ForeignType,
    /// Any other word: searched for in the texts of the action, which is reported as a guess.
    Custom,
}

impl Atom {
    /// Returns the meaning of `name`.
    pub fn of(name: &str) -> Self {
        fixed(name)
            .or_else(|| ActionCategory::from_word(name).map(Self::Category))
            .or_else(|| ActionType::from_word(name).map(Self::ActionType))
            .or_else(|| ArtifactType::from_word(name).map(Self::ArtifactType))
            .or_else(|| NamedCheck::from_name(name).map(Self::NamedCheck))
            .unwrap_or(if name.starts_with(|first: char| first.is_ascii_uppercase()) {
                Self::ForeignType
            } else {
                Self::Custom
            })
    }

    /// Returns whether the name is a type of actions or artifacts that may carry conditions: `Verify(proved)`.
    pub fn is_type(self) -> bool {
        matches!(self, Self::ActionType(_) | Self::ArtifactType(_) | Self::ToolArtifactType)
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
        // An approval is an artifact first; the atom holds of actions of that type too.
        "UserApproval" => Atom::ArtifactType(ArtifactType::UserApproval),
        _ => return None,
    })
}

/// The kind of value a function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A set of actions or artifacts.
    Set,
    /// A text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Truth,
}

/// A function of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// `inputs(a)`: the artifacts the action consumed.
    Inputs,
    /// `outputs(a)`: the artifacts the action produced.
    Outputs,
    /// `ancestors(x)`: everything the artifact, or the outputs of the action, were made from.
    Ancestors,
    /// `actions_before(a)`: the actions before this one.
    ActionsBefore,
    /// `target(a)`: the thing the action worked on.
    Target,
    /// `Count(set)`: how many elements.
    Count,
    /// `ref_model(x)`: the action, or a policy of the trace, names this reference.
    RefModel,
    /// `formal_model_artifact(x)`
    FormalModelArtifact,
    /// `approved_reference_artifact(x)`
    ApprovedReferenceArtifact,
    /// `reasoning_action(a)`
    ReasoningAction,
    /// `verification_action(a)`
    VerificationAction,
    /// `state_space_analysis_action(a)`
    StateSpaceAnalysisAction,
    /// `state_space_analysis_result(x)`
    StateSpaceAnalysisResult,
    /// `ancestor_of(x, y)`: y was made from x, directly or not. `upstream_of` means the same.
    AncestorOf,
    /// `derived_from(x, y)`: x names y as an immediate input.
    DerivedFrom,
    /// `policy_failed(p)`: the trace records that the policy failed.
    PolicyFailed,
}

impl Function {
    const ALL: [(&'static str, Self); 17] = [
        ("inputs", Self::Inputs),
        ("outputs", Self::Outputs),
        ("ancestors", Self::Ancestors),
        ("actions_before", Self::ActionsBefore),
        ("target", Self::Target),
        ("Count", Self::Count),
        ("ref_model", Self::RefModel),
        ("formal_model_artifact", Self::FormalModelArtifact),
        ("approved_reference_artifact", Self::ApprovedReferenceArtifact),
        ("reasoning_action", Self::ReasoningAction),
        ("verification_action", Self::VerificationAction),
        ("state_space_analysis_action", Self::StateSpaceAnalysisAction),
        ("state_space_analysis_result", Self::StateSpaceAnalysisResult),
        ("ancestor_of", Self::AncestorOf),
        ("upstream_of", Self::AncestorOf),
        ("derived_from", Self::DerivedFrom),
        ("policy_failed", Self::PolicyFailed),
    ];

    /// Returns the function called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// Returns how many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            Self::AncestorOf | Self::DerivedFrom => 2,
            _ => 1,
        }
    }

    /// Returns the kind of its result.
    pub fn kind(self) -> Kind {
        match self {
            Self::Inputs | Self::Outputs | Self::Ancestors | Self::ActionsBefore => Kind::Set,
            Self::Target => Kind::Text,
            Self::Count => Kind::Number,
            _ => Kind::Truth,
        }
    }
}

/// The lists every trace may have. After `∈`, any other name is a list too if the trace has that key.
#[rustfmt::skip]
const TRACE_LISTS: &[&str] = &[
    "actions", "artifacts", "comments", "execution_environments", "files_modified", "goals",
    "high_stakes_paths", "meta_actions", "policies", "policy_evaluations", "reference_artifacts",
    "reference_models", "residuals", "review_items", "telemetry", "trace_links",
];

/// Returns whether every trace may have a list of that name.
pub(crate) fn is_trace_list(name: &str) -> bool {
    TRACE_LISTS.contains(&name)
}

/// Fields of an action that a formula can use without a variable before them.
#[rustfmt::skip]
pub(crate) const ACTION_FIELDS: &[&str] = &[
    "agent", "category", "decision_basis", "derived_from", "detail", "evidence", "execution", "id", "inputs",
    "label", "meta_action_id", "observations", "options", "outputs", "rationale", "reproducibility",
    "request", "result", "result_summary", "supporting_inputs", "tags", "target_artifact_id", "timestamp",
    "type",
];

/// The fields that are lists. A bare field is compared as text, so these always compare as empty.
pub(crate) const ACTION_LIST_FIELDS: &[&str] =
    &["evidence", "inputs", "observations", "options", "outputs", "supporting_inputs", "tags"];

#[cfg(test)]
mod tests {
    use hence_review::vocabulary::ActivityType;

    use super::*;

    #[test]
    fn a_name_that_is_both_an_action_and_an_artifact_type_names_actions() {
        assert_eq!(Atom::of("SourceCode"), Atom::ActionType(ActivityType::SourceCode.into()));
        assert_eq!(Atom::of("UserApproval"), Atom::ArtifactType(ArtifactType::UserApproval));
        assert_eq!(Atom::of("Diff"), Atom::ArtifactType(ArtifactType::Diff));
        assert_eq!(Atom::of("Decompose"), Atom::of("StateSpaceAnalysis"));
    }

    #[test]
    fn unknown_names_are_distinguished_by_their_first_letter() {
        assert_eq!(Atom::of("CertificationRun"), Atom::ForeignType);
        assert_eq!(Atom::of("certification_run"), Atom::Custom);
    }
}
