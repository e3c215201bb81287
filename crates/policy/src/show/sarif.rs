//! SARIF 2.1.0, as code scanning services read it.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use crate::check::Report;
use crate::verdict::Verdict;

/// Writes a report as a SARIF log; `uri` is where the trace lies.
pub fn sarif(report: &Report, uri: &str) -> Value {
    let rules: Value = report
        .verdicts
        .iter()
        .map(|verdict| {
            let level = object([("level", level(verdict.severity).into())]);
            object([("id", verdict.policy_id.as_str().into()), ("defaultConfiguration", level)])
        })
        .collect();
    let driver = object([("name", "hence".into()), ("rules", rules)]);
    let results: Value =
        report.verdicts.iter().enumerate().map(|(place, verdict)| result(place, verdict, uri)).collect();
    let run = object([("tool", object([("driver", driver)])), ("results", results)]);
    object([
        ("$schema", "https://json.schemastore.org/sarif-2.1.0.json".into()),
        ("version", "2.1.0".into()),
        ("runs", vec![run].into()),
    ])
}

fn result(place: usize, verdict: &Verdict, uri: &str) -> Value {
    let kind = match verdict.status {
        EvaluationStatus::Passed => "pass",
        EvaluationStatus::Failed => "fail",
        EvaluationStatus::NotApplicable => "notApplicable",
        EvaluationStatus::Unknown => "open",
    };
    // The format demands the level `none` for everything that is not a failure.
    let level = if kind == "fail" { level(verdict.severity) } else { "none" };
    let text = verdict.note().unwrap_or_else(|| format!("{} {}", verdict.policy_id, verdict.status));
    let file = object([("artifactLocation", object([("uri", uri.into())]))]);
    let mut location = object([("physicalLocation", file)]);
    let first = verdict
        .explanation
        .iter()
        .flat_map(|explanation| &explanation.steps)
        .find_map(|step| step.action.as_ref());
    if let (Some(action), Some(known)) = (first, location.as_object()) {
        let name = object([
            ("name", action.to_string().into()),
            ("fullyQualifiedName", format!("/actions/{}", action.position).into()),
        ]);
        location = known.with("logicalLocations", vec![name]).into();
    }
    object([
        ("ruleId", verdict.policy_id.as_str().into()),
        ("ruleIndex", place.into()),
        ("kind", kind.into()),
        ("level", level.into()),
        ("message", object([("text", text.into())])),
        ("locations", vec![location].into()),
    ])
}

fn level(severity: PolicySeverity) -> &'static str {
    match severity {
        PolicySeverity::Error => "error",
        PolicySeverity::Warning => "warning",
        PolicySeverity::Info => "note",
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}
