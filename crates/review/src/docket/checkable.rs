//! Artifacts whose claim can be checked again, and how.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::lineage::Lineage;
use crate::reproduce::{Judgement, judge};
use crate::vocabulary::ArtifactType;
use crate::wire::Trace;

/// A claim a reviewer can check again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkable {
    /// The artifact.
    pub artifact_id: String,
    /// Its type as written.
    pub kind: String,
    /// What it is about.
    pub about: String,
    /// The action that made it.
    pub action_id: Option<i64>,
    /// The command that should give it again, if the action says so.
    pub command: Option<String>,
    /// Whether that command is safe to run, and why not.
    pub judgement: Option<Judgement>,
    /// The tool that made it, if the action says so.
    pub tool: Option<String>,
    /// What it should give.
    pub expected: Option<String>,
}

/// Finds the consequential claims of a trace: results that stand, not those that were replaced.
pub fn checkables(trace: &Trace, lineage: &Lineage) -> Vec<Checkable> {
    let replaced: BTreeSet<&str> =
        trace.artifacts().iter().filter_map(|artifact| artifact.supersedes()).collect();
    let is_result = |kind: Option<ArtifactType>| {
        matches!(
            kind,
            Some(
                ArtifactType::VerificationResult
                    | ArtifactType::CommandResult
                    | ArtifactType::StateSpaceAnalysisResult
                    | ArtifactType::ConformanceResult
            )
        )
    };
    let found = trace.artifacts().iter().filter(|artifact| is_result(artifact.artifact_type()));
    found
        .filter_map(|artifact| {
            let id = artifact.id().filter(|id| !replaced.contains(id))?;
            let maker = lineage.producer(id).and_then(|position| trace.action(position));
            let how = maker.and_then(|action| action.object("reproducibility"));
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let command = text(how.and_then(|how| how.get("procedure")?.get("command")));
            let expected = how.and_then(|how| how.get("expected_output")?.get("result_summary"));
            Some(Checkable {
                artifact_id: id.to_owned(),
                kind: artifact.type_word().to_owned(),
                about: artifact.about().to_owned(),
                action_id: maker.and_then(crate::wire::Action::id),
                judgement: command.as_deref().map(judge),
                command,
                tool: text(maker.and_then(|action| action.object("execution")?.get("tool"))),
                expected: text(expected)
                    .or_else(|| maker.and_then(|action| action.result_summary()).map(str::to_owned)),
            })
        })
        .collect()
}
