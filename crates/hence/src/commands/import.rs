//! `hence import`: a bundle into the store, checked before anything is stored.

use std::num::NonZeroUsize;
use std::path::{Component, Path};

use hence_canon::Digest;
use hence_journal::verify::{Outcome, check_chain};
use hence_store::{AttachmentName, Durability, NewRun, RunId, Store as _, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ImportArgs;
use crate::bundle::{BLOBS, BundleFile, FORMAT, JOURNAL, MANIFEST, Manifest};
use crate::code::Code;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input;
use crate::report::{Text, pairs};

/// A bundle that was taken in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportReport {
    /// The run's id.
    run: String,
    /// Where its journal ends.
    head: String,
    /// How many records it holds.
    records: u64,
    /// How many large values came with it.
    blobs: usize,
    /// Whether the store had the same run already.
    already_there: bool,
}

impl Text for ImportReport {
    fn text(&self) -> String {
        let there = if self.already_there { " (was there already, nothing changed)" } else { "" };
        pairs(&[
            ("run", format!("{}{there}", escape(&self.run))),
            ("head", self.head.clone()),
            ("records", self.records.to_string()),
            ("blobs", self.blobs.to_string()),
        ])
    }
}

/// The files of a bundle, each checked against the manifest.
struct Contents {
    journal: Vec<u8>,
    attachments: Vec<(AttachmentName, Vec<u8>)>,
    blobs: Vec<(Digest, Vec<u8>)>,
}

pub(super) fn run(context: &Context, args: &ImportArgs) -> Result<Exit, CliError> {
    let manifest = read_manifest(&args.dir)?;
    let id = RunId::new(&manifest.run).map_err(|error| bundle_error(&args.dir, error.to_string()))?;
    let contents = read_contents(&args.dir, &manifest)?;
    let head = check_journal(&args.dir, &manifest, &contents.journal)?;
    let store = context.store_or_new()?;
    // Large values first: a run is never there without what its records refer to.
    for (_, bytes) in &contents.blobs {
        store.put_blob(bytes, Durability::Synced)?;
    }
    let records = head.records.get();
    let new = NewRun { id, attachments: contents.attachments, lines: contents.journal };
    let already_there = match store.create(new) {
        Ok(_) => false,
        Err(StoreError::AlreadyCreated { .. }) => true,
        Err(error) => {
            return Err(
                CliError::from(error).advise("the stored run was not touched; compare with `hence diff`")
            );
        }
    };
    let blobs = contents.blobs.len();
    context.print(&ImportReport {
        run: manifest.run,
        head: head.to_string(),
        records,
        blobs,
        already_there,
    })?;
    Ok(Exit::Yes)
}

fn bundle_error(dir: &Path, message: impl std::fmt::Display) -> CliError {
    CliError::new(Code::Bundle, format!("{}: {message}", dir.display()))
}

fn read_manifest(dir: &Path) -> Result<Manifest, CliError> {
    let path = dir.join(MANIFEST);
    let bytes = input::read_file(&path)?;
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|error| bundle_error(&path, format!("not a manifest: {error}")))?;
    if manifest.format != FORMAT {
        let message = format!("expected format {FORMAT:?}, found {:?}", manifest.format);
        return Err(bundle_error(&path, message));
    }
    Ok(manifest)
}

fn read_contents(dir: &Path, manifest: &Manifest) -> Result<Contents, CliError> {
    let mut contents = Contents { journal: Vec::new(), attachments: Vec::new(), blobs: Vec::new() };
    for file in &manifest.files {
        let bytes = read_checked(dir, file)?;
        if file.path == JOURNAL {
            contents.journal = bytes;
        } else if let Some(name) = file.path.strip_prefix(BLOBS).and_then(|rest| rest.strip_prefix('/')) {
            let digest: Digest = name.parse().map_err(|error| bundle_error(dir, error))?;
            if digest != Digest::of(&bytes) {
                return Err(bundle_error(
                    dir,
                    format!("{} does not hold the value it is named after", file.path),
                ));
            }
            contents.blobs.push((digest, bytes));
        } else {
            let name = AttachmentName::new(&file.path).map_err(|error| bundle_error(dir, error))?;
            contents.attachments.push((name, bytes));
        }
    }
    Ok(contents)
}

/// Reads a file the manifest names, which must lie inside the bundle and be what the manifest says.
fn read_checked(dir: &Path, file: &BundleFile) -> Result<Vec<u8>, CliError> {
    let relative = Path::new(&file.path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(bundle_error(dir, format!("{:?} leads out of the bundle", file.path)));
    }
    let path = dir.join(relative);
    let is_plain = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    if !is_plain {
        return Err(bundle_error(dir, format!("{} is not a plain file of the bundle", file.path)));
    }
    let bytes = input::read_file(&path)?;
    let found = Digest::of(&bytes).to_string();
    if found != file.sha256 || bytes.len() as u64 != file.bytes {
        let message = format!("{}: expected digest {}, found {found}", file.path, file.sha256);
        return Err(bundle_error(dir, message));
    }
    Ok(bytes)
}

fn check_journal(dir: &Path, manifest: &Manifest, journal: &[u8]) -> Result<hence_journal::Head, CliError> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let chain = check_chain(journal, threads);
    match (&chain.outcome, chain.head) {
        (Outcome::Holds, Some(head)) if head.to_string() == manifest.head => Ok(head),
        (Outcome::Holds, Some(head)) => Err(bundle_error(
            dir,
            format!("the manifest names head {}, the journal ends at {head}", manifest.head),
        )),
        (Outcome::Broken(found), _) => {
            let reasons: Vec<String> = found.reasons.iter().map(ToString::to_string).collect();
            Err(bundle_error(
                dir,
                format!("the journal breaks at record {}: {}", found.line, reasons.join("; ")),
            ))
        }
        _ => Err(bundle_error(dir, "the journal holds no record")),
    }
}
