//! `hence import bundle`: import a bundle into the store, checked before anything is stored.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};

use hence_canon::Digest;
use hence_journal::verify::{Outcome, check_chain};
use hence_journal::{Chained, Head, Lines, Record, RecordIndex};
use hence_store::{AttachmentName, Durability, NewRun, RunId, StoreError, StoreHandle};

use crate::bundle::{
    BLOBS, BundleFile, CHILDREN, FORMAT, JOURNAL, MANIFEST, Manifest, is_local, referenced_blobs,
};
use crate::input;
use crate::measured::state_creation;
use crate::prelude::*;
use crate::time_log::{TIMES, TIMES_ELSEWHERE, times_elsewhere_name};

/// An imported bundle.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportReport {
    /// The run's id.
    run: String,
    /// The head of its journal.
    head: String,
    /// The number of its records.
    records: u64,
    /// The number of its blobs.
    blobs: usize,
    /// The number of nested runs that came with it.
    children: usize,
    /// Whether the store already had the same run.
    already_there: bool,
}

impl Text for ImportReport {
    fn text(&self) -> String {
        let there = if self.already_there { " (was there already, nothing changed)" } else { "" };
        let mut rows = vec![
            ("run", format!("{}{there}", escape(&self.run))),
            ("head", self.head.clone()),
            ("records", self.records.to_string()),
            ("blobs", self.blobs.to_string()),
        ];
        if self.children > 0 {
            rows.push(("children", counted(self.children as u64, "nested run")));
        }
        pairs(&rows)
    }
}

/// The files of a bundle, each checked against the manifest.
struct Contents {
    journal: Vec<u8>,
    attachments: Vec<(AttachmentName, Vec<u8>)>,
    blobs: Vec<(Digest, Vec<u8>)>,
}

pub(super) fn run(context: &Context, dir: &Path) -> Result<Exit, CliError> {
    let children = child_folders(dir)?;
    // Everything is checked before anything is stored.
    for folder in children.iter().map(PathBuf::as_path).chain([dir]) {
        check(context, folder)?;
    }
    for folder in &children {
        take_in(context, folder)?;
    }
    let report = take_in(context, dir)?;
    context.print(&ImportReport { children: children.len(), ..report })?;
    Ok(Exit::Yes)
}

/// Returns the folders of the bundles of nested runs, in order.
fn child_folders(dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    let folder = dir.join(CHILDREN);
    if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Ok(Vec::new());
    }
    let failed = |error| CliError::file("list", &folder, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().map_err(failed)?.is_dir() {
            let message = format!("{} is not a folder", entry.path().display());
            return Err(bundle_error(dir, message));
        }
        found.push(entry.path());
    }
    found.sort();
    Ok(found)
}

/// Reads a bundle and checks it, without changing anything.
fn check(context: &Context, dir: &Path) -> Result<(RunId, Manifest, Contents, Head), CliError> {
    let manifest = read_manifest(dir)?;
    let id = RunId::new(&manifest.run).map_err(|error| bundle_error(dir, error.to_string()))?;
    let contents = read_contents(dir, &manifest)?;
    let head = check_journal(dir, &manifest, &contents.journal)?;
    check_blobs(context, dir, &contents)?;
    Ok((id, manifest, contents, head))
}

/// Imports one bundle.
fn take_in(context: &Context, dir: &Path) -> Result<ImportReport, CliError> {
    let (id, manifest, contents, head) = check(context, dir)?;
    let store = context.store_or_new()?;
    let blobs = contents.blobs.len();
    let already_there = add_run(&store, id, contents)?;
    Ok(ImportReport {
        run: manifest.run,
        head: head.to_string(),
        records: head.records.get(),
        blobs,
        children: 0,
        already_there,
    })
}

