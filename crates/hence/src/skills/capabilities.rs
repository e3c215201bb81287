//! Capabilities files: reads them with every finding at its place, and stores them next to the journal that pins them.

use std::path::Path;

use hence_canon::{Canonical, Digest, Object, Value, parse};
use hence_capabilities::registry::SourceProblem;
use hence_capabilities::{Declarations, Kinds, Library, Source};
use hence_store::AttachmentName;

use crate::args::skill::CapabilitiesArgs;
use crate::code::Code;
use crate::error::CliError;
use crate::hint;
use crate::input;

/// The attachment that holds the capability declarations of a run, and the folders of their files.
pub(crate) const CAPABILITIES: &str = "capabilities.json";

/// Returns the name of the attachment.
pub(crate) fn capabilities_name() -> AttachmentName {
    AttachmentName::new(CAPABILITIES).expect("the name is plain")
}

/// Returns the kinds of providers that capabilities files may name.
pub(crate) fn kinds() -> Kinds {
    #[cfg(feature = "models")]
    return Kinds::standard().with(hence_models::LlmKind);
    #[cfg(not(feature = "models"))]
    Kinds::standard()
}

/// A parsed capabilities file and its name.
struct Named {
    name: String,
    document: hence_yaml::Document,
}

/// Returns the capabilities of a skill: the built-in ones, those its own files declare, and those of the command line.
pub(crate) fn library_for(skill: &str, bytes: &[u8], args: &CapabilitiesArgs) -> Result<Library, CliError> {
    // A document that cannot be parsed is reported when the skill itself is read.
    let document = hence_yaml::parse(bytes).ok();
    let own = document.as_ref().map(|document| own_files(document.value())).unwrap_or_default();
    let mut files: Vec<String> = own.iter().map(|file| beside(skill, file)).collect();
    files.extend(args.capabilities.iter().cloned());
    read(&files).map(Library::with)
}

/// Returns the path of a file that a skill names, relative to the folder of the skill.
pub(super) fn beside(skill: &str, file: &str) -> String {
    let folder = Path::new(skill).parent().filter(|_| skill != "-").unwrap_or(Path::new(""));
    folder.join(file).to_string_lossy().into_owned()
}

