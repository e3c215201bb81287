//! Workflow commands, as GitHub Actions shows them next to a change.

use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use crate::check::Report;

/// Writes one command per policy that failed or has no verdict, and per policy that cannot be read; `file` is
/// where the trace lies.
pub fn github(report: &Report, file: &str) -> String {
    let mut lines = String::new();
    let mut command = |kind: &str, id: &str, text: &str| {
        let (file, title) = (property(file), property(&format!("policy {id}")));
        lines += &format!("::{kind} file={file},title={title}::{}\n", data(text));
    };
    for verdict in &report.verdicts {
        let kind = match (verdict.status, verdict.severity) {
            (EvaluationStatus::Failed, PolicySeverity::Error) => "error",
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
