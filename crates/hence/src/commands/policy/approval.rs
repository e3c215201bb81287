//! The policies that a review must satisfy to be approved.

use hence_canon::{Digest, Object, Value};
use hence_policy::policy::{Policy, built_in};
use hence_policy::{Options, check};
use hence_review::review_log::{Disposition, Review, ReviewHead, merged};
use hence_review::vocabulary::{EvaluationStatus, ResidualStatus};

use crate::code::Code;
use crate::error::CliError;

/// The built-in policies about gaps. An approval needs all of them, whatever their severity.
const GATES: [&str; 4] = [
    "no-open-critical-at-approval",
    "high-gaps-acknowledged-before-commit",
    "unverified-has-check",
    "assumptions-located",
];

/// Refuses an approval that would violate a policy about gaps.
///
/// The trace is evaluated as the review leaves it, with the approval after its last action. The rules of reviews are
/// checked elsewhere.
pub(crate) fn approval_allowed(review: &Review) -> Result<(), CliError> {
    if review.judgement().disposition != Disposition::Approve {
        return Ok(());
    }
    let set = built_in();
    let policies: Vec<&Policy> = GATES.iter().filter_map(|id| set.get(id)).collect();
    let report = check(&approved(review), policies, Options::default());
    let findings: Vec<String> = report
        .verdicts
        .iter()
        .filter(|verdict| matches!(verdict.status, EvaluationStatus::Failed | EvaluationStatus::Unknown))
        .map(|verdict| format!("policy {}: {}", verdict.policy_id, verdict.note().unwrap_or_default()))
        .collect();
    if findings.is_empty() {
        return Ok(());
    }
    let message =
        format!("{} of {} policies about gaps do not allow the approval", findings.len(), GATES.len());
    Err(CliError::new(Code::ApprovalBlocked, message).with_findings(findings))
}

/// Returns the trace as the review leaves it, approved, without the gaps that a reviewer waived: whoever waives a gap takes
/// it on with name and reason, so that no policy about gaps asks for more.
fn approved(review: &Review) -> Value {
    // The head of the journal is part of the merged document, and no policy is about it.
    let merged = merged(review, ReviewHead { hash: Digest::of(b""), records: 0 });
    let Some(trace) = merged.as_object() else { return merged };
    let actions = trace.get("actions").and_then(Value::as_array).unwrap_or(&[]);
    let last = actions.iter().filter_map(|action| action.get("id")?.as_i64()).max().unwrap_or(0);
    let approval = Object::from_iter([
        ("id", Value::from(last.saturating_add(1))),
        ("type", "Approve".into()),
        ("category", "governance".into()),
        ("label", "Approve the trace".into()),
        ("rationale", "The review ends in an approval.".into()),
    ]);
    let actions: Value = actions.iter().cloned().chain([approval.into()]).collect();
    // What the trace itself calls waived was waived by no reviewer.
    let claimed = |id: Option<&Value>| {
        let mut gaps = review.trace().residuals();
        gaps.any(|gap| gap.id() == id.and_then(Value::as_str) && gap.status() == Some(ResidualStatus::Waived))
    };
    let is_waived = |gap: &&Value| {
        let status = gap.get("status").and_then(Value::as_str);
        status == Some(ResidualStatus::Waived.as_str()) && !claimed(gap.get("residual_id"))
    };
    let gaps = trace.get("residuals").and_then(Value::as_array).unwrap_or(&[]);
    let gaps: Value = gaps.iter().filter(|gap| !is_waived(gap)).cloned().collect();
    trace.with("actions", actions).with("residuals", gaps).into()
}
