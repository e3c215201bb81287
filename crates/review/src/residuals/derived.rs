//! Gaps that a trace shows without declaring them (§13.4), their declaration, and the order of review.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::lineage::{Answers, StaleEvidence, stale_evidence};
use crate::model::{ActionId, ArtifactId, PolicyId, Residual, Target, TargetPart};
use crate::vocabulary::{
    ArtifactType, Confidence, EvaluationStatus, PolicySeverity, PropertyStatus, ResidualKind,
    ResidualSeverity, ResidualSource, ResidualStatus, VerificationStatus,
};
use crate::wire::{Artifact, Residual as WireResidual, Trace};

/// The part of a trace that a derived residual follows from.
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

/// A gap that follows from the trace and is not declared. It is always open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedResidual {
    /// The id: the same trace always gives the same ones.
    pub id: String,
    /// Its basis.
    pub basis: Basis,
    /// The gap in plain language.
    pub statement: String,
    /// The impact.
    pub severity: ResidualSeverity,
    /// The check that could close it.
    pub suggested_check: String,
    /// The part it is about.
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

/// An error of declaring a gap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// The document is not a trace.
    #[error("a trace is an object, found {0}")]
    NotATrace(hence_canon::Kind),
    /// Another gap has the id.
    #[error("a residual has the id {0:?} already")]
    Taken(String),
    /// It has no statement.
    #[error("a gap must say something")]
    Silent,
    /// It names a part that does not exist.
    #[error("the trace has no {kind} {id:?}")]
    NoPart {
        /// The kind of part.
        kind: &'static str,
        /// The id it should have.
        id: String,
    },
}

/// Declares a gap. By default it is declared by the agent, and open.
///
/// # Errors
/// [`DeclareError`] when the id is taken, the statement is empty, or a named part does not exist.
pub fn declare_residual(trace: &Value, residual: &Residual) -> Result<Value, DeclareError> {
    let Value::Object(object) = trace else { return Err(DeclareError::NotATrace(trace.kind())) };
    let read = Trace::read(trace);
    let id = residual.residual_id.as_str();
    if read.residuals().any(|known| known.id() == Some(id)) {
        return Err(DeclareError::Taken(id.to_owned()));
    }
    if residual.statement.trim().is_empty() || id.trim().is_empty() {
        return Err(DeclareError::Silent);
    }
    let related = residual.related_artifact_ids.iter().cloned().map(TargetPart::Artifact);
    let introduced = residual.introduced_by_action_id.into_iter().map(TargetPart::Action);
    let target = residual.target.iter().map(|target| target.part.clone());
    for part in related.chain(introduced).chain(target) {
        if !read.has_part(&part) {
            let id = part.id().map(|id| id.to_string()).unwrap_or_default();
            return Err(DeclareError::NoPart { kind: part.target_type().as_str(), id });
        }
    }
    let stated = Residual {
        source: residual.source.or(Some(ResidualSource::AgentDeclared)),
        status: residual.status.or(Some(ResidualStatus::Open)),
        ..residual.clone()
    };
    Ok(appended(object, [Value::from(&stated)]))
}

/// Declares every derived gap of the trace with its source. Returns the new trace and the ids of those gaps.
///
/// # Errors
/// [`DeclareError::NotATrace`].
pub fn declare_derived(trace: &Value) -> Result<(Value, Vec<String>), DeclareError> {
    let Value::Object(object) = trace else { return Err(DeclareError::NotATrace(trace.kind())) };
    let read = Trace::read(trace);
    let mut known: BTreeSet<String> =
        read.residuals().filter_map(|residual| residual.id().map(str::to_owned)).collect();
    let mut found = Vec::new();
    let mut ids = Vec::new();
    for derived in derive_residuals(&read) {
        if !known.insert(derived.id.clone()) {
            continue;
        }
        let Value::Object(members) = Value::from(&derived) else { continue };
        // Stale evidence is a computed kind; declared it is something not verified. Declared, it is no longer derived.
        let kind = ResidualKind::from_word(derived.basis.kind()).unwrap_or(ResidualKind::Unverified);
        found.push(Value::from(members.without("derived").with("kind", kind)));
        ids.push(derived.id);
    }
    Ok((appended(object, found), ids))
}

