//! Several checked traces in the forms other tools read.

use hence_canon::{Object, Value};
use hence_policy::{FailOn, show};
use hence_review::show::{Suite, junit as junit_document};

use super::check::Checked;
use crate::escape::{escape, escape_json};

/// Writes one SARIF log, with a run for each trace.
pub(super) fn sarif(checked: &[Checked]) -> String {
    let mut whole = Object::new();
    let mut runs: Vec<Value> = Vec::new();
    for Checked { file, report, .. } in checked {
        let log = show::sarif(report, file);
        runs.extend(log.get("runs").and_then(Value::as_array).unwrap_or_default().iter().cloned());
        if let Value::Object(log) = log {
            whole = log;
        }
    }
    escape_json(&Value::from(whole.with("runs", runs)).to_string())
}

/// Writes one JUnit document, with a suite for each trace.
pub(super) fn junit(checked: &[Checked], fail_on: FailOn) -> String {
    let suites: Vec<Suite> =
        checked.iter().map(|Checked { file, report, .. }| show::junit(report, file, fail_on)).collect();
    junit_document("hence policy check", &suites)
}

/// Writes the workflow commands of all traces. A log is a terminal, too: nothing in it may drive one.
pub(super) fn github(checked: &[Checked]) -> String {
    let text: String = checked.iter().map(|checked| show::github(&checked.report, &checked.file)).collect();
    text.lines().map(|line| format!("{}\n", escape(line))).collect()
}