/// Returns the capabilities files that a skill names.
fn own_files(skill: &Value) -> Vec<String> {
    match skill.get("capabilities") {
        Some(Value::String(file)) => vec![file.to_string()],
        Some(Value::Array(files)) => files.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Reads capabilities files.
pub(crate) fn read(files: &[String]) -> Result<Declarations, CliError> {
    read_with(files, Vec::new())
}

/// Reads capabilities files, and declarations that come from no file.
pub(crate) fn read_with(files: &[String], more: Vec<Source>) -> Result<Declarations, CliError> {
    let mut named = Vec::new();
    let mut sources = Vec::new();
    for file in files {
        let bytes = input::read_parsable(file, Code::NotJson)?;
        let name = input::shown_name(file).to_owned();
        let document =
            hence_yaml::parse(&bytes).map_err(|error| CliError::at(Code::NotJson, &name, error))?;
        sources.push(Source { document: document.value().clone(), folder: folder_of(file)? });
        named.push(Named { name, document });
    }
    sources.extend(more);
    // Only files that a person gives are checked: what a run pinned is read as it was.
    let unknown = super::action_types::of_files(&sources);
    match Declarations::read(sources, &kinds()) {
        Ok(declarations) if unknown.is_empty() => Ok(declarations),
        Ok(_) => Err(refused(&named, &unknown)),
        Err(mut problems) => {
            problems.extend(unknown);
            Err(refused(&named, &problems))
        }
    }
}

/// Returns everything that is wrong with a capabilities file.
pub(crate) fn problems_of_file(name: &str, document: &Value) -> Result<Vec<SourceProblem>, CliError> {
    let sources = vec![Source { document: document.clone(), folder: folder_of(name)? }];
    let mut problems = super::action_types::of_files(&sources);
    problems.extend(Declarations::read(sources, &kinds()).err().unwrap_or_default());
    Ok(problems)
}

/// Returns the folder of a file, as an absolute path: a run may be resumed from any folder.
fn folder_of(file: &str) -> Result<std::path::PathBuf, CliError> {
    let folder = match Path::new(file).parent() {
        Some(folder) if file != "-" && !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    folder.canonicalize().map_err(|error| CliError::file("open", folder, error))
}

fn refused(files: &[Named], problems: &[SourceProblem]) -> CliError {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let count = problems.len();
    let things = if count == 1 { "finding" } else { "findings" };
    let message = format!("{} is refused: {count} {things}", names.join(", "));
    let mut findings: Vec<_> = problems.iter().map(|problem| finding(files, problem)).collect();
    findings.sort_by_key(|(place, _)| *place);
    CliError::new(Code::Capabilities, message).with_findings(findings.into_iter().map(|(_, text)| text))
}

/// Returns a finding with its place, by which findings are sorted in the order of the files.
fn finding(files: &[Named], found: &SourceProblem) -> ((usize, usize), String) {
    let SourceProblem { source, problem } = found;
    match files.get(*source) {
        Some(file) => {
            let at = file.document.place(&problem.pointer).head().start;
            ((*source, at.offset), format!("{}:{}:{}: {problem}", file.name, at.line, at.column))
        }
        None => ((*source, 0), problem.to_string()),
    }
}

/// Returns the attachment with the declarations of a run.
pub(crate) fn attachment(declarations: &Declarations) -> Vec<u8> {
    let file = |source: &Source| {
        let folder = source.folder.to_string_lossy().into_owned();
        Object::from_iter([("folder", Value::from(folder)), ("document", source.document.clone())])
    };
    let files: Vec<Object> = declarations.sources().iter().map(file).collect();
    Canonical::of(&Object::from_iter([("files", Value::from(files))]).into()).bytes().to_vec()
}

/// Reads stored declarations, whoever pins them.
pub(crate) fn read_attached(bytes: &[u8]) -> Result<Declarations, CliError> {
    let document = parse(bytes).map_err(|error| CliError::not_json(CAPABILITIES, error))?;
    let source = |file: &Value| {
        let folder = file.get("folder")?.as_str()?.into();
        Some(Source { document: file.get("document")?.clone(), folder })
    };
    let files = document.get("files").and_then(Value::as_array).unwrap_or_default();
    let sources: Option<Vec<Source>> = files.iter().map(source).collect();
    Declarations::read(sources.unwrap_or_default(), &kinds()).map_err(|problems| refused(&[], &problems))
}

/// Returns what stored declarations hold beyond what a run stores: the digest that the problem pins covers what is declared, and
/// nothing else in the file. Declarations that cannot be read are reported where they are needed.
pub(crate) fn attachment_defect(bytes: &[u8]) -> Option<String> {
    let document = parse(bytes).ok()?;
    let unknown = |value: &Value, known: &[&str], place: &str| -> Vec<String> {
        let members = value.as_object().into_iter().flat_map(Object::iter_sorted);
        let unknown = members.filter(|(key, _)| !known.contains(&&***key));
        unknown.map(|(key, _)| format!("`{place}{key}`")).collect()
    };
    let mut found = unknown(&document, &["files"], "");
    for (place, file) in document.get("files")?.as_array()?.iter().enumerate() {
        found.extend(unknown(file, &["folder", "document"], &format!("files[{place}].")));
    }
    (!found.is_empty())
        .then(|| format!("{CAPABILITIES} has members that no run stores: {}", found.join(", ")))
}

/// Reads the stored declarations of a run, which must be the ones the run pins.
pub(crate) fn read_stored(run: &str, bytes: Option<&[u8]>, pinned: Digest) -> Result<Declarations, CliError> {
    let other = |message: String| {
        CliError::new(Code::OtherCapabilities, format!("{run}: {message}")).with_hint(hint::NAME_CAPABILITIES)
    };
    let Some(bytes) = bytes else {
        return Err(other("the capabilities it was run with are missing".to_owned()));
    };
    let declarations = read_attached(bytes)?;
    let found = declarations.canonical().digest();
    if found != pinned {
        let message =
            format!("it pins capabilities {}, {CAPABILITIES} holds {}", pinned.short(), found.short());
        return Err(other(message));
    }
    Ok(declarations)
}

/// Reads the files that the command line names for a stored run: they must declare what the run pins.
pub(crate) fn read_again(
    run: &str,
    files: &[String],
    pinned: Option<Digest>,
    kept: Option<&Declarations>,
) -> Result<Declarations, CliError> {
    let given = read(files)?;
    let found = given.canonical().digest();
    match pinned {
        Some(pinned) if pinned == found => Ok(given),
        Some(pinned) => {
            let message = format!(
                "run {run} pins capabilities {}, the files given say {}",
                pinned.short(),
                found.short()
            );
            let differences = kept.map(|kept| differences(kept, &given)).unwrap_or_default();
            Err(CliError::new(Code::OtherCapabilities, message).with_findings(differences))
        }
        None => {
            let message = format!("run {run} was made without declared capabilities");
            Err(CliError::new(Code::OtherCapabilities, message).with_hint(hint::LEAVE_CAPABILITIES_OUT))
        }
    }
}

fn differences(kept: &Declarations, given: &Declarations) -> Vec<String> {
    let documents = |declarations: &Declarations, key: &str| {
        declarations.canonical().value().get(key).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let mut found = Vec::new();
    for (key, word) in [("capabilities", "capability"), ("secrets", "secret")] {
        let (kept, given) = (documents(kept, key), documents(given, key));
        for (name, value) in kept.iter_sorted() {
            match given.get(name) {
                None => found.push(format!("{word} `{name}` is not there any more")),
                Some(other) if other != value => found.push(format!("{word} `{name}` is declared otherwise")),
                Some(_) => {}
            }
        }
        let new = given.iter_sorted().filter(|(name, _)| !kept.contains_key(name));
        found.extend(new.map(|(name, _)| format!("{word} `{name}` is new")));
    }
    found
}
