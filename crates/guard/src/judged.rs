//! What a violated policy says, as a record keeps it.

use hence_canon::{Object, Value};
use hence_policy::monitor::Violation;
use hence_policy::verdict::Verdict;
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};
use hence_state::{POLICY_VIOLATION, StepError};

/// Returns what blocks a step, if the policy is one that blocks.
pub(crate) fn block(violation: &Violation) -> Option<StepError> {
    (violation.severity == PolicySeverity::Error).then(|| blocking(&told(violation)))
}

/// Returns an error that blocks.
pub(crate) fn blocking(message: &str) -> StepError {
    StepError::new(POLICY_VIOLATION, message)
}

fn told(violation: &Violation) -> String {
    format!("policy {}: {}", violation.policy_id, violation.explanation)
}

/// Returns what is recorded beside a result that violates a policy.
pub(crate) fn remark(violation: &Violation) -> Value {
    Object::from_iter([
        ("policy_id", Value::from(violation.policy_id.as_str())),
        ("severity", violation.severity.as_str().into()),
        ("status", EvaluationStatus::Failed.as_str().into()),
        ("note", violation.explanation.to_string().into()),
    ])
    .into()
}

/// Returns what blocks the end of a run: a policy that failed, or one nobody can decide. Neither may pass for kept.
pub(crate) fn block_end(verdict: &Verdict) -> Option<StepError> {
    let word = match verdict.status {
        EvaluationStatus::Failed => "failed",
        EvaluationStatus::Unknown => "cannot be decided",
        EvaluationStatus::Passed | EvaluationStatus::NotApplicable => return None,
    };
    let why = verdict.note().unwrap_or_else(|| word.to_owned());
    (verdict.severity == PolicySeverity::Error)
        .then(|| blocking(&format!("policy {}: {why}", verdict.policy_id)))
}
