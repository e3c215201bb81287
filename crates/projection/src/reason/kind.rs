//! What a step is to a reviewer: the type of its action, of its output, and what it reads.

use hence_review::vocabulary::{ActionType, ActivityType, ArtifactType, GovernanceType};

/// Something a step reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// The problem.
    Problem,
    /// The newest output under a key.
    Newest(&'static str),
    /// The newest output under every key there is.
    Everything,
}

/// A step as a reviewer meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepKind {
    pub(crate) action: ActionType,
    pub(crate) artifact: ArtifactType,
    pub(crate) role: Option<&'static str>,
    pub(crate) label: &'static str,
    pub(crate) rationale: &'static str,
    pub(crate) reads: &'static [Read],
}

const fn activity(word: ActivityType) -> ActionType {
    ActionType::Activity(word)
}

/// Returns what is known of a built-in step.
///
/// Verify is no `Verify` of the format: it checks that tasks and evidence are there, and proves nothing about a
/// formal model. It is a test that was run, with its result.
pub(crate) fn built_in(step: &str) -> Option<StepKind> {
    let note = ArtifactType::AnalysisNote;
    let (action, artifact, role, label, rationale, reads): (_, _, _, _, _, &[Read]) = match step {
        "Normalize" => (
            activity(ActivityType::ReadDocumentation),
            note,
            None,
            "Normalize the prompt",
            "Every later step works on one spelling of the prompt, so needless white space is taken out first.",
            &[Read::Problem],
        ),
        "Decompose" => (
            activity(ActivityType::DecomposeTask),
            ArtifactType::Plan,
            None,
            "Decompose the problem into tasks",
            "The goals of the problem are the tasks of the run; without goals the prompt itself is the only task.",
            &[Read::Problem, Read::Newest("normalized")],
        ),
        "AcquireEvidence" => (
            activity(ActivityType::ReadDocumentation),
            ArtifactType::SearchResults,
            None,
            "Acquire evidence",
            "What is concluded must rest on the evidence the problem brings, taken in the batches its settings ask for.",
            // A batch begins where the one before it ended, so all batches are its ancestors.
            &[Read::Problem, Read::Newest("evidence")],
        ),
        "Compute" => (
            activity(ActivityType::EstimateImpact),
            note,
            None,
            "Compute over the tasks",
            "The synthesis states how much was processed, so the tasks are counted before it.",
            &[Read::Newest("decomposition")],
        ),
        "Verify" => (
            activity(ActivityType::RunTests),
            ArtifactType::CommandResult,
            Some("reasoning_result"),
            "Verify tasks and evidence",
            "A conclusion without tasks, or without the evidence its settings require, must not pass unnoticed.",
            &[Read::Newest("decomposition"), Read::Newest("evidence")],
        ),
        "Synthesize" => (
            activity(ActivityType::Explain),
            note,
            Some("reasoning_result"),
            "Synthesize the answer",
            "The run ends in one answer that says what was done, so that a reader need not collect it from the steps.",
            &[Read::Newest("computation")],
        ),
        "Audit" => (
            ActionType::Governance(GovernanceType::RecordAudit),
            note,
            Some("audit_evidence"),
            "Record the audit",
            "Whoever reads the record later finds in one place what the run consisted of and how verification ended.",
            &[Read::Problem, Read::Everything],
        ),
        _ => return None,
    };
    Some(StepKind { action, artifact, role, label, rationale, reads })
}

/// Returns what is known of a built-in step that a capability carries out: it may have read anything.
pub(crate) fn bound(kind: StepKind) -> StepKind {
    StepKind { reads: &[Read::Problem, Read::Everything], ..kind }
}

/// Returns what can be said of a step nobody described: it ran, and this is its result. It may have read anything.
pub(crate) fn unknown() -> StepKind {
    StepKind {
        action: activity(ActivityType::RunCommand),
        artifact: ArtifactType::CommandResult,
        role: None,
        label: "",
        rationale: "",
        reads: &[Read::Problem, Read::Everything],
    }
}
