//! `hence check` of a capabilities file and of a file of policies.

use std::path::Path;

use hence_canon::{JsonPointer, Value};
use hence_capabilities::registry::SourceProblem;
use hence_policy::policy::Policy;

use super::{CheckReport, FindingRow, row_at};
use crate::args::skill::CheckArgs;
use crate::commands::all_policies_named;
use crate::document_kind::DocumentKind;
use crate::input;
use crate::prelude::*;
use crate::skills::{self, SkillDocument};

/// The kinds of documents other than skills and problems.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    Capabilities,
    Policies,
}

/// Returns what a document is meant to be, if it is neither a skill nor a problem.
pub(super) fn kind_of(name: &str, bytes: &[u8]) -> Result<Option<Other>, CliError> {
    if Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return Ok(Some(Other::Policies));
    }
    match DocumentKind::of_members(name, bytes, "a problem, a skill, a capabilities file or policies")? {
        Some(DocumentKind::Capabilities) => Ok(Some(Other::Capabilities)),
        Some(DocumentKind::Policies) => Ok(Some(Other::Policies)),
        Some(DocumentKind::Trace) => {
            let shown = input::shown_name(name);
            let message = format!("{shown} is a review trace, which `hence check` does not read");
            Err(CliError::new(Code::Argument, message).with_hint(hint::use_of(DocumentKind::Trace, shown)))
        }
        Some(DocumentKind::Problem | DocumentKind::Skill) | None => Ok(None),
    }
}

pub(super) fn run(context: &Context, args: &CheckArgs, bytes: &[u8], kind: Other) -> Result<Exit, CliError> {
    if !args.nested.skill.is_empty() || !args.capabilities.capabilities.is_empty() {
        let message = "--skill and --capabilities are for skills and problems, and this is neither";
        return Err(CliError::new(Code::Argument, message).with_hint(hint::LEAVE_IT_OUT));
    }
    let (file, findings) = match kind {
        Other::Capabilities => of_capabilities(&args.document, bytes)?,
        Other::Policies => of_policies(&args.document, bytes)?,
    };
    let errors = findings.iter().filter(|finding| finding.severity == "error").count();
    let warnings = findings.len() - errors;
    CheckReport { file, runs: errors == 0, errors, warnings, findings }.print(context)?;
    Ok(if errors == 0 { Exit::Yes } else { Exit::No })
}

fn of_capabilities(name: &str, bytes: &[u8]) -> Result<(String, Vec<FindingRow>), CliError> {
    let document = read(name, bytes)?;
    let problems = skills::problems_of_file(name, document.document.value())?;
    let row = |SourceProblem { problem, .. }: SourceProblem| {
        let span = document.document.place(&problem.pointer).head();
        let finding = ("error", "capabilities".to_owned(), problem.message.clone());
        row_at(&document, &problem.pointer, span, finding)
    };
    let mut rows: Vec<FindingRow> = problems.into_iter().map(row).collect();
    rows.sort_by_key(|row| (row.line, row.column));
    Ok((document.name, rows))
}

fn of_policies(name: &str, bytes: &[u8]) -> Result<(String, Vec<FindingRow>), CliError> {
    let (set, refused) = all_policies_named(name)?;
    // A file in TOML has no places, even where its text happens to be YAML; its findings name the policy.
    let is_toml = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    let document = if is_toml { None } else { read(name, bytes).ok() };
    let shown = input::shown_name(name).to_owned();
    let mut rows = Vec::new();
    for error in refused {
        let found = ("error", "policy".to_owned(), error.kind.to_string());
        rows.push(match &document {
            Some(document) => {
                row_at(document, &error.pointer, document.document.place(&error.pointer).head(), found)
            }
            None => in_first_line(&String::from_utf8_lossy(bytes), found),
        });
    }
    for (index, policy) in set.policies().iter().enumerate() {
        for finding in policy.lint() {
            let severity = finding.severity().as_str();
            let message = format!("{}: {finding}", policy.id());
            let found = (severity, "policy".to_owned(), message);
            rows.push(match &document {
                Some(document) => {
                    let pointer = place_of(document.document.value(), policy, index);
                    row_at(document, &pointer, document.document.place(&pointer).head(), found)
                }
                None => without_place(&String::from_utf8_lossy(bytes), policy, found),
            });
        }
    }
    rows.sort_by_key(|row| (row.line, row.column));
    Ok((shown, rows))
}

/// Returns the place of a policy in a document: in its list of policies, or the whole document.
fn place_of(document: &Value, policy: &Policy, index: usize) -> JsonPointer {
    let root = JsonPointer::root();
    // A policy that was refused has an index, too, so the ones that follow it are not at theirs.
    let lists = [root.child("policies"), root.child("policy"), root.clone()];
    let mut places = lists.iter().flat_map(|list| {
        let items = document.pointer(list).and_then(Value::as_array).unwrap_or_default();
        (index..items.len()).map(|index| list.child(index))
    });
    let is_there =
        |pointer: &JsonPointer| document.pointer(pointer).and_then(Value::as_object) == Some(policy.source());
    places.find(is_there).unwrap_or(root)
}

/// Returns a finding in a text whose places are not known, at its first line.
fn in_first_line(text: &str, (severity, rule, message): (&'static str, String, String)) -> FindingRow {
    let source = text.lines().next().unwrap_or_default().to_owned();
    let width = source.trim_end().chars().count();
    FindingRow { severity, rule, message, pointer: String::new(), line: 1, column: 1, width, source }
}

/// Returns a finding in a text whose places are not known, at the first line that names the policy.
fn without_place(text: &str, policy: &Policy, found: (&'static str, String, String)) -> FindingRow {
    let (severity, rule, message) = found;
    let quoted = ['"', '\''].map(|quote| format!("{quote}{}{quote}", policy.id()));
    let names = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        matches!(key, "id" | "policy_id") && quoted.iter().any(|id| line.contains(id.as_str()))
    };
    let named = text.lines().enumerate().find(|(_, line)| names(line));
    let (line, source) = named.map_or((1, ""), |(line, source)| (line + 1, source));
    let (column, width) = (1, source.trim_end().chars().count());
    let pointer = String::new();
    FindingRow { severity, rule, message, pointer, line, column, width, source: source.to_owned() }
}

fn read(name: &str, bytes: &[u8]) -> Result<SkillDocument, CliError> {
    let shown = input::shown_name(name).to_owned();
    let document = hence_yaml::parse(bytes).map_err(|error| CliError::at(Code::NotJson, &shown, error))?;
    let text = String::from_utf8_lossy(bytes).into_owned();
    Ok(SkillDocument { name: shown, text, document, findings: Vec::new() })
}
