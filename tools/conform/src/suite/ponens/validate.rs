//! `expected/validate` and `mutations`: rule ids, levels, readiness and content hashes.

use std::collections::BTreeSet;
use std::path::Path;

use hence_canon::Value;
use hence_review::ContentHash;
use hence_review::validate::{Severity, readiness, validate};
use hence_review::wire::Trace;

use crate::data::{DataError, json, json_folder, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for (name, expected) in json_folder(&dir.join("expected/validate"))? {
        let value = json(&dir.join("traces").join(format!("{name}.json")))?;
        report.case(&format!("validate/{name}"), findings(&value, &expected));
        report.case(&format!("review_ready/{name}"), ready(&value, &expected));
        report.case(&format!("content_hash/{name}"), hash(&value, &expected));
    }
    for (name, case) in json_folder(&dir.join("mutations"))? {
        let value = case.get("trace").unwrap_or(&Value::Null);
        let rule = text(&case, "/rule")?;
        let outcome =
            findings(value, &case).and_then(|()| level(value, rule, text(&case, "/expected_level").ok()));
        report.case(&format!("mutations/{name}"), outcome);
    }
    Ok(())
}

/// A finding, as the data writes it.
type Written = (String, String, String);

fn findings(value: &Value, expected: &Value) -> Result<(), String> {
    let report = validate(value);
    let expected = expected.get("strict_findings").and_then(Value::as_array).ok_or("no strict_findings")?;
    let member =
        |finding: &Value, key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let expected: BTreeSet<Written> = expected
        .iter()
        .map(|finding| written(member(finding, "level"), member(finding, "rule"), member(finding, "where")))
        .collect();
    let found: BTreeSet<Written> = report
        .findings()
        .iter()
        .map(|finding| {
            written(finding.severity.to_string(), finding.rule.to_string(), finding.subject.clone())
        })
        .collect();
    if found == expected {
        return Ok(());
    }
    let missing: Vec<_> = expected.difference(&found).collect();
    let extra: Vec<_> = found.difference(&expected).collect();
    Err(format!("missing {missing:?}, extra {extra:?}"))
}

/// Leaves out what is spelled freely: how a circle is written, and what an action without an id is called.
fn written(level: String, rule: String, subject: String) -> Written {
    let subject = match rule.as_str() {
        "lineage.cycle" => String::new(),
        _ if subject == "None" || subject.starts_with('#') => String::new(),
        _ => subject,
    };
    (level, rule, subject)
}

/// The rule of a mutation is found at the level the case names; `ok` means it is not found at all.
fn level(value: &Value, rule: &str, expected: Option<&str>) -> Result<(), String> {
    let report = validate(value);
    let worst = report
        .findings()
        .iter()
        .filter(|finding| finding.rule.id() == rule)
        .map(|finding| finding.severity)
        .max();
    // A negative id is itself a warning; the references it breaks make the document an error.
    let overall = report.findings().iter().map(|finding| finding.severity).max();
    let fits = match expected {
        Some("ok") => worst.is_none(),
        Some("warning") => worst == Some(Severity::Warning),
        Some("error") => worst.is_some() && overall == Some(Severity::Error),
        other => return Err(format!("unknown expected_level {other:?}")),
    };
    if fits { Ok(()) } else { Err(format!("{rule}: expected {expected:?}, found {worst:?}")) }
}

fn ready(value: &Value, expected: &Value) -> Result<(), String> {
    let found = readiness(&Trace::read(value), &validate(value));
    let expected = expected.get("review_ready").ok_or("no review_ready")?;
    let flag = |key: &str| expected.get(key).and_then(Value::as_bool);
    let silent = expected.get("actions_without_rationale").and_then(Value::as_array).unwrap_or(&[]);
    let silent: Vec<String> = silent.iter().map(ToString::to_string).collect();
    let same = flag("structure_valid") == Some(found.structure_valid)
        && flag("outcome_recorded") == Some(found.outcome_recorded)
        && flag("ready") == Some(found.is_ready())
        && expected.get("residuals_declared").and_then(Value::as_u64)
            == Some(found.residuals_declared as u64)
        && silent == found.actions_without_rationale;
    if same { Ok(()) } else { Err(format!("expected {expected}, found {found:?}")) }
}

fn hash(value: &Value, expected: &Value) -> Result<(), String> {
    let found = ContentHash::of(value).to_string();
    match expected.get("content_hash").and_then(Value::as_str) {
        Some(expected) if expected == found => Ok(()),
        other => Err(format!("expected {other:?}, found {found}")),
    }
}
