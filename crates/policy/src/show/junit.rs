//! JUnit XML, as build servers read it.

use hence_review::show::{Case, CaseVerdict, Suite};
use hence_review::vocabulary::EvaluationStatus;

use crate::check::{FailOn, Report};
use crate::verdict::Verdict;

/// Makes a report one test suite called `name`.
///
/// The form knows no warnings: a failed policy that does not fail the check is a skipped case that says so, as
/// is one that did not apply. A policy without a verdict is a case in error.
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
