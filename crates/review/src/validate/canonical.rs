//! Validation against the strict model: what interchange remarks on, the model refuses.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::model::decode;

use super::finding::{Finding, Report, Severity};
use super::rule::Rule;
use super::validate;

/// Validates a document as canonical: it must decode into [`crate::model::Trace`].
///
/// Foreign words and contradicting categories become errors, and every defect that decoding finds is reported
/// under `canonical.decode`, unless a rule has spoken about the same place already.
pub fn validate_canonical(value: &Value) -> Report {
    let mut report = validate(value);
    for finding in &mut report.findings {
        if finding.rule.is_error_when_canonical() {
            finding.severity = Severity::Error;
        }
    }
    let Err(error) = decode(value) else { return report };
    let spoken: BTreeSet<String> = report.errors().map(|finding| finding.pointer.to_string()).collect();
    let unspoken = error.defects.into_iter().filter(|defect| !spoken.contains(&defect.pointer.to_string()));
    report.findings.extend(unspoken.map(|defect| Finding {
        rule: Rule::Canonical,
        severity: Severity::Error,
        subject: defect.pointer.to_string(),
        pointer: defect.pointer,
        message: defect.message,
    }));
    report
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn what_interchange_remarks_on_the_model_refuses() {
        let value = parse(
            br#"{"trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m", "timestamp": "2026-01-01",
                "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"}, "actions": [
                {"id": 1, "category": "activity", "type": "Release", "rationale": "r"}]}"#,
        )
        .unwrap();
        assert!(validate(&value).is_valid());
        let report = validate_canonical(&value);
        let errors: Vec<(&str, String)> =
            report.errors().map(|finding| (finding.rule.id(), finding.pointer.to_string())).collect();
        assert_eq!(
            errors,
            [
                ("action.type.unknown", "/actions/0/type".to_owned()),
                ("action.label", "/actions/0/label".to_owned()),
            ]
        );
    }

    #[test]
    fn defects_without_a_rule_of_their_own_are_reported_too() {
        let report = validate_canonical(&parse(br#"{"trace_id": "t", "actions": []}"#).unwrap());
        let decoding: Vec<&str> = report
            .errors()
            .filter(|finding| finding.rule == Rule::Canonical)
            .map(|finding| finding.subject.as_str())
            .collect();
        assert_eq!(decoding, ["/assistant", "/model", "/timestamp", "/trigger", "/outcome"]);
    }
}
