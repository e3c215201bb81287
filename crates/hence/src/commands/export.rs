//! `hence export`: a run as a bundle.

use std::collections::BTreeSet;
use std::path::Path;

use hence_canon::{Digest, parse};
use hence_engine::referenced;
use hence_journal::read_tail;
use hence_store::{FileStore, RunId, Store as _};
use hence_variables::Event;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ExportArgs;
use crate::bundle::{BLOBS, BundleFile, FORMAT, JOURNAL, MANIFEST, Manifest};
use crate::code::Code;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interactive::spills_of;
use crate::report::{Text, pairs};
use crate::sink::StoreBlobs;
use crate::target;

/// A bundle that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportReport {
    /// The run's id.
    run: String,
    /// The folder.
    dir: String,
    /// Where the journal ends.
    head: String,
    /// How many files the bundle holds.
    files: usize,
    /// Their size together.
    bytes: u64,
}

impl Text for ExportReport {
    fn text(&self) -> String {
        pairs(&[
            ("run", escape(&self.run)),
            ("bundle", self.dir.clone()),
            ("head", self.head.clone()),
            ("files", format!("{} ({} bytes)", self.files, self.bytes)),
        ])
    }
}

pub(super) fn run(context: &Context, args: &ExportArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let run = target::find_run(&store, &args.run)?;
    make_folder(&args.dir)?;
    let journal = whole_records(&run, store.journal_bytes(&run)?)?;
    let head = read_tail(&journal)
        .map_err(|error| CliError::new(Code::Damaged, format!("run {run}: {error}")))?
        .head
        .to_string();
    let mut files = vec![write(&args.dir, JOURNAL, &journal)?];
    for name in store.attachments(&run)? {
        files.push(write(&args.dir, name.as_str(), &store.attachment(&run, &name)?)?);
    }
    files.extend(write_blobs(&args.dir, &store, &journal)?);
    let bytes = files.iter().map(|file| file.bytes).sum();
    let manifest =
        Manifest { format: FORMAT.to_owned(), run: run.as_str().to_owned(), head: head.clone(), files };
    let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    // The manifest comes last: a folder without one is no bundle.
    write(&args.dir, MANIFEST, format!("{text}\n").as_bytes())?;
    let files = manifest.files.len() + 1;
    let dir = args.dir.display().to_string();
    context.print(&ExportReport { run: manifest.run, dir, head, files, bytes })?;
    Ok(Exit::Yes)
}

/// Makes the folder; one that holds something is left alone.
fn make_folder(dir: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(dir).map_err(|error| CliError::file("make the folder", dir, &error))?;
    let mut entries = std::fs::read_dir(dir).map_err(|error| CliError::file("list", dir, &error))?;
    if entries.next().is_some() {
        let message = format!("{} is not empty, a bundle needs a folder of its own", dir.display());
        return Err(CliError::new(Code::File, message).advise("name a folder that is not there yet"));
    }
    Ok(())
}

/// Leaves off an append that is under way or was interrupted: it was never acknowledged.
fn whole_records(run: &RunId, mut journal: Vec<u8>) -> Result<Vec<u8>, CliError> {
    let tail =
        read_tail(&journal).map_err(|error| CliError::new(Code::Damaged, format!("run {run}: {error}")))?;
    journal.truncate(journal.len() - tail.torn_bytes);
    Ok(journal)
}

fn write(dir: &Path, path: &str, bytes: &[u8]) -> Result<BundleFile, CliError> {
    let full = dir.join(path);
    std::fs::write(&full, bytes).map_err(|error| CliError::file("write", &full, &error))?;
    Ok(BundleFile { path: path.to_owned(), sha256: Digest::of(bytes).to_string(), bytes: bytes.len() as u64 })
}

fn write_blobs(dir: &Path, store: &FileStore, journal: &[u8]) -> Result<Vec<BundleFile>, CliError> {
    let digests = referenced_blobs(store, journal)?;
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    let folder = dir.join(BLOBS);
    std::fs::create_dir(&folder).map_err(|error| CliError::file("make the folder", &folder, &error))?;
    digests.iter().map(|digest| write(dir, &format!("{BLOBS}/{digest}"), &store.blob(digest)?)).collect()
}

/// Finds the large values that a journal's results refer to, those of variables among them.
fn referenced_blobs(store: &FileStore, journal: &[u8]) -> Result<BTreeSet<Digest>, CliError> {
    let mut found = BTreeSet::new();
    for line in journal.split(|byte| *byte == b'\n') {
        let Some(record) = parse(line).ok() else { continue };
        let Some(output) = record.get("result").and_then(|result| result.get("output")) else { continue };
        found.extend(referenced(output));
        let step = record.get("result").and_then(|result| result.get("step")?.as_str());
        if step.is_some_and(|step| step.starts_with("vars.")) {
            let event = hence_engine::resolve(&output.clone().into(), &StoreBlobs(store))?;
            // What is no event refers to nothing; `hence verify` says what is wrong with it.
            let event = Event::from_value(&event).ok();
            found.extend(event.iter().flat_map(spills_of).map(|spill| spill.sha256));
        }
    }
    Ok(found)
}
