//! Declaring gaps: what an agent knows, and what the trace shows.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::model::{Residual, TargetPart};
use crate::vocabulary::{ResidualKind, ResidualSource, ResidualStatus};
use crate::wire::Trace;

use super::derived::derive_residuals;

/// Why a gap cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// The document is no trace.
    #[error("a trace is an object, found {0}")]
    NotATrace(hence_canon::Kind),
    /// Another gap has the id.
    #[error("a residual has the id {0:?} already")]
    Taken(String),
    /// It says nothing.
    #[error("a gap must say something")]
    Silent,
    /// It names a part that is not there.
    #[error("the trace has no {kind} {id:?}")]
    NoPart {
        /// The kind of part.
        kind: &'static str,
        /// The id it should have.
        id: String,
    },
}

/// Declares a gap. Who does not say otherwise declares it as the agent, and open.
///
/// # Errors
/// [`DeclareError`] when the id is taken, nothing is said, or a part it names is not there.
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

/// Declares every gap the trace shows and does not declare, with who surfaced it; says which those are.
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

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::model::{ActionId, ResidualId};
    use crate::validate::validate;

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
    fn what_the_trace_shows_is_declared_once_with_who_surfaced_it() {
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
}
