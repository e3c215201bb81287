//! The profiles: `strict` follows the documents, `compat` follows the public Python engine.
//!
//! `strict-2` is `strict` with steps of `reason` that work a problem out; runs of problems are made with it. Runs of skills
//! and variables, and journals of problems made before it, are `strict`.
//!
//! One engine runs all. Every difference is a rule in [`Profile`]; no other code may decide by the profile's name.

use std::fmt;
use std::str::FromStr;

/// The rules a run follows, chosen when the run is created and named in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The name in the header.
    pub name: ProfileName,
    /// The typing of values of the problem.
    pub typing: Typing,
    /// The members of the header.
    pub header: HeaderRule,
    /// The movement of time between mutations.
    pub clock: ClockRule,
    /// The effect of a repeated step on its artifact.
    pub artifacts: ArtifactRule,
    /// The results that advance the step index.
    pub step_index: StepIndexRule,
    /// The form of evidence in the state.
    pub evidence: EvidenceRule,
    /// The record of completion.
    pub completion: CompletionRule,
    /// The record that carries the failure of an exhausted loop.
    pub loop_limit: LoopLimitRule,
    /// The rule for a loop whose last step failed.
    pub loop_failure: LoopFailureRule,
    /// The treatment of outputs over the inline limit.
    pub large_values: LargeValueRule,
    /// The work of the built-in steps of `reason`.
    pub steps: StepsRule,
}

/// The name of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileName {
    /// The documents.
    Strict,
    /// The documents, with steps that work a problem out.
    Strict2,
    /// The public Python engine, byte for byte.
    Compat,
}

/// The typing of values of the problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Typing {
    /// A boolean is a boolean, a time exists, a version is SemVer.
    Strict,
    /// `"yes"` is a boolean, `"7"` an integer, month 99 a month.
    Lax,
}

/// The members of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderRule {
    /// `index`, `profile` and `clock`.
    Marked,
    /// Only the members that the public engine writes.
    Bare,
}

/// The movement of time between mutations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockRule {
    /// Time moves, so that `updated_at` changes on every mutation.
    Moving,
    /// Time stands still.
    Frozen,
}

/// The effect of a repeated step on its artifact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArtifactRule {
    /// The first output stays; later ones are appended to a list.
    AppendOnly,
    /// The last output replaces the one before.
    Overwrite,
}

/// The results that advance the step index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepIndexRule {
    /// Every result.
    EveryResult,
    /// Successful ones.
    Successes,
}

/// The form of evidence in the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvidenceRule {
    /// As a list of objects, a batch per iteration.
    Batches,
    /// As one object that holds list and counters.
    Whole,
}

/// The record of completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionRule {
    /// In a last record, so that the completed state is hashed.
    Recorded,
    /// Nowhere.
    Unrecorded,
}

/// The record that carries the failure of an exhausted loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopLimitRule {
    /// In the control record's own state.
    InControl,
    /// In the state after the last step.
    InStep,
}

/// The rule for a loop whose last step failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopFailureRule {
    /// The run ends with the failed step.
    EndsRun,
    /// A decision is recorded all the same.
    StillDecides,
}

/// The treatment of outputs over the inline limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LargeValueRule {
    /// They are stored as blobs and referenced by their digest.
    Referenced,
    /// They are part of the record.
    Inline,
}

/// The work of the built-in steps of `reason`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepsRule {
    /// They count tasks and evidence.
    Counted,
    /// They work tasks out by their methods, and cite the evidence.
    Worked,
}

impl Profile {
    /// The documents as written, with steps of `reason` that only count. Runs of skills and variables have this profile.
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
        steps: StepsRule::Counted,
    };

    /// The documents as written, with steps of `reason` that work a problem out. The default for problems.
    pub const STRICT_2: Self = Self { name: ProfileName::Strict2, steps: StepsRule::Worked, ..Self::STRICT };

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
        steps: StepsRule::Counted,
    };

    /// Returns the profile of that name.
    pub const fn named(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::STRICT,
            ProfileName::Strict2 => Self::STRICT_2,
            ProfileName::Compat => Self::COMPAT,
        }
    }
}

impl ProfileName {
    /// Returns the word used in headers and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Strict2 => "strict-2",
            Self::Compat => "compat",
        }
    }

    /// Returns whether journals of this profile follow the documents.
    pub const fn is_strict(self) -> bool {
        matches!(self, Self::Strict | Self::Strict2)
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
        [Self::Strict, Self::Strict2, Self::Compat]
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| UnknownProfile { found: text.to_owned() })
    }
}
