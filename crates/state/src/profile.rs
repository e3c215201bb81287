//! The two profiles: the documents as written, and the public engine as it is.
//!
//! One engine runs both. Whatever differs is a switch here, named after the rule; nothing else may ask for the name.

use std::fmt;
use std::str::FromStr;

/// Which rules a run follows. Chosen when the run is created and named in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The name in the header.
    pub name: ProfileName,
    /// How values of the problem are typed.
    pub typing: Typing,
    /// What the header carries.
    pub header: HeaderRule,
    /// What time does between mutations.
    pub clock: ClockRule,
    /// What a repeated step does to its artifact.
    pub artifacts: ArtifactRule,
    /// Which results count.
    pub step_index: StepIndexRule,
    /// How evidence enters the state.
    pub evidence: EvidenceRule,
    /// Where completion is recorded.
    pub completion: CompletionRule,
    /// Where the failure of an exhausted loop is recorded.
    pub loop_limit: LoopLimitRule,
    /// Whether a loop decides after a failed step.
    pub loop_failure: LoopFailureRule,
    /// What happens to outputs over the inline limit.
    pub large_values: LargeValueRule,
}

/// The name of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileName {
    /// The documents.
    Strict,
    /// The public Python engine, byte for byte.
    Compat,
}

/// How values of the problem are typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Typing {
    /// A boolean is a boolean, a time exists, a version is SemVer.
    Strict,
    /// `"yes"` is a boolean, `"7"` an integer, month 99 a month.
    Lax,
}

/// What the header carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderRule {
    /// `index`, `profile` and `clock`.
    Marked,
    /// Only what the public engine writes.
    Bare,
}

/// What time does between mutations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockRule {
    /// It moves, so that `updated_at` changes on every mutation.
    Moving,
    /// It stands still.
    Frozen,
}

/// What a repeated step does to its artifact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArtifactRule {
    /// The first output stays; later ones are appended to a list.
    AppendOnly,
    /// The last output replaces the one before.
    Overwrite,
}

/// Which results advance the step index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepIndexRule {
    /// Every result.
    EveryResult,
    /// Successful ones.
    Successes,
}

/// How evidence enters the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvidenceRule {
    /// As a list of objects, a batch per iteration.
    Batches,
    /// As one object that holds list and counters.
    Whole,
}

/// Where completion is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionRule {
    /// In a last record, so that the completed state is hashed.
    Recorded,
    /// Nowhere.
    Unrecorded,
}

/// Where the failure of an exhausted loop is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopLimitRule {
    /// In the control record's own state.
    InControl,
    /// In the state after the last step.
    InStep,
}

/// Whether a loop decides after its last step failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopFailureRule {
    /// The run ends with the failed step.
    EndsRun,
    /// A decision is recorded all the same.
    StillDecides,
}

/// What happens to outputs over the inline limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LargeValueRule {
    /// They are kept by their digest and referenced.
    Referenced,
    /// They stay in the record.
    Inline,
}

impl Profile {
    /// The documents as written. The default.
    pub const STRICT: Self = Self {
        name: ProfileName::Strict,
        typing: Typing::Strict,
        header: HeaderRule::Marked,
        clock: ClockRule::Moving,
        artifacts: ArtifactRule::AppendOnly,
        step_index: StepIndexRule::EveryResult,
        evidence: EvidenceRule::Batches,
        completion: CompletionRule::Recorded,
        loop_limit: LoopLimitRule::InControl,
        loop_failure: LoopFailureRule::EndsRun,
        large_values: LargeValueRule::Referenced,
    };

    /// The public Python engine, byte for byte.
    pub const COMPAT: Self = Self {
        name: ProfileName::Compat,
        typing: Typing::Lax,
        header: HeaderRule::Bare,
        clock: ClockRule::Frozen,
        artifacts: ArtifactRule::Overwrite,
        step_index: StepIndexRule::Successes,
        evidence: EvidenceRule::Whole,
        completion: CompletionRule::Unrecorded,
        loop_limit: LoopLimitRule::InStep,
        loop_failure: LoopFailureRule::StillDecides,
        large_values: LargeValueRule::Inline,
    };

    /// Returns the profile of that name.
    pub const fn named(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::STRICT,
            ProfileName::Compat => Self::COMPAT,
        }
    }
}

impl ProfileName {
    /// Returns the word used in headers and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Compat => "compat",
        }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A word that names no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected profile `strict` or `compat`, found {found:?}")]
pub struct UnknownProfile {
    /// The word.
    pub found: String,
}

impl FromStr for ProfileName {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        [Self::Strict, Self::Compat]
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| UnknownProfile { found: text.to_owned() })
    }
}
