//! Findings in the forms other tools read.

use std::collections::BTreeMap;

use hence_review::show::{
    Case, CaseVerdict, SarifKind, SarifLevel, SarifPlace, SarifResult, SarifRule, Suite, junit, sarif,
};
use hence_review::validate::{Rule, Severity};

use super::validate::{FileReport, FindingRow, UNREADABLE, ValidateReport};
use crate::escape::escape_json;

fn level(word: &str) -> SarifLevel {
    if word == "error" { SarifLevel::Error } else { SarifLevel::Warning }
}

/// Returns all rules with the level that breaking them usually has.
fn rules() -> Vec<SarifRule> {
    let rule = |id: &str, level| SarifRule {
        id: id.to_owned(),
        description: Some(format!("rule {id} of review traces")),
        level,
    };
    let of_format = Rule::ALL.iter().map(|found| match found.severity() {
        Severity::Error => rule(found.id(), SarifLevel::Error),
        Severity::Warning => rule(found.id(), SarifLevel::Warning),
    });
    std::iter::once(rule(UNREADABLE, SarifLevel::Error)).chain(of_format).collect()
}

/// Returns the SARIF log of a report.
pub(super) fn sarif_log(report: &ValidateReport) -> String {
    let known = rules();
    let places: BTreeMap<&str, usize> = known.iter().map(|rule| rule.id.as_str()).zip(0..).collect();
    let result = |file: &FileReport, finding: &FindingRow| SarifResult {
        rule: places.get(finding.rule).copied().unwrap_or_default(),
        kind: SarifKind::Fail,
        level: level(finding.level),
        message: finding.message.clone(),
        file: file.file.clone(),
        place: finding.line.zip(finding.column).map(|(line, column)| SarifPlace { line, column }),
        pointer: Some((finding.pointer.clone(), None)),
    };
    let results: Vec<SarifResult> = report
        .files
        .iter()
        .flat_map(|file| file.findings.iter().map(move |finding| (file, finding)))
        .map(|(file, finding)| result(file, finding))
        .collect();
    escape_json(&hence_canon::pretty(&sarif(env!("CARGO_PKG_VERSION"), &known, &results)))
}

/// Returns the JUnit document of a report: one suite per file, one case per finding.
pub(super) fn junit_document(report: &ValidateReport) -> String {
    let suites: Vec<Suite> = report.files.iter().map(suite).collect();
    junit("hence trace validate", &suites)
}

fn suite(file: &FileReport) -> Suite {
    let case = |finding: &FindingRow| Case {
        class: file.file.clone(),
        name: format!("{} {}", finding.rule, finding.pointer),
        line: finding.line,
        verdict: match level(finding.level) {
            SarifLevel::Error => {
                CaseVerdict::Failed { kind: finding.rule.to_owned(), message: finding.message.clone() }
            }
            _ => CaseVerdict::Remarked(format!("warning: {}", finding.message)),
        },
    };
    let mut cases: Vec<Case> = file.findings.iter().map(case).collect();
    if cases.is_empty() {
        // A file without findings is one case that passes.
        let (class, name) = (file.file.clone(), "valid".to_owned());
        cases.push(Case { class, name, line: None, verdict: CaseVerdict::Passed });
    }
    Suite { name: file.file.clone(), cases }
}
