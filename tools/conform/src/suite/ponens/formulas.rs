//! `formulas/cases.json`: one formula, one small trace.

use std::path::Path;

use hence_canon::Value;
use hence_policy::policy::{Policy, PolicyId};
use hence_policy::verdict::Verdict;
use hence_policy::{Options, check};

use super::verdicts::ids;
use crate::data::{DataError, json, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    let cases = json(&dir.join("formulas/cases.json"))?;
    let id = PolicyId::new("case").expect("the text is not empty");
    for case in cases.as_array().unwrap_or(&[]) {
        let name = format!("formulas/{}", text(case, "/name")?);
        let policy = Policy::from_formula(&id, text(case, "/formula")?);
        let found = check(case.get("trace").unwrap_or(&Value::Null), [&policy], Options::default());
        let Some(verdict) = found.verdicts.first() else { continue };
        let readings = [
            case.get("strict"),
            case.get("ambiguous").and_then(|ambiguous| ambiguous.get("non_strict_reading")),
        ];
        let outcomes: Vec<Result<(), String>> =
            readings.iter().flatten().map(|expected| compare(expected, verdict)).collect();
        let outcome = if outcomes.iter().any(Result::is_ok) {
            Ok(())
        } else {
            outcomes.into_iter().next().unwrap_or_else(|| Err("the case has no expectation".to_owned()))
        };
        report.case(&name, outcome);
    }
    Ok(())
}

fn compare(expected: &Value, found: &Verdict) -> Result<(), String> {
    let status = expected.get("status").and_then(Value::as_str).unwrap_or("");
    if status == "unspecified" {
        return Ok(());
    }
    if status != found.status.as_str() {
        return Err(format!("expected {status}, found {} ({:?})", found.status, found.note()));
    }
    let violating = ids(expected.get("violating"));
    if violating != found.violating.action_ids {
        return Err(format!("expected violating {violating:?}, found {:?}", found.violating.action_ids));
    }
    Ok(())
}
