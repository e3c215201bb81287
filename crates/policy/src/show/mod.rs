//! Reports for other tools: SARIF for code scanning, JUnit for build servers, workflow commands for GitHub Actions.
//!
//! Each function is a view of the same [`Report`]: whether the trace passes is decided by
//! [`Report::passes`](crate::Report::passes), never by a form.

use hence_canon::Value;
use hence_review::show::{Case, CaseVerdict, SarifKind, SarifLevel, SarifResult, SarifRule, Suite};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use crate::check::{FailOn, Report};
use crate::verdict::Verdict;

/// Writes one command per policy that failed or has no verdict, and per policy that cannot be read; `file` is the path
/// of the trace.
pub fn github(report: &Report, file: &str) -> String {
    let mut lines = String::new();
    let mut command = |kind: &str, id: &str, text: &str| {
        let (file, title) = (property(file), property(&format!("policy {id}")));
        lines += &format!("::{kind} file={file},title={title}::{}\n", data(text));
    };
    for verdict in &report.verdicts {
        let kind = match (verdict.status, verdict.severity) {
            (EvaluationStatus::Failed | EvaluationStatus::Unknown, PolicySeverity::Error) => "error",
            (EvaluationStatus::Failed, PolicySeverity::Info) => "notice",
            (EvaluationStatus::Failed | EvaluationStatus::Unknown, _) => "warning",
            (EvaluationStatus::Passed | EvaluationStatus::NotApplicable, _) => continue,
        };
        let note = verdict.note().unwrap_or_else(|| verdict.status.to_string());
        command(kind, verdict.policy_id.as_str(), &note);
    }
    for (place, finding) in report.findings.iter().filter(|(_, finding)| finding.is_error()) {
        let id = report.verdicts.get(*place).map_or("", |verdict| verdict.policy_id.as_str());
        command("error", id, &finding.to_string());
    }
    lines
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Makes a test suite called `name` from a report.
///
/// JUnit has no warnings: a failed policy that does not fail the check is a skipped case with a message, and so is one
/// that did not apply. A policy without a verdict is a case in error.
pub fn junit(report: &Report, name: &str, fail_on: FailOn) -> Suite {
    let case = |verdict: &Verdict| {
        let note = verdict.note().unwrap_or_default();
        Case {
            class: "policy".to_owned(),
            name: verdict.policy_id.to_string(),
            line: None,
            verdict: match verdict.status {
                EvaluationStatus::Passed => CaseVerdict::Passed,
                EvaluationStatus::Failed if blocks(verdict, fail_on) => {
                    CaseVerdict::Failed { kind: verdict.severity.to_string(), message: note }
                }
                EvaluationStatus::Failed => CaseVerdict::Skipped(format!("{}: {note}", verdict.severity)),
                EvaluationStatus::NotApplicable => CaseVerdict::Skipped(format!("not applicable: {note}")),
                EvaluationStatus::Unknown => {
                    CaseVerdict::Undecided { kind: "unknown".to_owned(), message: note }
                }
            },
        }
    };
    Suite { name: name.to_owned(), cases: report.verdicts.iter().map(case).collect() }
}

/// Returns whether this failure fails the check.
fn blocks(verdict: &Verdict, fail_on: FailOn) -> bool {
    let alone =
        Report { trace_id: None, verdicts: vec![verdict.clone()], findings: Vec::new(), defect: None };
    !alone.passes(fail_on)
}

/// Writes a report as a SARIF log; `file` is the path of the trace.
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

#[cfg(test)]
mod tests;
