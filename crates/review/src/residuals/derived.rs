//! Gaps a trace shows without saying so (§13.4).

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::lineage::{Answers, StaleEvidence, stale_evidence};
use crate::model::{ActionId, ArtifactId, PolicyId, Target, TargetPart};
use crate::vocabulary::{
    ArtifactType, Confidence, EvaluationStatus, PolicySeverity, PropertyStatus, ResidualSeverity,
    ResidualSource, VerificationStatus,
};
use crate::wire::{Artifact, Trace};

/// What in the trace a derived residual follows from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Basis {
    /// A result about something that changed later.
    StaleEvidence,
    /// A property that nothing decided.
    PendingProperty,
    /// A verification without an answer.
    UnknownResult,
    /// An analysis that did not cover its subject.
    IncompleteAnalysis,
    /// An observation of low confidence.
    LowConfidence,
    /// A policy that failed or could not be decided.
    FailedPolicy,
    /// A clause of an intent that no acceptance item covers.
    UncoveredClause,
}

impl Basis {
    /// Returns the kind of residual as it is written.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::StaleEvidence => "stale_evidence",
            Self::LowConfidence => "assumption",
            Self::PendingProperty
            | Self::UnknownResult
            | Self::IncompleteAnalysis
            | Self::FailedPolicy
            | Self::UncoveredClause => "unverified",
        }
    }

    /// Returns who surfaced it.
    pub const fn source(self) -> ResidualSource {
        match self {
            Self::FailedPolicy => ResidualSource::PolicyDerived,
            _ => ResidualSource::ToolInferred,
        }
    }
}

/// A gap nobody declared. It is computed, never authored, and always open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedResidual {
    /// The id: the same trace always gives the same ones.
    pub id: String,
    /// What it follows from.
    pub basis: Basis,
    /// The gap in plain language.
    pub statement: String,
    /// The impact.
    pub severity: ResidualSeverity,
    /// How it could be closed.
    pub suggested_check: String,
    /// Where it bites.
    pub target: TargetPart,
}

/// As a residual of the trace, marked as derived.
impl From<&DerivedResidual> for Value {
    fn from(residual: &DerivedResidual) -> Self {
        let target = Value::from(&Target::from(residual.target.clone()));
        Object::from_iter([
            ("residual_id", Value::from(residual.id.as_str())),
            ("kind", residual.basis.kind().into()),
            ("statement", residual.statement.as_str().into()),
            ("severity", residual.severity.into()),
            ("target", target),
            ("suggested_check", residual.suggested_check.as_str().into()),
            ("source", residual.basis.source().into()),
            ("status", "open".into()),
            ("derived", true.into()),
        ])
        .into()
    }
}

/// Derives the residuals of stale evidence alone.
pub fn stale_residuals(trace: &Trace) -> Vec<DerivedResidual> {
    stale_evidence(trace).into_iter().map(stale).collect()
}

/// Derives every residual a trace shows: stale evidence, undecided properties, results without an answer,
/// incomplete analyses, observations of low confidence, policies that did not pass.
///
/// One that the trace declares under the same id is declared, not derived.
pub fn derive_residuals(trace: &Trace) -> Vec<DerivedResidual> {
    let mut found = stale_residuals(trace);
    let answers = Answers::of(trace);
    for artifact in trace.artifacts() {
        found.extend(pending(&answers, artifact));
        found.extend(unknown(artifact));
        found.extend(incomplete(artifact));
    }
    found.extend(low_confidence(trace));
    found.extend(failed_policies(trace));
    let declared: BTreeSet<String> =
        trace.residuals().filter_map(|residual| residual.id().map(str::to_owned)).collect();
    found.retain(|residual| !declared.contains(&residual.id));
    found
}

fn of_artifact(
    prefix: &str,
    basis: Basis,
    artifact: &Artifact,
    statement: String,
    check: &str,
) -> DerivedResidual {
    let id = artifact.id().unwrap_or("");
    DerivedResidual {
        id: format!("{prefix}-{id}"),
        basis,
        statement,
        severity: ResidualSeverity::Medium,
        suggested_check: check.to_owned(),
        target: TargetPart::Artifact(ArtifactId::new(id)),
    }
}

fn stale(evidence: StaleEvidence) -> DerivedResidual {
    let StaleEvidence { result_id, description, symbol, verified_at, changed_at } = evidence;
    DerivedResidual {
        id: format!("stale-{result_id}"),
        basis: Basis::StaleEvidence,
        statement: format!(
            "The result for \"{description}\" predates a change: action {verified_at} established it and action \
             {changed_at} changed {symbol} afterwards."
        ),
        severity: ResidualSeverity::Medium,
        suggested_check: format!("Verify the property again for the current {symbol}."),
        target: TargetPart::Artifact(ArtifactId::new(result_id)),
    }
}

/// A goal with undecided properties that no result answers.
fn pending(answers: &Answers<'_>, goal: &Artifact) -> Option<DerivedResidual> {
    if !goal.is(ArtifactType::VerificationGoal) || answers.results(goal).next().is_some() {
        return None;
    }
    let properties = goal.payload()?.get("properties").and_then(Value::as_array).unwrap_or(&[]);
    let is_pending = |property: &&Value| {
        let status = property.get("status").and_then(Value::as_str);
        status.is_none_or(|word| PropertyStatus::from_word(word) != Some(PropertyStatus::Proved))
    };
    let count = properties.iter().filter(is_pending).count();
    let about = goal.payload_text("description").unwrap_or_else(|| goal.about());
    let statement = match count {
        0 if !properties.is_empty() => return None,
        0 => format!("No result answers the goal \"{about}\"."),
        count => format!("No result answers the goal \"{about}\"; {count} of its properties are undecided."),
    };
    Some(of_artifact(
        "pending",
        Basis::PendingProperty,
        goal,
        statement,
        "Verify the goal and record the result.",
    ))
}

