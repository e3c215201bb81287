//! `hence check` of a problem: all findings about it, each with its place.

use hence_canon::{JsonPointer, Value, did_you_mean};
use hence_capabilities::Library;
use hence_engine::{Engine, Request, without_defects};
use hence_state::{Finding, ProblemSpec, Profile, Settings};

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
    CheckReport { file, runs: errors == 0, errors, warnings, findings }.print(context)?;
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
    let (readable, refused) = readable(&problem);
    let mut refused: Vec<Finding> = refused;
    if let Some(readable) = readable {
        // Steps, bindings, routing policy and loop are judged together, with the capabilities that exist.
        let engine = Engine::new().with_callees(std::sync::Arc::new(BoundCallees::new(library)));
        let planned = engine.plan(&Request::new(without_defects(readable), Profile::STRICT_2)).err();
        for finding in planned.iter().flat_map(|findings| findings.iter()) {
            // What was left out to read the rest is no finding of its own.
            let is_known = |known: &Finding| is_within(&finding.pointer, &known.pointer);
            if !refused.iter().any(is_known) {
                refused.push(finding.clone());
            }
        }
    }
    for finding in refused {
        // A member that is missing has no place of its own, so its name is part of the message.
        let is_missing = problem.pointer(&finding.pointer).is_none();
        let name = finding.pointer.tokens().last().filter(|_| is_missing).map(|name| format!("`{name}`: "));
        let message = format!("{}{}", name.unwrap_or_default(), finding.message_with_value());
        found.push(("error", "problem", message, finding.pointer));
    }
    found
}

/// The rounds in which defects are left out of a problem. Each round takes out all that are found, and few hide others.
const ROUNDS_MAX: usize = 8;

/// Returns the problem without the members that cannot be read, and the findings about them. Without a problem that can be read, only
/// the findings.
///
/// A member that is left out says nothing about what refers to it, so only members of objects are left out, never items of a list.
fn readable(problem: &Value) -> (Option<Value>, Vec<Finding>) {
    let mut readable = problem.clone();
    let mut found: Vec<Finding> = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let refused = match ProblemSpec::decode(&readable, &Profile::STRICT_2) {
            Ok(_) => return (Some(readable), found),
            Err(refused) => refused,
        };
        let before = readable.clone();
        for finding in refused.iter() {
            if !found.iter().any(|known| is_within(&finding.pointer, &known.pointer)) {
                found.push(finding.clone());
            }
            readable = without_defect(readable, &finding.pointer);
        }
        if readable == before {
            break;
        }
    }
    (None, found)
}

/// The members that others refer to. A problem without one of them is judged no further.
const REFERRED_TO: [&str; 3] = ["context", "goals", "tasks"];

/// Replaces a required member by one that can be read, or leaves out the member of an object that cannot.
fn without_defect(problem: Value, place: &JsonPointer) -> Value {
    let tokens: Vec<&str> = place.tokens().collect();
    let stand_in = match tokens.as_slice() {
        ["version"] => "1.0.0",
        ["created_at"] => "2026-01-01T00:00:00Z",
        ["id"] | ["inputs", "prompt"] => "unnamed",
        ["inputs", member] if REFERRED_TO.contains(member) => return problem,
        tokens => return without(&problem, tokens).unwrap_or(problem),
    };
    let Value::Object(members) = &problem else { return problem };
    match tokens.as_slice() {
        [member] => members.with(*member, stand_in).into(),
        [section, member, ..] => match members.get(section) {
            Some(Value::Object(inner)) => members.with(*section, inner.with(*member, stand_in)).into(),
            _ => problem,
        },
        [] => problem,
    }
}

/// Returns a value without the member at a place, or without the object that lacks it. An item of a list is never left out.
fn without(value: &Value, tokens: &[&str]) -> Option<Value> {
    let (first, below) = tokens.split_first()?;
    match value {
        Value::Object(members) => {
            let member = members.get(first)?;
            let smaller = if below.is_empty() { None } else { without(member, below) };
            Some(match smaller {
                Some(smaller) => members.with(*first, smaller).into(),
                None => members.without(first).into(),
            })
        }
        Value::Array(items) => {
            let place = JsonPointer::list_index(first)?;
            let smaller = without(items.get(place)?, below)?;
            let with =
                |(index, item): (usize, &Value)| if index == place { smaller.clone() } else { item.clone() };
            Some(items.iter().enumerate().map(with).collect())
        }
        _ => None,
    }
}

/// Returns whether a place is another one or below it.
fn is_within(place: &JsonPointer, other: &JsonPointer) -> bool {
    let mut tokens = place.tokens();
    other.tokens().all(|token| tokens.next().is_some_and(|own| own == token))
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
