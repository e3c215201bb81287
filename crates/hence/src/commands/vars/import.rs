//! `hence vars import`: a state document as a new run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hence_canon::{Digest, Value};
use hence_engine::variables_problem;
use hence_store::{ConfinedError, Durability, StoreHandle};
use hence_variables::document::{Document, Verdict};
use hence_variables::{Call, CheckpointId, Import, Reply, Spill, StorePath, Stored};

use super::change::ChangeReport;
use crate::args::vars::ImportArgs;
use crate::interactive::{CallerTime, Loaded, Session, create, read_below};
use crate::prelude::*;
use crate::{clock, input};

/// Imports a document from the prompt, next to the run that is open there.
pub(super) fn into_store(
    context: &Context,
    session: &mut Session<'_>,
    args: &ImportArgs,
) -> Result<Exit, CliError> {
    run(context, args, &session.root, session.time())
}

pub(super) fn run(
    context: &Context,
    args: &ImportArgs,
    root: &Path,
    time: CallerTime,
) -> Result<Exit, CliError> {
    let document = parse(&args.file, &input::read_parsable(&args.file, Code::Document)?)?;
    let files = Files { folders: folders(&args.file, root), store: context.store().ok() };
    let snapshots = snapshots(&document, &files)?;
    let large = large_values(args, std::iter::once(&document).chain(snapshots.values()), &files)?;
    let store = context.store_or_new()?;
    // Large values first: a run never exists without the blobs its records refer to.
    for bytes in &large {
        store.put_blob(bytes, Durability::Synced)?;
    }
    let prompt = document.variables.get("prompt").and_then(|(prompt, _)| match &prompt.stored {
        Stored::Inline { value: Value::String(text), .. } => Some(text.to_string()),
        _ => None,
    });
    let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
    let prompt = prompt.unwrap_or_else(|| format!("go on with {}", document.state_id));
    let import = Import { document, snapshots };
    let now = time.not_before(context, import.last_moment())?;
    let problem = variables_problem(&args.target.run, clock::second_of(now)?.as_str(), &prompt);
    let call = Call::Import(Box::new(import));
    let (_, id, run, reply) = create(context, problem, root, &call, now)?;
    let run = Loaded::Variables(Box::new(run));
    if let Reply::Created { state, .. } = reply {
        context.print(&ChangeReport::of(id.as_str(), &run, state, "import", Some(&args.file)))?;
    }
    Ok(Exit::Yes)
}

/// The places in which the files of a document are looked for.
struct Files {
    /// The folders that may hold `.aiwg/rlm`, the one that the user names first.
    folders: Vec<PathBuf>,
    /// The store, if there is one already.
    store: Option<StoreHandle>,
}

/// Returns the folders below which the files of a document may be: the one that is given, and the one that an export wrote the
/// document into.
fn folders(file: &str, root: &Path) -> Vec<PathBuf> {
    let exported = Path::new(file).canonicalize().ok().and_then(|file| {
        let above = file.ancestors().find(|above| above.ends_with(Path::new(".aiwg").join("rlm")))?;
        above.parent()?.parent().map(Path::to_owned)
    });
    std::iter::once(root.to_owned()).chain(exported).collect()
}

impl Files {
    /// Reads a file below the first folder that has it.
    fn read(&self, path: &StorePath) -> Result<Vec<u8>, ConfinedError> {
        let mut found = Err(ConfinedError::Missing);
        for folder in &self.folders {
            found = read_below(folder, path);
            if !matches!(found, Err(ConfinedError::Missing)) {
                break;
            }
        }
        found
    }

    /// Reads a large value, from a file or else from the store.
    fn large_value(&self, spill: &Spill) -> Result<Vec<u8>, ConfinedError> {
        match self.read(&spill.path) {
            Err(ConfinedError::Missing) => {
                let stored = self.store.as_ref().and_then(|store| store.blob(&spill.sha256).ok());
                stored.ok_or(ConfinedError::Missing)
            }
            found => found,
        }
    }
}

fn refused(name: &str, findings: Vec<String>) -> CliError {
    let count = findings.len();
    let things = if count == 1 { "finding" } else { "findings" };
    CliError::new(Code::Document, format!("{name} is refused: {count} {things}")).with_findings(findings)
}

fn parse(name: &str, bytes: &[u8]) -> Result<Document, CliError> {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let value = match extension {
        Some("yaml" | "yml") => {
            hence_yaml::parse_value(bytes).map_err(|error| CliError::at(Code::Document, name, error))?
        }
        _ => hence_canon::parse(bytes).map_err(|error| CliError::at(Code::Document, name, error))?,
    };
    let lines = |verdict: Verdict| verdict.to_string().lines().map(str::to_owned).collect();
    Document::from_value(&value).map_err(|verdict| refused(name, lines(verdict)))
}

/// Reads the snapshots. A checkpoint without one is imported and cannot be rolled back to.
fn snapshots(document: &Document, files: &Files) -> Result<BTreeMap<CheckpointId, Document>, CliError> {
    let mut found = BTreeMap::new();
    for checkpoint in &document.checkpoints {
        let Some(path) = &checkpoint.snapshot_path else { continue };
        match files.read(path) {
            Ok(bytes) => found.insert(checkpoint.id, parse(path.as_str(), &bytes)?),
            Err(ConfinedError::Missing) => None,
            Err(error) => return Err(refused(path.as_str(), vec![error.to_string()])),
        };
    }
    Ok(found)
}

/// Reads the large values the documents refer to; each must exist and match its digest.
fn large_values<'a>(
    args: &ImportArgs,
    documents: impl Iterator<Item = &'a Document>,
    files: &Files,
) -> Result<Vec<Vec<u8>>, CliError> {
    let (mut values, mut findings) = (Vec::new(), Vec::new());
    for (variable, _) in documents.flat_map(|document| document.variables.values()) {
        let Stored::Spilled(spill) = &variable.stored else { continue };
        match files.large_value(spill) {
            Ok(bytes) if Digest::of(&bytes) == spill.sha256 => match spill.check(&bytes) {
                // A document may describe a file of another form as it likes.
                Err(fault) if spill.path.spill_digest().is_some() => {
                    findings.push(format!("{fault} [file_corrupt, SPILL-7]"));
                }
                Ok(()) | Err(_) => values.push(bytes),
            },
            Ok(bytes) => findings.push(format!(
                "{}: expected sha256 {}, found {} [file_corrupt, SPILL-7]",
                spill.path,
                spill.sha256,
                Digest::of(&bytes)
            )),
            Err(error) => findings.push(format!("{}: {error} [file_missing, FILE-4]", spill.path)),
        }
    }
    if findings.is_empty() {
        return Ok(values);
    }
    Err(refused(&args.file, findings).with_hint(hint::import_with_root(&args.target.run, &args.file)))
}