/// Stores a checked bundle, and returns whether the store already had the run.
fn add_run(store: &StoreHandle, id: RunId, contents: Contents) -> Result<bool, CliError> {
    let Contents { journal, mut attachments, blobs } = contents;
    let put_blobs =
        || blobs.iter().try_for_each(|(_, bytes)| store.put_blob(bytes, Durability::Synced).map(drop));
    let is_there = !matches!(store.summary(&id), Err(StoreError::NoSuchRun { .. }));
    // Large values come first: a run must not exist without the blobs its records refer to. If the run already exists,
    // the comparison comes first: a refused bundle changes nothing.
    attachments.retain(|(name, _)| !is_local(name));
    let times = take_times(&mut attachments);
    if !is_there {
        // Other processes measured these times, perhaps of another clock. They are never taken for times of this store.
        attachments.extend((!times.is_empty()).then(|| (times_elsewhere_name(), times)));
        put_blobs()?;
    }
    match store.create_foreign(NewRun { id: id.clone(), attachments, lines: journal }) {
        Ok(writer) => {
            drop(writer);
            state_creation(store, &id)?;
            Ok(false)
        }
        Err(StoreError::AlreadyCreated { .. }) => {
            // A bundle brings back values that the store has lost.
            put_blobs()?;
            Ok(true)
        }
        Err(error @ StoreError::RunConflict { .. }) => {
            Err(CliError::from(error).with_hint(hint::COMPARE_WITH_STORED))
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes the time logs out of the attachments of a bundle. They are measurements, not part of what the run is.
fn take_times(attachments: &mut Vec<(AttachmentName, Vec<u8>)>) -> Vec<u8> {
    let is_times = |name: &AttachmentName| [TIMES_ELSEWHERE, TIMES].contains(&name.as_str());
    let (mut logs, others): (Vec<_>, Vec<_>) =
        std::mem::take(attachments).into_iter().partition(|(name, _)| is_times(name));
    *attachments = others;
    // What was measured before the exporting store had the run comes first.
    logs.sort_by_key(|(name, _)| name.as_str() == TIMES);
    let mut lines = Vec::new();
    for (_, log) in logs {
        lines.extend(log);
        if lines.last().is_some_and(|last| *last != b'\n') {
            lines.push(b'\n');
        }
    }
    lines
}

/// Checks that every large value the journal refers to is in the bundle, or else in the store.
fn check_blobs(context: &Context, dir: &Path, contents: &Contents) -> Result<(), CliError> {
    let at_hand: BTreeMap<Digest, Vec<u8>> = contents.blobs.iter().cloned().collect();
    let missing: Vec<Digest> = referenced_blobs(&contents.journal, &at_hand)
        .into_iter()
        .filter(|digest| !at_hand.contains_key(digest))
        .collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let lacking = || bundle_error(dir, format!("{BLOBS}/{first} is missing, a record refers to it"));
    let store = context.store().map_err(|_| lacking())?;
    for digest in &missing {
        if !store.has_blob(digest)? {
            return Err(lacking());
        }
    }
    Ok(())
}

fn bundle_error(dir: &Path, message: impl std::fmt::Display) -> CliError {
    CliError::new(Code::Bundle, format!("{}: {message}", dir.display()))
}

fn read_manifest(dir: &Path) -> Result<Manifest, CliError> {
    let path = dir.join(MANIFEST);
    let bytes = input::read_document(&path.to_string_lossy())
        .map_err(|error| error.with_hint(hint::NOT_AN_EXPORT))?;
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

/// Reads a file named by the manifest, which must be inside the bundle and match its size and digest.
fn read_checked(dir: &Path, file: &BundleFile) -> Result<Vec<u8>, CliError> {
    let relative = Path::new(&file.path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(bundle_error(dir, format!("{:?} leads out of the bundle", file.path)));
    }
    let path = plain_file(dir, relative)
        .ok_or_else(|| bundle_error(dir, format!("{:?} is not a plain file of the bundle", file.path)))?;
    // The size is checked first: a file of another size is not read at all.
    let size = std::fs::metadata(&path).map_err(|error| CliError::file("read", &path, error))?.len();
    if size != file.bytes {
        let message = format!("{}: expected {} bytes, found {size}", file.path, file.bytes);
        return Err(bundle_error(dir, message));
    }
    let bytes = input::read_file(&path)?;
    let found = Digest::of(&bytes).to_string();
    if found != file.sha256 {
        let message = format!("{}: expected digest {}, found {found}", file.path, file.sha256);
        return Err(bundle_error(dir, message));
    }
    Ok(bytes)
}

/// Returns the path of a file of the bundle, unless a link on the way leads elsewhere.
fn plain_file(dir: &Path, relative: &Path) -> Option<PathBuf> {
    let mut path = dir.to_owned();
    for part in relative.components() {
        path.push(part);
        if std::fs::symlink_metadata(&path).ok()?.is_symlink() {
            return None;
        }
    }
    path.is_file().then_some(path)
}

fn check_journal(dir: &Path, manifest: &Manifest, journal: &[u8]) -> Result<hence_journal::Head, CliError> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let chain = check_chain(journal, threads);
    match (&chain.outcome, chain.head) {
        (Outcome::Holds, Some(head)) if head.to_string() == manifest.head => {
            check_run(dir, manifest, journal)?;
            Ok(head)
        }
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

/// A run is stored under the id its header names, never under another.
fn check_run(dir: &Path, manifest: &Manifest, journal: &[u8]) -> Result<(), CliError> {
    let first = Lines::of(journal).get(RecordIndex::HEADER).unwrap_or_default();
    let trace_id = match Chained::decode_header(first).map(|(chained, _)| chained.record) {
        Ok(Record::Header(header)) => header.trace_id,
        Ok(_) => return Err(bundle_error(dir, "the journal does not begin with a header")),
        Err(error) => return Err(bundle_error(dir, format!("record 0: {error}"))),
    };
    if *trace_id != *manifest.run {
        let message = format!("the manifest names run {:?}, the journal is of {trace_id:?}", manifest.run);
        return Err(bundle_error(dir, message));
    }
    Ok(())
}
