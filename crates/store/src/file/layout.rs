//! The folder of a store: its paths, and the marker that makes it a store.

use std::path::{Path, PathBuf};

use hence_canon::Digest;

use super::checked_disk::CheckedDisk;
use super::disk::Kind;
use super::{folder_name, temporary};
use crate::{AttachmentName, DiskErrorKind, Durability, RunId, StoreError};

/// The paths of a store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.root.join("format")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub(crate) fn run(&self, run: &RunId) -> RunFolder {
        RunFolder(self.runs().join(folder_name::encode(run)))
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Returns the folder of a blob and its path.
    pub(crate) fn blob(&self, digest: &Digest) -> (PathBuf, PathBuf) {
        let hex = digest.to_string();
        let (shelf, name) = hex.split_at(2);
        let folder = self.blobs().join(shelf);
        let path = folder.join(name);
        (folder, path)
    }
}

/// The paths of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder(pub(crate) PathBuf);

impl RunFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("trace.ndjson")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    pub(crate) fn id(&self) -> PathBuf {
        self.0.join("id")
    }

    pub(crate) fn made(&self) -> PathBuf {
        self.0.join("made")
    }

    pub(crate) fn batch(&self) -> PathBuf {
        self.0.join("batch")
    }

    pub(crate) fn attachment(&self, name: &AttachmentName) -> PathBuf {
        self.0.join(name.as_str())
    }
}

/// The content of the file `format` in stores that this version reads and writes.
pub(crate) const FORMAT: &str = "hence-store 1\n";

/// The most bytes of a file `format`.
const FORMAT_BYTES_MAX: u64 = 1024;

/// Checks that the folder is a store of a known format. Writes nothing.
pub(crate) fn check_format(disk: &CheckedDisk, layout: &Layout) -> Result<(), StoreError> {
    if !disk.has_folder(layout.root())? {
        return Err(not_a_store(layout, "no folder".to_owned()));
    }
    let path = layout.format();
    match disk.read_within(&path, FORMAT_BYTES_MAX) {
        Ok(found) if found == FORMAT.as_bytes() => Ok(()),
        Ok(found) => {
            let shown: String = String::from_utf8_lossy(&found).chars().take(64).collect();
            Err(StoreError::UnknownFormat {
                path,
                expected: FORMAT.trim_end(),
                found: shown.trim_end().to_owned(),
            })
        }
        Err(error) if error.kind == DiskErrorKind::Missing => {
            let names: Vec<String> =
                disk.list(layout.root())?.into_iter().map(|entry| entry.name).take(5).collect();
            let found = if names.is_empty() { "an empty folder".to_owned() } else { names.join(", ") };
            Err(not_a_store(layout, found))
        }
        Err(error) => Err(error.into()),
    }
}

/// Turns the folder into a store unless it is one.
///
/// The marker is written last, so a store whose creation was interrupted has none and is finished by the next call.
/// A folder that holds anything else is refused.
pub(crate) fn ensure_format(disk: &CheckedDisk, layout: &Layout) -> Result<(), StoreError> {
    match check_format(disk, layout) {
        Err(StoreError::NotAStore { .. }) => {
            if disk.kind(layout.root())? == Some(Kind::Folder) && !is_unfinished(disk, layout)? {
                // Another process may have finished the store in the meantime.
                return check_format(disk, layout);
            }
        }
        outcome => return outcome,
    }
    for folder in [layout.root().to_owned(), layout.runs(), layout.blobs(), layout.temporary()] {
        disk.ensure_folder(&folder)?;
    }
    temporary::replace(disk, layout, &layout.format(), FORMAT.as_bytes(), Durability::Synced)?;
    Ok(())
}

/// Returns whether a folder without a marker holds only what an interrupted creation leaves.
fn is_unfinished(disk: &CheckedDisk, layout: &Layout) -> Result<bool, StoreError> {
    for entry in disk.list(layout.root())? {
        let expected = match entry.name.as_str() {
            "runs" | "blobs" => entry.is_folder && disk.list(&layout.root().join(&entry.name))?.is_empty(),
            "tmp" => entry.is_folder,
            _ => false,
        };
        if !expected {
            return Ok(false);
        }
    }
    Ok(true)
}

fn not_a_store(layout: &Layout, found: String) -> StoreError {
    StoreError::NotAStore { path: layout.root().to_owned(), found }
}
