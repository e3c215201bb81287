//! SARIF 2.1.0, as code scanning services read it.

use hence_canon::Value;
use hence_review::show::{SarifKind, SarifLevel, SarifResult, SarifRule};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use crate::check::Report;
use crate::verdict::Verdict;

/// Writes a report as a SARIF log; `file` is where the trace lies.
pub fn sarif(report: &Report, file: &str) -> Value {
    let rule = |verdict: &Verdict| SarifRule {
        id: verdict.policy_id.to_string(),
        description: None,
        level: level(verdict.severity),
    };
    let rules: Vec<SarifRule> = report.verdicts.iter().map(rule).collect();
    let results: Vec<SarifResult> =
        report.verdicts.iter().enumerate().map(|(place, verdict)| result(place, verdict, file)).collect();
    hence_review::show::sarif(env!("CARGO_PKG_VERSION"), &rules, &results)
}

fn result(place: usize, verdict: &Verdict, file: &str) -> SarifResult {
    let first = verdict
        .explanation
        .iter()
        .flat_map(|explanation| &explanation.steps)
        .find_map(|step| step.action.as_ref());
    SarifResult {
        rule: place,
        kind: match verdict.status {
            EvaluationStatus::Passed => SarifKind::Pass,
            EvaluationStatus::Failed => SarifKind::Fail,
            EvaluationStatus::NotApplicable => SarifKind::NotApplicable,
            EvaluationStatus::Unknown => SarifKind::Open,
        },
        level: level(verdict.severity),
        message: verdict.note().unwrap_or_else(|| format!("{} {}", verdict.policy_id, verdict.status)),
        file: file.to_owned(),
        place: None,
        pointer: first.map(|action| (format!("/actions/{}", action.position), Some(action.to_string()))),
    }
}

fn level(severity: PolicySeverity) -> SarifLevel {
    match severity {
        PolicySeverity::Error => SarifLevel::Error,
        PolicySeverity::Warning => SarifLevel::Warning,
        PolicySeverity::Info => SarifLevel::Note,
    }
}
