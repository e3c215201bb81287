//! Verdicts that did not pass, as declared gaps.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity, ResidualSeverity};

use crate::check::Report;
use crate::verdict::Verdict;

impl Report {
    /// Returns a residual for each policy that failed or could not be decided: source `policy_derived`, open, located
    /// at the first action that violates it, or at the policy. What had nothing to say leaves no gap.
    pub fn residuals(&self) -> Vec<Object> {
        self.verdicts.iter().filter_map(residual).collect()
    }

    /// Returns the trace with these verdicts as its evaluations and their gaps among its residuals; a gap of the same
    /// id is replaced, so that recording twice changes nothing.
    pub fn record_gaps_into(&self, trace: &Object) -> Object {
        let recorded = self.record_into(trace);
        let gaps = self.residuals();
        let id = |residual: &Value| residual.get("residual_id").cloned();
        let ours: Vec<Option<Value>> =
            self.verdicts.iter().map(|verdict| Some(Value::from(residual_id(verdict)))).collect();
        let kept = recorded.get("residuals").and_then(Value::as_array).unwrap_or(&[]).iter();
        let kept = kept.filter(|residual| !ours.contains(&id(residual))).cloned();
        let all: Value = kept.chain(gaps.into_iter().map(Value::from)).collect();
        recorded.with("residuals", all)
    }
}

fn residual_id(verdict: &Verdict) -> String {
    format!("policy-{}", verdict.policy_id)
}

fn residual(verdict: &Verdict) -> Option<Object> {
    let (word, check) = match verdict.status {
        EvaluationStatus::Failed => {
            ("is violated", "Mend what violates the policy, or have the violation accepted.")
        }
        EvaluationStatus::Unknown => {
            ("could not be decided", "Give the trace what the policy asks for, or mend the policy.")
        }
        EvaluationStatus::Passed | EvaluationStatus::NotApplicable => return None,
    };
    let severity = match verdict.severity {
        PolicySeverity::Error => ResidualSeverity::High,
        PolicySeverity::Warning => ResidualSeverity::Medium,
        PolicySeverity::Info => ResidualSeverity::Info,
    };
    let why = verdict.note().map(|note| format!(": {note}")).unwrap_or_default();
    let (target_type, target_id) = match verdict.violating.action_ids.first() {
        Some(action) => ("action", Value::from(*action)),
        None => ("policy", Value::from(verdict.policy_id.as_str())),
    };
    let target = Object::from_iter([("target_type", Value::from(target_type)), ("target_id", target_id)]);
    let related: Value = verdict.violating.artifact_ids.iter().cloned().collect();
    let residual = Object::from_iter([
        ("residual_id", Value::from(residual_id(verdict))),
        ("kind", "unverified".into()),
        ("statement", format!("The policy {} {word}{why}", verdict.policy_id).into()),
        ("severity", severity.into()),
        ("target", target.into()),
        ("suggested_check", check.into()),
        ("source", "policy_derived".into()),
        ("status", "open".into()),
    ]);
    let has_related = related.as_array().is_some_and(|ids| !ids.is_empty());
    Some(if has_related { residual.with("related_artifact_ids", related) } else { residual })
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;
    use hence_review::validate::validate;

    use super::*;
    use crate::policy::{Policy, PolicyId};
    use crate::{Options, check};

    fn policy(id: &str, formula: &str) -> Policy {
        Policy::from_formula(&PolicyId::new(id).unwrap(), formula)
    }

    #[test]
    fn only_what_did_not_pass_leaves_a_gap_and_recording_twice_changes_nothing() {
        let policies = [
            policy("failed", "G(GitCommit → P(RunTests))"),
            policy("passed", "F(GitCommit)"),
            policy("vacuous", "G(Deploy → P(Approve))"),
            policy("undecided", "G(GitCommit → Diff ∈ type)"),
        ];
        let trace = parse(
            br#"{"trace_id": "t", "actions": [{"id": 7, "type": "GitCommit"}], "artifacts": [],
            "residuals": [{"residual_id": "own", "kind": "assumption", "statement": "s"}]}"#,
        )
        .unwrap();
        let report = check(&trace, &policies, Options::default());
        let gaps: Vec<String> =
            report.residuals().iter().map(|gap| gap.get("residual_id").unwrap().to_string()).collect();
        assert_eq!(gaps, [r#""policy-failed""#, r#""policy-undecided""#]);
        let once = report.record_gaps_into(trace.as_object().unwrap());
        assert_eq!(once, report.record_gaps_into(&once));
        let listed = once.get("residuals").unwrap().as_array().unwrap().len();
        assert_eq!(listed, 3);
        let first = once.get("residuals").unwrap().at(1).unwrap();
        assert_eq!(first.get("target").unwrap().to_string(), r#"{"target_id":7,"target_type":"action"}"#);
        let specified: Value = policies
            .iter()
            .map(|policy| {
                let source = policy.source().with("policy_id", policy.id().as_str());
                Value::from(source.with("severity", "warning"))
            })
            .collect();
        let findings = validate(&once.with("policies", specified).into());
        let about: Vec<_> =
            findings.errors().filter(|found| found.pointer.to_string().starts_with("/residuals/1")).collect();
        assert!(about.is_empty(), "{about:?}");
    }
}
