//! `state-docs.jsonl`: text → readable, schema verdict, strict verdict.

use std::collections::BTreeSet;
use std::path::Path;

use hence_canon::Value;
use hence_variables::document::{Document, Verdict, export};
use hence_variables::{Call, Import};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;
use crate::suite::rlm::world::World;

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for case in ndjson(&dir.join("state-docs.jsonl"))? {
        let id = text(&case, "/id")?;
        let document = text(&case, "/document")?.as_bytes();
        let value = match text(&case, "/format")? {
            "yaml" => hence_yaml::parse_value(document).map_err(|error| error.to_string()),
            _ => hence_canon::parse(document).map_err(|error| error.to_string()),
        };
        report.case(id, check(&case, value));
    }
    Ok(())
}

fn check(case: &Value, document: Result<Value, String>) -> Result<(), String> {
    let readable = case.get("parse").and_then(Value::as_str) == Some("ok");
    let value = match (document, readable) {
        (Ok(value), true) => value,
        (Err(_), false) => return Ok(()),
        (Ok(_), false) => return Err("expected a parse error, found a document".to_owned()),
        (Err(error), true) => return Err(format!("expected a document, found {error}")),
    };
    let verdict = Verdict::of(&value);
    let schema = verdict.schema.iter().map(|error| (error.pointer.to_string(), error.keyword.as_str()));
    let strict = verdict.strict.iter().map(|error| (error.pointer.to_string(), error.code.as_str()));
    same("schema", case.get("schema"), "keyword", verdict.schema.is_empty(), schema)?;
    same("strict", case.get("strict"), "code", verdict.is_valid(), strict)?;
    if verdict.is_valid() { survives(&value) } else { Ok(()) }
}

/// Checks that a valid document loses nothing by being read and written, nor by being imported and exported.
fn survives(value: &Value) -> Result<(), String> {
    let document = Document::from_value(value).map_err(|verdict| verdict.to_string())?;
    let again =
        Document::from_value(&document.to_value()).map_err(|verdict| format!("written: {verdict}"))?;
    if again != document {
        return Err("the document changed by being written and read".to_owned());
    }
    let import = Import { document, snapshots: Default::default() };
    let state = import.document.state_id;
    let mut world = World::at("2030-01-01T00:00:00Z")?;
    match world.call(&Call::Import(Box::new(import)))? {
        Ok(_) => {}
        // A session id is any text in a document and a folder's name in a store.
        Err(refusal) if refusal.code() == "invalid_id" => return Ok(()),
        Err(refusal) => return Err(format!("not imported: {refusal}")),
    }
    let given = world.workspace.state_view(state).map(export).ok_or("there is no state")?;
    let verdict = Verdict::of(&given);
    if !verdict.is_valid() {
        return Err(format!("exported: {verdict}"));
    }
    let kept = |value: &Value| {
        let variables = value.get("variables").and_then(Value::as_object).cloned().unwrap_or_default();
        variables.keys().filter(|name| &***name != "Final").cloned().collect::<BTreeSet<_>>()
    };
    if kept(value) == kept(&given) { Ok(()) } else { Err("variables were lost or added".to_owned()) }
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
