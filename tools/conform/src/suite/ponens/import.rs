//! `import`: logs and exports → traces, compared by facts.
//!
//! The recording tool writes words outside the specification and prose of its own; those are not compared. Every
//! imported trace must validate, but for what the log itself got wrong.

use std::path::Path;

use hence_canon::{Value, canonical_bytes};
use hence_review::import::{Format, Surroundings, import};
use hence_review::validate::{Rule, validate};
use hence_review::vocabulary::{ActionType, ArtifactType};

use crate::data::{DataError, json_folder, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for (folder, format) in [("otel", Format::Otlp), ("langfuse", Format::Langfuse)] {
        for (name, case) in json_folder(&dir.join("import").join(folder))? {
            let input = canonical_bytes(case.get("input").unwrap_or(&Value::Null));
            let outcome = check(&input, format, &Surroundings::default(), &case);
            report.case(&format!("import/{folder}/{name}"), outcome);
        }
    }
    for (name, case) in json_folder(&dir.join("import/sessions"))? {
        let format = match text(&case, "/agent")? {
            "claude-code" => Format::ClaudeCode,
            "pi" => Format::Pi,
            other => {
                report.case(&format!("import/sessions/{name}"), Err(format!("no importer for {other}")));
                continue;
            }
        };
        let context = |key: &str| case.get("context")?.get(key)?.as_str().map(str::to_owned);
        let surroundings = Surroundings { working_directory: context("cwd"), home: context("home") };
        let rows = case.get("entries").and_then(Value::as_array).unwrap_or(&[]);
        let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
        let outcome = check(lines.join("\n").as_bytes(), format, &surroundings, &case);
        report.case(&format!("import/sessions/{name}"), outcome);
    }
    Ok(())
}

fn check(input: &[u8], format: Format, surroundings: &Surroundings, case: &Value) -> Result<(), String> {
    let imported = import(input, format, surroundings).map_err(|error| error.to_string())?;
    let recorded =
        case.get("upstream").and_then(|upstream| upstream.get("trace")).filter(|trace| !trace.is_null());
    let Some(expected) = recorded else {
        // The recording tool gave no trace: there was nothing to import.
        return if imported.traces.is_empty() { Ok(()) } else { Err("expected no trace".to_owned()) };
    };
    for trace in &imported.traces {
        valid(trace)?;
    }
    match imported.traces.as_slice() {
        [] => Err("expected a trace, found none".to_owned()),
        [found] => same_trace(expected, found),
        several => among(expected, several, format),
    }
}

/// That something was consumed before it was produced is a fact about the log, and must be reported.
fn valid(trace: &Value) -> Result<(), String> {
    let report = validate(trace);
    let errors = report.errors().filter(|finding| finding.rule != Rule::FlowOrder);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(format!("the imported trace is not valid: {}", errors.join("; ")))
    }
}

fn same_trace(expected: &Value, found: &Value) -> Result<(), String> {
    head(expected, found)?;
    list(expected, found, "actions", action)?;
    list(expected, found, "artifacts", artifact)?;
    list(expected, found, "meta_actions", unit)
}

/// An export of several traces becomes several. The recording tool took the first of those Langfuse exports, and made
/// one of all spans of an OpenTelemetry export, under the first id: then nothing may be missing and nothing added.
fn among(expected: &Value, several: &[Value], format: Format) -> Result<(), String> {
    let id = at(expected, "/trace_id");
    let mut named = several.iter().filter(|trace| at(trace, "/trace_id") == id);
    let (Some(found), None) = (named.next(), named.next()) else {
        return Err(format!("expected one of {} traces with the id {id}", several.len()));
    };
    if format == Format::Langfuse {
        return same_trace(expected, found);
    }
    for (key, facts) in [("actions", &["/label", "/timestamp", "/agent"][..]), ("artifacts", &["/name"])] {
        let told = |trace: &Value| -> Vec<String> {
            let items = trace.get(key).and_then(Value::as_array).unwrap_or(&[]);
            items.iter().map(|item| facts.iter().map(|fact| at(item, fact).to_string()).collect()).collect()
        };
        let (mut recorded, mut all) = (told(expected), several.iter().flat_map(told).collect::<Vec<_>>());
        recorded.sort();
        all.sort();
        if recorded != all {
            return Err(format!("{key} of all traces: expected {recorded:?}, found {all:?}"));
        }
    }
    Ok(())
}