fn unknown(result: &Artifact) -> Option<DerivedResidual> {
    let status = result.payload_text("status").and_then(VerificationStatus::from_word);
    if !result.is(ArtifactType::VerificationResult) || status != Some(VerificationStatus::Unknown) {
        return None;
    }
    let statement = format!("The verification \"{}\" ended without an answer.", result.about());
    let check = "Verify again with another method or tighter bounds.";
    Some(of_artifact("unknown", Basis::UnknownResult, result, statement, check))
}

fn incomplete(analysis: &Artifact) -> Option<DerivedResidual> {
    let complete = analysis.payload()?.get("complete").and_then(Value::as_bool);
    if !analysis.is(ArtifactType::StateSpaceAnalysisResult) || complete != Some(false) {
        return None;
    }
    let statement = format!("The analysis \"{}\" does not cover the whole state space.", analysis.about());
    let check = "Complete the analysis, or declare what lies outside it.";
    Some(of_artifact("incomplete", Basis::IncompleteAnalysis, analysis, statement, check))
}

fn low_confidence(trace: &Trace) -> impl Iterator<Item = DerivedResidual> {
    trace.actions().iter().flat_map(|action| {
        let low = action.entries("observations").filter(|found| {
            found.text("confidence").and_then(Confidence::from_word) == Some(Confidence::Low)
        });
        let id = action.id().map_or_else(|| format!("#{}", action.index()), |id| id.to_string());
        // An action without an id cannot be pointed at; the trace as a whole can.
        let target = action.id().map_or(TargetPart::Trace, |id| TargetPart::Action(ActionId(id)));
        low.map(move |observation| DerivedResidual {
            id: format!("low-confidence-{id}-{}", observation.index()),
            basis: Basis::LowConfidence,
            statement: format!(
                "Action {id} relies on an observation of low confidence: \"{}\".",
                observation.text("statement").unwrap_or("")
            ),
            severity: ResidualSeverity::Low,
            suggested_check: "Confirm the observation or drop what rests on it.".to_owned(),
            target: target.clone(),
        })
        .collect::<Vec<_>>()
    })
}

fn failed_policies(trace: &Trace) -> Vec<DerivedResidual> {
    let severity_of = |policy: &str| {
        let found = trace.policies().find(|found| found.id() == Some(policy));
        match found.as_ref().and_then(|found| found.text("severity")).and_then(PolicySeverity::from_word) {
            Some(PolicySeverity::Error) => ResidualSeverity::High,
            Some(PolicySeverity::Info) => ResidualSeverity::Info,
            Some(PolicySeverity::Warning) | None => ResidualSeverity::Medium,
        }
    };
    let mut found = Vec::new();
    for evaluation in trace.policy_evaluations() {
        let Some(policy) = evaluation.policy_id() else { continue };
        let verdict = match evaluation.status() {
            Some(EvaluationStatus::Failed) => "failed",
            Some(EvaluationStatus::Unknown) => "could not be decided",
            _ => continue,
        };
        found.push(DerivedResidual {
            id: format!("policy-{policy}"),
            basis: Basis::FailedPolicy,
            statement: format!("The policy {policy} {verdict}."),
            severity: severity_of(policy),
            suggested_check: "Mend what violates the policy, or have the violation accepted.".to_owned(),
            target: TargetPart::Policy(PolicyId::new(policy)),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::validate::validate;

    #[test]
    fn a_trace_shows_its_undeclared_gaps() {
        let value = parse(
            br#"{"actions": [{"id": 4, "observations": [
                    {"statement": "probably unused", "confidence": "low"}, {"statement": "seen", "confidence": "high"}]}],
                "artifacts": [
                    {"artifact_id": "g", "artifact_type": "VerificationGoal",
                     "payload": {"description": "d", "properties": [{"status": "pending"}, {"status": "proved"}]}},
                    {"artifact_id": "u", "artifact_type": "VerificationResult", "payload": {"status": "unknown"}},
                    {"artifact_id": "s", "artifact_type": "Decomposition", "payload": {"complete": false}},
                    {"artifact_id": "ok", "artifact_type": "Decomposition", "payload": {"complete": true}}],
                "policies": [{"policy_id": "p", "severity": "error"}],
                "policy_evaluations": [{"policy_id": "p", "status": "failed"}, {"policy_id": "q", "status": "passed"}]}"#,
        )
        .unwrap();
        let found = derive_residuals(&Trace::read(&value));
        let ids: Vec<(&str, ResidualSeverity)> =
            found.iter().map(|found| (found.id.as_str(), found.severity)).collect();
        assert_eq!(
            ids,
            [
                ("pending-g", ResidualSeverity::Medium),
                ("unknown-u", ResidualSeverity::Medium),
                ("incomplete-s", ResidualSeverity::Medium),
                ("low-confidence-4-0", ResidualSeverity::Low),
                ("policy-p", ResidualSeverity::High),
            ]
        );
    }

    #[test]
    fn derived_residuals_are_valid_residuals() {
        let Value::Object(trace) = parse(
            br#"{"trace_id": "t", "actions": [], "artifacts": [
                {"artifact_id": "u", "artifact_type": "VerificationResult", "payload": {"status": "unknown"}}]}"#,
        )
        .unwrap() else {
            panic!("an object")
        };
        let derived: Value =
            derive_residuals(&Trace::read(&trace.clone().into())).iter().map(Value::from).collect();
        let report = validate(&trace.with("residuals", derived).into());
        let about: Vec<_> =
            report.errors().filter(|found| found.pointer.to_string().starts_with("/residuals")).collect();
        assert!(about.is_empty(), "{about:?}");
    }
}
