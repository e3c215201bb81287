//! Loading the policies and traces named on the command line.

use std::path::Path;

use hence_canon::{Object, Value, did_you_mean, parse};
use hence_policy::policy::{BUILT_IN, Document, LoadError, Policy, PolicySet, built_in, parse_toml};

use crate::commands::trace::document::file_or_run;
use crate::document_kind::DocumentKind;
use crate::input;
use crate::prelude::*;

/// The notation of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Json,
    Yaml,
    Toml,
}

impl Notation {
    /// Returns the notation of a file by its extension; JSON unless it is another.
    fn of(name: &str) -> Self {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            _ => Self::Json,
        }
    }
}

/// Loads policies from files and built-in packs; every id may occur once.
pub(crate) fn load(names: &[String]) -> Result<PolicySet, CliError> {
    let mut documents = Vec::new();
    for name in names {
        match is_folder(name) {
            true => {
                for file in files_in(name)? {
                    documents.push(document(&file)?);
                }
            }
            false => documents.push(document(name)?),
        }
    }
    PolicySet::load(&documents).map_err(refused)
}

/// Loads the policies of one file or pack as far as they can be loaded, with every error next to them.
pub(crate) fn load_all(name: &str) -> Result<(PolicySet, Vec<LoadError>), CliError> {
    Ok(PolicySet::load_all(&[document(name)?]))
}

/// The endings of files with policies.
const ENDINGS: [&str; 4] = ["json", "toml", "yaml", "yml"];

/// Returns whether a name means a folder. That of a built-in pack means the pack.
fn is_folder(name: &str) -> bool {
    BUILT_IN.iter().all(|(pack, _)| *pack != name) && Path::new(name).is_dir()
}

/// Returns the files of policies in a folder, in the order of their names. Folders in it are not entered.
fn files_in(folder: &str) -> Result<Vec<String>, CliError> {
    let path = Path::new(folder);
    let unreadable = |error| CliError::file("list", path, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let found = entry.map_err(unreadable)?.path();
        let ending = found.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        if found.is_file() && ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
            files.push(found.to_string_lossy().into_owned());
        }
    }
    if files.is_empty() {
        let message = format!("{folder}: expected files of policies (JSON, YAML or TOML), found none");
        return Err(
            CliError::new(Code::Policies, message).with_hint(hint::packs(BUILT_IN.map(|(pack, _)| pack)))
        );
    }
    files.sort();
    Ok(files)
}

/// Returns the policies that a trace carries.
pub(crate) fn of_trace(name: &str, trace: &Value) -> Result<PolicySet, CliError> {
    let shown = input::shown_name(name);
    let own = trace.get("policies").and_then(Value::as_array).filter(|own| !own.is_empty());
    let Some(own) = own else {
        let message = format!("{shown} carries no policies of its own, and no --policy is given");
        return Err(
            CliError::new(Code::Policies, message).with_hint(hint::packs(BUILT_IN.map(|(pack, _)| pack)))
        );
    };
    let value = Object::from_iter([("policies", own.iter().cloned().collect::<Value>())]).into();
    PolicySet::load(&[Document { name: shown.to_owned(), value }]).map_err(refused)
}

/// Loads policies; all built-in packs when none is named.
pub(super) fn load_or_built_in(names: &[String]) -> Result<PolicySet, CliError> {
    if names.is_empty() { Ok(built_in()) } else { load(names) }
}

/// Returns the policies with these ids or in packs with these ids, each once, in the order of the ids; all without ids.
pub(super) fn choose<'s>(set: &'s PolicySet, only: &[String]) -> Result<Vec<&'s Policy>, CliError> {
    if only.is_empty() {
        return Ok(set.policies().iter().collect());
    }
    let mut chosen: Vec<&Policy> = Vec::new();
    for id in only {
        let pack = set.packs().iter().find(|pack| pack.id() == id);
        let members = pack.into_iter().flat_map(|pack| set.members(pack));
        let found: Vec<&Policy> = set.get(id).into_iter().chain(members).collect();
        if found.is_empty() {
            let known = set.policies().iter().map(|policy| policy.id().as_str());
            let meant = did_you_mean(id, known.chain(set.packs().iter().map(|pack| pack.id())));
            let error = CliError::new(Code::NoSuchPlace, format!("no policy or pack {id:?}{meant}"));
            return Err(error.with_hint(hint::LIST_POLICIES));
        }
        for policy in found {
            if chosen.iter().all(|known| known.id() != policy.id()) {
                chosen.push(policy);
            }
        }
    }
    Ok(chosen)
}

