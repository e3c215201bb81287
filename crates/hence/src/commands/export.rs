//! `hence export`: writes a run as a bundle.

use std::path::Path;

use hence_canon::Digest;
use hence_journal::read_tail;
use hence_store::{Condition, Damage, RunId, StoreError, StoreHandle};

use crate::args::ExportArgs;
use crate::bundle::{
    BLOBS, BundleFile, CHILDREN, FORMAT, JOURNAL, MANIFEST, Manifest, is_local, referenced_blobs,
};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::{skills, target};

/// A bundle that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportReport {
    /// The run's id.
    run: String,
    /// The folder.
    dir: String,
    /// The head of the journal.
    head: String,
    /// The number of files in the bundle.
    files: usize,
    /// The size of all files.
    bytes: u64,
    /// The number of nested runs that were written next to it.
    children: usize,
}

impl Text for ExportReport {
    fn text(&self) -> String {
        let mut rows = vec![
            ("run", escape(&self.run)),
            ("bundle", escape(&self.dir)),
            ("head", self.head.clone()),
            ("files", format!("{} ({} bytes)", self.files, self.bytes)),
        ];
        rows.extend((self.children > 0).then(|| ("children", self.children.to_string())));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &ExportArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let run = target::find_run(&store, &args.run)?;
    let children = if args.with_children { children_of(&store, &run)? } else { Vec::new() };
    // All blobs are read before anything is written: a bundle that would be incomplete is not started.
    for run in children.iter().chain([&run]) {
        for digest in referenced_blobs(&whole_journal(&store, run)?.0, &StoreBlobs(&store)) {
            store.blob(&digest)?;
        }
    }
    make_folder(&args.dir)?;
    for (number, child) in children.iter().enumerate() {
        let folder = args.dir.join(CHILDREN).join(format!("{number:04}"));
        make_folder(&folder)?;
        write_bundle(&store, child, &folder)?;
    }
    // The bundle of the run itself comes last: with its manifest the whole export is there.
    let written = write_bundle(&store, &run, &args.dir)?;
    context.print(&ExportReport { children: children.len(), ..written })?;
    Ok(Exit::Yes)
}

/// Returns the runs nested in a run, and those nested in them.
fn children_of(store: &StoreHandle, run: &RunId) -> Result<Vec<RunId>, CliError> {
    let all: Vec<(RunId, Option<String>)> = store
        .list()?
        .into_iter()
        .map(|summary| (summary.run.clone(), skills::links(store, &summary.run).parent))
        .collect();
    let mut found: Vec<RunId> = Vec::new();
    let mut left = vec![run.clone()];
    while let Some(parent) = left.pop() {
        for (child, named) in &all {
            if named.as_deref() == Some(parent.as_str()) && child != run && !found.contains(child) {
                found.push(child.clone());
                left.push(child.clone());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the whole records of a journal, and its head.
fn whole_journal(store: &StoreHandle, run: &RunId) -> Result<(Vec<u8>, String), CliError> {
    // A bundle proves itself, so what a store knows of a journal that was cut must not be lost on the way.
    let head = match store.summary(run)?.condition {
        Condition::Whole { head } | Condition::Torn { head, .. } => head,
        Condition::Damaged(reason) => {
            return Err(StoreError::Damaged { run: run.clone(), reason }.into());
        }
    };
    let mut journal = store.journal_bytes(run)?;
    let tail = read_tail(&journal).map_err(|error| CliError::of_run(Code::Damaged, run, error))?;
    // An unfinished append was never acknowledged.
    journal.truncate(journal.len() - tail.torn_bytes);
    let records = journal.iter().filter(|byte| **byte == b'\n').count() as u64;
    if records < head.records.get() {
        let reason = format!("its head counts {} records, found {records}", head.records.get());
        return Err(StoreError::Damaged { run: run.clone(), reason: Damage::Unreadable(reason) }.into());
    }
    Ok((journal, tail.head.to_string()))
}

/// Writes the bundle of one run into an empty folder.
fn write_bundle(store: &StoreHandle, run: &RunId, dir: &Path) -> Result<ExportReport, CliError> {
    let (journal, head) = whole_journal(store, run)?;
    let mut files = vec![write(dir, JOURNAL, &journal)?];
    for name in store.attachments(run)?.iter().filter(|name| !is_local(name)) {
        files.push(write(dir, name.as_str(), &store.attachment(run, name)?)?);
    }
    files.extend(write_blobs(dir, store, &journal)?);
    let bytes = files.iter().map(|file| file.bytes).sum();
    let manifest =
        Manifest { format: FORMAT.to_owned(), run: run.as_str().to_owned(), head: head.clone(), files };
    let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    // The manifest is written last: a folder without one is not a bundle.
    write(dir, MANIFEST, format!("{text}\n").as_bytes())?;
    let files = manifest.files.len() + 1;
    let dir = dir.display().to_string();
    Ok(ExportReport { run: manifest.run, dir, head, files, bytes, children: 0 })
}

/// Creates the folder; a folder that is not empty is refused.
fn make_folder(dir: &Path) -> Result<(), CliError> {
    if dir.exists() && !dir.is_dir() {
        let message = format!("cannot create the folder {}: a file has that name", dir.display());
        return Err(CliError::new(Code::File, message).with_hint(hint::NEW_FOLDER));
    }
    std::fs::create_dir_all(dir).map_err(|error| CliError::file("create the folder", dir, error))?;
    let mut entries = std::fs::read_dir(dir).map_err(|error| CliError::file("list", dir, error))?;
    if entries.next().is_some() {
        let message = format!("{} is not empty; a bundle needs an empty folder", dir.display());
        return Err(CliError::new(Code::File, message).with_hint(hint::NEW_FOLDER));
    }
    Ok(())
}

fn write(dir: &Path, path: &str, bytes: &[u8]) -> Result<BundleFile, CliError> {
    let full = dir.join(path);
    std::fs::write(&full, bytes).map_err(|error| CliError::file("write", &full, error))?;
    Ok(BundleFile { path: path.to_owned(), sha256: Digest::of(bytes).to_string(), bytes: bytes.len() as u64 })
}

fn write_blobs(dir: &Path, store: &StoreHandle, journal: &[u8]) -> Result<Vec<BundleFile>, CliError> {
    let digests = referenced_blobs(journal, &StoreBlobs(store));
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    let folder = dir.join(BLOBS);
    std::fs::create_dir(&folder).map_err(|error| CliError::file("create the folder", &folder, error))?;
    digests.iter().map(|digest| write(dir, &format!("{BLOBS}/{digest}"), &store.blob(digest)?)).collect()
}