fn appended(trace: &Object, more: impl IntoIterator<Item = Value>) -> Value {
    let written = trace.get("residuals").and_then(Value::as_array).unwrap_or_default();
    let residuals: Value = written.iter().cloned().chain(more).collect();
    trace.with("residuals", residuals).into()
}

/// Returns the residuals of a trace, open ones first, then the most severe first, then as written.
///
/// A residual without a severity comes after all that have one: it has not been triaged.
pub fn by_severity(trace: &Trace) -> Vec<WireResidual> {
    let mut residuals: Vec<WireResidual> = trace.residuals().collect();
    residuals.sort_by_key(|residual| {
        (residual.status() != Some(ResidualStatus::Open), Reverse(residual.severity()))
    });
    residuals
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use crate::model::{ActionId, ResidualId};
    use crate::validate::validate;

    use super::*;

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

    fn trace() -> Value {
        parse(
            br#"{"trace_id": "t", "spec_version": "1.6", "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"},
                "actions": [{"id": 1, "category": "reasoning", "type": "Verify", "label": "l", "rationale": "r", "execution": {"tool": "x"}, "outputs": ["u"]}],
                "artifacts": [{"artifact_id": "u", "artifact_type": "StateSpaceAnalysisResult", "producer_action_id": 1,
                    "payload": {"target_artifact_id": "u", "analysis_kind": "k", "complete": false}}],
                "policies": [{"policy_id": "p", "severity": "error", "formula": "F(EditFile)"}],
                "policy_evaluations": [{"policy_id": "p", "status": "failed"}]}"#,
        )
        .unwrap()
    }

    fn gap(id: &str, statement: &str) -> Residual {
        Residual {
            residual_id: ResidualId::new(id),
            kind: ResidualKind::Assumption,
            statement: statement.into(),
            severity: None,
            target: None,
            related_artifact_ids: Vec::new(),
            rationale: None,
            suggested_check: None,
            source: None,
            status: None,
            introduced_by_action_id: None,
            tags: Vec::new(),
            extra: Object::new(),
        }
    }

    #[test]
    fn a_declared_gap_is_the_agents_and_open() {
        let declared = declare_residual(&trace(), &gap("r", "clocks agree")).unwrap();
        let found = declared.get("residuals").unwrap().at(0).unwrap();
        assert_eq!(found.get("source"), Some(&"agent_declared".into()));
        assert_eq!(found.get("status"), Some(&"open".into()));
        assert_eq!(declare_residual(&declared, &gap("r", "x")), Err(DeclareError::Taken("r".into())));
        assert_eq!(declare_residual(&trace(), &gap("r", " ")), Err(DeclareError::Silent));
        let nowhere = Residual { introduced_by_action_id: Some(ActionId(9)), ..gap("r", "x") };
        let refused = DeclareError::NoPart { kind: "action", id: "9".into() };
        assert_eq!(declare_residual(&trace(), &nowhere), Err(refused));
        assert!(declare_residual(&Value::Null, &gap("r", "x")).is_err());
    }

    #[test]
    fn derived_gaps_are_declared_once_with_their_source() {
        let (declared, ids) = declare_derived(&trace()).unwrap();
        assert_eq!(ids, ["incomplete-u", "policy-p"]);
        let source = |place: usize| {
            declared.get("residuals").unwrap().at(place).unwrap().get("source").cloned().unwrap()
        };
        assert_eq!((source(0), source(1)), ("tool_inferred".into(), "policy_derived".into()));
        let before = validate(&trace()).errors().count();
        assert_eq!(validate(&declared).errors().count(), before);
        assert_eq!(declare_derived(&declared).unwrap().1, Vec::<String>::new());
    }

    #[test]
    fn open_and_severe_residuals_come_first() {
        let value = parse(
            br#"{"residuals": [{"residual_id": "a"}, {"residual_id": "b", "severity": "low"},
                {"residual_id": "c", "severity": "critical", "status": "waived"},
                {"residual_id": "d", "severity": "high"}]}"#,
        )
        .unwrap();
        let ids: Vec<String> =
            by_severity(&Trace::read(&value)).iter().map(|found| found.id().unwrap().to_owned()).collect();
        assert_eq!(ids, ["d", "b", "a", "c"]);
    }
}
