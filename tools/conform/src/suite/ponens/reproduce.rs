//! `reproduce/commands.json`: command → class.

use std::path::Path;

use hence_canon::Value;
use hence_review::reproduce::judge;

use crate::data::{DataError, json, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    let cases = json(&dir.join("reproduce/commands.json"))?;
    for case in cases.as_array().unwrap_or(&[]) {
        let command = text(case, "/command")?;
        let expected = case.get("strict").and_then(Value::as_str).unwrap_or_default();
        let found = judge(command);
        let outcome = if found.class.as_str() == expected {
            Ok(())
        } else {
            Err(format!("expected {expected}, found {} ({})", found.class.as_str(), found.reason))
        };
        report.case(&format!("reproduce/{command}"), outcome);
    }
    Ok(())
}
