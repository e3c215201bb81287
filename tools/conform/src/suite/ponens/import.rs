//! `import`: logs and exports → traces, compared by facts.
//!
//! The recording tool writes words outside the specification and prose of its own; those are not compared. Every
//! imported trace must validate, but for what the log itself got wrong. Where ours says more than was recorded, or
//! does not say what the log does not say, the difference must follow from one of the rules in [`rules`].

mod actions;
mod rules;

use std::path::Path;

use hence_canon::{Value, canonical_bytes};
use hence_review::import::{Format, Surroundings, import};
use hence_review::validate::{Rule, validate};

use crate::data::{DataError, json_folder, text};
use crate::report::Report;
use actions::Alignment;
use rules::Rules;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for (folder, format) in [("otel", Format::Otlp), ("langfuse", Format::Langfuse)] {
        for (name, case) in json_folder(&dir.join("import").join(folder))? {
            let input = canonical_bytes(case.get("input").unwrap_or(&Value::Null));
            let outcome = check(&input, format, &Surroundings::default(), &case);
            tell(report, &format!("import/{folder}/{name}"), outcome);
        }
    }
    for (name, case) in json_folder(&dir.join("import/sessions"))? {
        let id = format!("import/sessions/{name}");
        let format = match text(&case, "/agent")? {
            "claude-code" => Format::ClaudeCode,
            "pi" => Format::Pi,
            other => {
                report.case(&id, Err(format!("no importer for {other}")));
                continue;
            }
        };
        let context = |key: &str| case.get("context")?.get(key)?.as_str().map(str::to_owned);
        let surroundings = Surroundings { working_directory: context("cwd"), home: context("home") };
        let rows = case.get("entries").and_then(Value::as_array).unwrap_or(&[]);
        let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
        tell(report, &id, check(lines.join("\n").as_bytes(), format, &surroundings, &case));
    }
    Ok(())
}

/// Counts a case as passed, as deviating by rules of ours, or as failed.
fn tell(report: &mut Report, id: &str, outcome: Result<Rules, String>) {
    match outcome {
        Ok(rules) if rules.is_empty() => report.case(id, Ok(())),
        Ok(rules) => report.deviating(id, &rules.to_string()),
        Err(difference) => report.case(id, Err(difference)),
    }
}

fn check(input: &[u8], format: Format, surroundings: &Surroundings, case: &Value) -> Result<Rules, String> {
    let imported = import(input, format, surroundings).map_err(|error| error.to_string())?;
    let recorded =
        case.get("upstream").and_then(|upstream| upstream.get("trace")).filter(|trace| !trace.is_null());
    let mut rules = match case.get("entries").and_then(Value::as_array) {
        Some(rows) => Rules::of_log(rows),
        None => Rules::of_export(case.get("input").unwrap_or(&Value::Null)),
    };
    let Some(expected) = recorded else {
        // The recording tool gave no trace: there was nothing to import.
        return if imported.traces.is_empty() { Ok(rules) } else { Err("expected no trace".to_owned()) };
    };
    for trace in &imported.traces {
        valid(trace)?;
    }
    match imported.traces.as_slice() {
        [] => Err("expected a trace, found none".to_owned()),
        [found] => same_trace(expected, found, &mut rules),
        several => among(expected, several, format, &mut rules),
    }?;
    Ok(rules)
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

fn same_trace(expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
    let alignment = Alignment::of(expected, found, rules)?;
    head(expected, found, rules)?;
    alignment.artifacts(expected, found, rules)?;
    alignment.units(expected, found, rules)
}

/// An export of several traces becomes several. The recording tool took the first of those Langfuse exports, and made
/// one of all spans of an OpenTelemetry export, under the first id: then nothing may be missing and nothing added.
fn among(expected: &Value, several: &[Value], format: Format, rules: &mut Rules) -> Result<(), String> {
    let id = at(expected, "/trace_id");
    let mut named = several.iter().filter(|trace| at(trace, "/trace_id") == id);
    let (Some(found), None) = (named.next(), named.next()) else {
        return Err(format!("expected one of {} traces with the id {id}", several.len()));
    };
    if format == Format::Langfuse {
        return same_trace(expected, found, rules);
    }
    for (key, facts) in [("actions", &["/label", "/timestamp", "/agent"][..]), ("artifacts", &["/name"])] {
        let told = |trace: &Value| -> Vec<String> {
            items(trace, key)
                .iter()
                .map(|item| facts.iter().map(|fact| at(item, fact).to_string()).collect())
                .collect()
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

fn head(expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
    if at(expected, "/trigger/description") != at(found, "/trigger/description") {
        rules.other_task(&at(expected, "/trigger/description"), &at(found, "/trigger/description"))?;
    }
    rules.files(expected, found)?;
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
    rules.text("/outcome/summary", expected, found)
}

fn same(pointer: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let (expected, found) = (at(expected, pointer), at(found, pointer));
    if expected == found { Ok(()) } else { Err(format!("{pointer}: expected {expected}, found {found}")) }
}

/// Returns the items of a list of the trace.
fn items<'a>(trace: &'a Value, key: &str) -> &'a [Value] {
    trace.get(key).and_then(Value::as_array).unwrap_or(&[])
}

/// Returns the texts of a list.
fn texts(value: &Value, pointer: &str) -> Vec<String> {
    let list = at(value, pointer);
    list.as_array().unwrap_or(&[]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns what a pointer names; a missing or empty list and a missing member are the same.
fn at(value: &Value, pointer: &str) -> Value {
    let found = pointer.parse().ok().and_then(|pointer| value.pointer(&pointer)).cloned().unwrap_or_default();
    if found.as_array().is_some_and(<[Value]>::is_empty) { Value::Null } else { found }
}