/// Reads a trace from a file, or exports the trace of a run.
pub(super) fn read_trace_or_run(context: &Context, name: &str) -> Result<Value, CliError> {
    file_or_run(context, name, read_trace, |_, trace| trace)
}

/// Reads a trace from a file. A document without actions is refused: every policy would be vacuous on it.
pub(crate) fn read_trace(name: &str) -> Result<Value, CliError> {
    let shown = input::shown_name(name);
    let bytes = input::read_parsable(name, Code::NotJson)?;
    let value = read_value(shown, &bytes, Code::NotJson)?;
    match value.get("actions").filter(|actions| !actions.is_null()) {
        Some(_) => Ok(value),
        None if value.as_object().is_some() => {
            Err(CliError::new(Code::NotATrace, format!("{shown}: expected a trace, found no `actions`")))
        }
        None => {
            let message = format!("{shown}: expected a trace, which is an object, found {}", value.kind());
            Err(CliError::new(Code::NotATrace, message))
        }
    }
}

fn document(name: &str) -> Result<Document, CliError> {
    // The name of a pack means the pack: a file of that name must not replace it unseen.
    if let Some((_, text)) = BUILT_IN.iter().find(|(pack, _)| *pack == name) {
        let value = toml(name, text)?;
        return Ok(Document { name: name.to_owned(), value });
    }
    let bytes = input::read_parsable(name, Code::Policies).map_err(|error| match error.code {
        Code::File if !name.contains(['/', '.']) => {
            let packs = BUILT_IN.map(|(pack, _)| pack);
            let message = format!("{}{}", error.message, did_you_mean(name, packs));
            CliError { message, ..error }.with_hint(hint::packs(packs))
        }
        _ => error,
    })?;
    let shown = input::shown_name(name);
    let value = read_value(shown, &bytes, Code::Policies)?;
    // Every object could be a policy without a formula, and such a policy stops nothing. A trace may bring policies of its own.
    match DocumentKind::of(&value) {
        None | Some(DocumentKind::Policies | DocumentKind::Trace) => {}
        Some(found) => {
            let message = format!("{shown} is {}: expected policies", found.name());
            return Err(CliError::new(Code::Policies, message).with_hint(hint::use_of(found, shown)));
        }
    }
    Ok(Document { name: shown.to_owned(), value })
}

fn read_value(name: &str, bytes: &[u8], code: Code) -> Result<Value, CliError> {
    match Notation::of(name) {
        Notation::Json => {
            let refused = |error| CliError { code, ..CliError::not_json(name, error) };
            parse(bytes).map_err(refused)
        }
        Notation::Yaml => match hence_yaml::parse(bytes) {
            Ok(document) => Ok(document.value().clone()),
            Err(error) => Err(CliError::at(code, name, error)),
        },
        Notation::Toml => match std::str::from_utf8(bytes) {
            Ok(text) => toml(name, text).map_err(|error| CliError { code, ..error }),
            Err(error) => Err(CliError::at(code, name, error)),
        },
    }
}

/// Reads TOML; the lines of the error that show its location become findings.
fn toml(name: &str, text: &str) -> Result<Value, CliError> {
    parse_toml(text).map_err(|error| {
        let text = error.to_string();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        CliError::new(Code::Policies, format!("{name}: {first}")).with_findings(lines.map(str::trim_end))
    })
}

fn refused(error: LoadError) -> CliError {
    CliError::from_error(Code::Policies, error)
}
