//! Functions: names that are applied.

/// What applying a function gives.
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
    /// `inputs(a)`: what the action consumed.
    Inputs,
    /// `outputs(a)`: what the action produced.
    Outputs,
    /// `ancestors(x)`: everything the artifact, or what the action produced, was made from.
    Ancestors,
    /// `actions_before(a)`: the actions before this one.
    ActionsBefore,
    /// `target(a)`: what the action worked on.
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

    /// Returns what it gives.
    pub fn kind(self) -> Kind {
        match self {
            Self::Inputs | Self::Outputs | Self::Ancestors | Self::ActionsBefore => Kind::Set,
            Self::Target => Kind::Text,
            Self::Count => Kind::Number,
            _ => Kind::Truth,
        }
    }
}
