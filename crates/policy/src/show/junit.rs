//! JUnit XML, as build servers read it.

use hence_review::vocabulary::EvaluationStatus;

use crate::check::{FailOn, Report};
use crate::verdict::Verdict;

/// Writes a report as one test suite called `name`.
///
/// The form knows no warnings: a failed policy that does not fail the check is a skipped case that says so, as
/// is one that did not apply. A policy without a verdict is a case in error.
pub fn junit(report: &Report, name: &str, fail_on: FailOn) -> String {
    let mut cases = String::new();
    let (mut failures, mut errors, mut skipped) = (0, 0, 0);
    for verdict in &report.verdicts {
        let id = escape(verdict.policy_id.as_str());
        let note = escape(&verdict.note().unwrap_or_default());
        let inside = match verdict.status {
            EvaluationStatus::Passed => String::new(),
            EvaluationStatus::Failed if blocks(verdict, fail_on) => {
                failures += 1;
                format!("<failure type=\"{}\" message=\"{note}\"/>", verdict.severity)
            }
            EvaluationStatus::Failed => {
                skipped += 1;
                format!("<skipped message=\"{}: {note}\"/>", verdict.severity)
            }
            EvaluationStatus::NotApplicable => {
                skipped += 1;
                format!("<skipped message=\"not applicable: {note}\"/>")
            }
            EvaluationStatus::Unknown => {
                errors += 1;
                format!("<error type=\"unknown\" message=\"{note}\"/>")
            }
        };
        cases += &format!("  <testcase classname=\"policy\" name=\"{id}\">{inside}</testcase>\n");
    }
    let (name, tests) = (escape(name), report.verdicts.len());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{name}\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n{cases}</testsuite>\n"
    )
}

/// Returns whether this failure fails the check.
fn blocks(verdict: &Verdict, fail_on: FailOn) -> bool {
    let alone =
        Report { trace_id: None, verdicts: vec![verdict.clone()], findings: Vec::new(), defect: None };
    !alone.passes(fail_on)
}

/// Escapes what has a meaning in XML, and drops what XML cannot hold at all.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for found in text.chars() {
        match found {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            control if control < ' ' || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}')
            }
            plain => escaped.push(plain),
        }
    }
    escaped
}