fn head(expected: &Value, found: &Value) -> Result<(), String> {
    for pointer in
        ["/files_modified", "/trigger/description", "/metrics/total_actions", "/metrics/meta_action_count"]
    {
        same(pointer, expected, found)?;
    }
    let model = at(expected, "/model");
    if !model.is_null() {
        same("/model", expected, found)?;
    }
    let generated = |pointer: &str| at(expected, pointer).as_str() == Some("<generated>");
    for pointer in ["/trace_id", "/timestamp"] {
        if !generated(pointer) {
            same(pointer, expected, found)?;
        }
    }
    same("/outcome/summary", expected, found)
}

fn list(
    expected: &Value,
    found: &Value,
    key: &str,
    check: fn(&Value, &Value) -> Result<(), String>,
) -> Result<(), String> {
    let items = |trace: &Value| trace.get(key).and_then(Value::as_array).unwrap_or(&[]).to_vec();
    let (expected, found) = (items(expected), items(found));
    if expected.len() != found.len() {
        return Err(format!("{key}: expected {}, found {}", expected.len(), found.len()));
    }
    for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
        check(expected, found).map_err(|error| format!("{key}/{index}{error}"))?;
    }
    Ok(())
}

fn action(expected: &Value, found: &Value) -> Result<(), String> {
    for pointer in ["/id", "/label", "/inputs", "/outputs", "/meta_action_id", "/agent", "/timestamp"] {
        let recorded = at(expected, pointer);
        if !recorded.is_null() {
            same(pointer, expected, found)?;
        }
    }
    if at(expected, "/category").as_str() == Some("gateway") || at(expected, "/reproducibility").is_null() {
        // The decision carries its answer in words; nothing else to compare.
    } else {
        same("/reproducibility/procedure/command", expected, found)?;
        same("/reproducibility/expected_output/result_summary", expected, found)?;
    }
    result(expected, found)?;
    // The recording tool spells stock sentences its own way; reasons that come from the log are facts.
    let rationale = at(expected, "/rationale");
    if !rationale
        .as_str()
        .is_some_and(|text| text.contains("OpenTelemetry span") || text.contains("Langfuse "))
    {
        prose("/rationale", expected, found)?;
    }
    let word = at(expected, "/type");
    match word.as_str().and_then(ActionType::from_specified_word) {
        Some(_) => same("/type", expected, found),
        None if at(found, "/execution/method") == word => Ok(()),
        None => Err(format!("/execution/method: expected {word}, found {}", at(found, "/execution/method"))),
    }
}

/// Results agree except for the sentence that replaces an error without a message.
fn result(expected: &Value, found: &Value) -> Result<(), String> {
    let recorded = at(expected, "/result_summary");
    let stock =
        recorded.as_str().is_some_and(|text| text.starts_with("ERROR: ") && text.ends_with("reported error"));
    if stock && at(found, "/result_summary").as_str().is_some_and(|text| text.starts_with("ERROR: ")) {
        return Ok(());
    }
    prose("/result_summary", expected, found)
}

/// Texts agree but for white space: JSON inside text can be written with or without it.
fn prose(pointer: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let plain = |value: &Value| value.as_str().map(|text| text.split_whitespace().collect::<String>());
    let (expected, found) = (at(expected, pointer), at(found, pointer));
    if plain(&expected) == plain(&found) {
        Ok(())
    } else {
        Err(format!("{pointer}: expected {expected}, found {found}"))
    }
}

fn artifact(expected: &Value, found: &Value) -> Result<(), String> {
    for pointer in ["/artifact_id", "/name", "/producer_action_id", "/summary", "/derived_from"] {
        same(pointer, expected, found)?;
    }
    // A result of tests is a command result in the words of the specification.
    let word = at(expected, "/artifact_type");
    match word.as_str().and_then(ArtifactType::from_word) {
        Some(_) => same("/artifact_type", expected, found),
        None if at(found, "/artifact_type") == Value::from("CommandResult") => Ok(()),
        None => Err(format!("/artifact_type: expected CommandResult for {word}")),
    }
}

fn unit(expected: &Value, found: &Value) -> Result<(), String> {
    for pointer in
        ["/id", "/title", "/action_ids", "/source", "/status", "/parent_id", "/produced_artifact_ids"]
    {
        same(pointer, expected, found)?;
    }
    Ok(())
}

fn same(pointer: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let (expected, found) = (at(expected, pointer), at(found, pointer));
    if expected == found { Ok(()) } else { Err(format!("{pointer}: expected {expected}, found {found}")) }
}

/// Returns what a pointer names; a missing or empty list and a missing member are the same.
fn at(value: &Value, pointer: &str) -> Value {
    let found = pointer.parse().ok().and_then(|pointer| value.pointer(&pointer)).cloned().unwrap_or_default();
    if found.as_array().is_some_and(<[Value]>::is_empty) { Value::Null } else { found }
}
