//! `state-docs.jsonl`: text → readable, schema verdict, strict verdict.

use std::collections::BTreeSet;
use std::path::Path;

use hence_canon::Value;
use hence_variables::document::{Format, Verdict, read};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for case in ndjson(&dir.join("state-docs.jsonl"))? {
        let id = text(&case, "/id")?;
        let format = if text(&case, "/format")? == "yaml" { Format::Yaml } else { Format::Json };
        let document = text(&case, "/document")?;
        report.case(id, check(&case, document, format));
    }
    Ok(())
}

fn check(case: &Value, document: &str, format: Format) -> Result<(), String> {
    let readable = case.get("parse").and_then(Value::as_str) == Some("ok");
    let value = match (read(document.as_bytes(), format), readable) {
        (Ok(value), true) => value,
        (Err(_), false) => return Ok(()),
        (Ok(_), false) => return Err("expected a parse error, found a document".to_owned()),
        (Err(error), true) => return Err(format!("expected a document, found {error}")),
    };
    let verdict = Verdict::of(&value);
    let schema = verdict.schema.iter().map(|error| (error.pointer.to_string(), error.keyword.as_str()));
    let strict = verdict.strict.iter().map(|error| (error.pointer.to_string(), error.code.as_str()));
    same("schema", case.get("schema"), "keyword", verdict.schema.is_empty(), schema)?;
    same("strict", case.get("strict"), "code", verdict.is_valid(), strict)
}

fn same(
    level: &str,
    expect: Option<&Value>,
    member: &str,
    valid: bool,
    found: impl Iterator<Item = (String, &'static str)>,
) -> Result<(), String> {
    let errors = expect.and_then(|expect| expect.get("errors")).and_then(Value::as_array).unwrap_or_default();
    let word =
        |error: &Value, key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let expected: BTreeSet<(String, String)> =
        errors.iter().map(|error| (word(error, "path"), word(error, member))).collect();
    let found: BTreeSet<(String, String)> = found.map(|(path, word)| (path, word.to_owned())).collect();
    let expected_valid = expect.and_then(|expect| expect.get("valid")).and_then(Value::as_bool);
    if expected == found && expected_valid == Some(valid) {
        return Ok(());
    }
    Err(format!("{level}: expected {expected_valid:?} {expected:?}, found {valid} {found:?}"))
}
