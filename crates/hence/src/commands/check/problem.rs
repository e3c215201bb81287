//! `hence check` of a problem: all findings about it, each with its place.

use hence_canon::{JsonPointer, Value, did_you_mean};
use hence_capabilities::Library;
use hence_engine::{Engine, Request, without_defects};
use hence_state::{ProblemSpec, Profile, Settings};

use super::{CheckReport, FindingRow, row_at};
use crate::args::skill::CheckArgs;
use crate::bound::BoundCallees;
use crate::kind::misspelt_settings;
use crate::prelude::*;
use crate::skills::{self, SkillDocument};
use crate::{input, usage};

/// The members of a problem and of its inputs that are read. Others are kept in the record and change nothing.
const MEMBERS: [&str; 6] = ["created_at", "id", "inputs", "provenance", "settings", "version"];
const INPUTS: [&str; 7] =
    ["assumptions", "constraint_checks", "constraints", "context", "goals", "prompt", "tasks"];

/// A finding: `error` or `warning`, the rule, the message and the place.
type Found = (&'static str, &'static str, String, JsonPointer);

/// Returns whether a document is meant to be a problem: it has a prompt, or what only a problem has.
pub(super) fn is_problem(bytes: &[u8]) -> bool {
    hence_canon::parse_lenient(bytes).is_ok_and(|document| {
        let value = &document.value;
        skills::has_prompt(value)
            || (value.get("steps").is_none()
                && (value.get("created_at").is_some() || value.get("settings").is_some()))
    })
}

/// Checks a problem as `hence run` does, and goes on after the first finding.
pub(super) fn run(context: &Context, args: &CheckArgs, bytes: &[u8]) -> Result<Exit, CliError> {
    let name = input::shown_name(&args.document).to_owned();
    if !args.nested.skill.is_empty() {
        let message = "--skill is for skills, and this is a problem";
        return Err(CliError::new(Code::Argument, message).with_hint(hint::LEAVE_IT_OUT));
    }
    let problem = input::parse_problem(&args.document, bytes, &Profile::STRICT_2)?;
    let document = hence_yaml::parse(bytes).map_err(|error| CliError::at(Code::NotJson, &name, error))?;
    let text = String::from_utf8_lossy(bytes).into_owned();
    let document = SkillDocument { name, text, document, findings: Vec::new() };
    let library = match args.capabilities.capabilities.as_slice() {
        [] => Library::built_in(),
        files => Library::with(skills::read_capabilities(files)?),
    };
    let row = |(severity, rule, message, pointer): Found| {
        let place = document.document.place(&pointer);
        let is_line = place.value.start.line == place.value.end.line;
        let is_there = document.document.value().pointer(&pointer).is_some();
        let span = if is_there && is_line && rule != UNKNOWN { place.value } else { place.head() };
        row_at(&document, &pointer, span, (severity, rule.to_owned(), message))
    };
    let mut findings: Vec<FindingRow> = findings(problem.value, library).into_iter().map(row).collect();
    findings.sort_by_key(|finding| (finding.line, finding.column));
    let errors = findings.iter().filter(|finding| finding.severity == "error").count();
    let warnings = findings.len() - errors;
    let file = document.name.clone();
    context.print(&CheckReport { file, runs: errors == 0, errors, warnings, findings })?;
    Ok(if errors == 0 { Exit::Yes } else { Exit::No })
}

/// The rule that a finding about a member breaks which nothing reads.
const UNKNOWN: &str = "unknown-member";

fn findings(problem: Value, library: Library) -> Vec<Found> {
    let root = JsonPointer::root();
    let mut found: Vec<Found> = misspelt_settings(&problem)
        .into_iter()
        .map(|(key, message)| ("error", UNKNOWN, message, root.child("settings").child(&key)))
        .collect();
    found.extend(unread(&problem, &root, &MEMBERS));
    // Misspelt settings are errors already.
    let misspelt: Vec<JsonPointer> = found.iter().map(|(.., pointer)| pointer.clone()).collect();
    let settings = problem.get("settings").into_iter();
    let unread_settings = settings.flat_map(|value| unread(value, &root.child("settings"), &Settings::KEYS));
    found.extend(unread_settings.filter(|(.., pointer)| !misspelt.contains(pointer)));
    let inputs = problem.get("inputs");
    found.extend(inputs.into_iter().flat_map(|inputs| unread(inputs, &root.child("inputs"), &INPUTS)));
    if let Err(message) = usage::limits_of(&problem) {
        found.push(("error", "limits", message, root.child("settings").child("limits")));
    }
    let decoded = ProblemSpec::decode(&problem, &Profile::STRICT_2);
    let refused = match decoded {
        Err(findings) => Some(findings),
        // Steps, bindings, routing policy and loop are judged together, with the capabilities that exist.
        Ok(_) => {
            let engine = Engine::new().with_callees(std::sync::Arc::new(BoundCallees::new(library)));
            engine.plan(&Request::new(without_defects(problem), Profile::STRICT_2)).err()
        }
    };
    for finding in refused.iter().flat_map(|findings| findings.iter()) {
        found.push(("error", "problem", finding.message_with_value(), finding.pointer.clone()));
    }
    found
}

/// Returns a warning for each member that nothing reads.
fn unread(value: &Value, place: &JsonPointer, known: &[&str]) -> Vec<Found> {
    let keys = value.as_object().into_iter().flat_map(|object| object.keys());
    let unknown = keys.filter(|key| !known.contains(&&***key));
    let finding = |key: &std::sync::Arc<str>| {
        let meant = did_you_mean(key, known.iter().copied());
        let message = format!("nothing reads `{key}`; there are {}{meant}", known.join(", "));
        ("warning", UNKNOWN, message, place.child(key))
    };
    unknown.map(finding).collect()
}
