//! `hence export`: writes a run as a bundle.

use std::path::Path;

use hence_canon::Digest;
use hence_journal::read_tail;
use hence_store::{FileStore, Store as _};

use crate::args::ExportArgs;
use crate::bundle::{BLOBS, BundleFile, FORMAT, JOURNAL, MANIFEST, Manifest, is_local, referenced_blobs};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::target;

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
}

impl Text for ExportReport {
    fn text(&self) -> String {
        pairs(&[
            ("run", escape(&self.run)),
            ("bundle", escape(&self.dir)),
            ("head", self.head.clone()),
            ("files", format!("{} ({} bytes)", self.files, self.bytes)),
        ])
    }
}

pub(super) fn run(context: &Context, args: &ExportArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let run = target::find_run(&store, &args.run)?;
    let mut journal = store.journal_bytes(&run)?;
    let tail = read_tail(&journal).map_err(|error| CliError::of_run(Code::Damaged, &run, error))?;
    // An unfinished append was never acknowledged.
    journal.truncate(journal.len() - tail.torn_bytes);
    let head = tail.head.to_string();
    // All blobs are read before anything is written: a bundle that would be incomplete is not started.
    for digest in referenced_blobs(&journal, &StoreBlobs(&store)) {
        store.blob(&digest)?;
    }
    make_folder(&args.dir)?;
    let mut files = vec![write(&args.dir, JOURNAL, &journal)?];
    for name in store.attachments(&run)?.iter().filter(|name| !is_local(name)) {
        files.push(write(&args.dir, name.as_str(), &store.attachment(&run, name)?)?);
    }
    files.extend(write_blobs(&args.dir, &store, &journal)?);
    let bytes = files.iter().map(|file| file.bytes).sum();
    let manifest =
        Manifest { format: FORMAT.to_owned(), run: run.as_str().to_owned(), head: head.clone(), files };
    let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    // The manifest is written last: a folder without one is not a bundle.
    write(&args.dir, MANIFEST, format!("{text}\n").as_bytes())?;
    let files = manifest.files.len() + 1;
    let dir = args.dir.display().to_string();
    context.print(&ExportReport { run: manifest.run, dir, head, files, bytes })?;
    Ok(Exit::Yes)
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

fn write_blobs(dir: &Path, store: &FileStore, journal: &[u8]) -> Result<Vec<BundleFile>, CliError> {
    let digests = referenced_blobs(journal, &StoreBlobs(store));
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    let folder = dir.join(BLOBS);
    std::fs::create_dir(&folder).map_err(|error| CliError::file("create the folder", &folder, error))?;
    digests.iter().map(|digest| write(dir, &format!("{BLOBS}/{digest}"), &store.blob(digest)?)).collect()
}
