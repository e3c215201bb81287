//! The marker that makes a folder a store.

use super::disk::Kind;
use super::guard::Guarded;
use super::layout::Layout;
use super::temporary;
use crate::{DiskErrorKind, Durability, StoreError};

/// Content of the file `format` in the stores that this version reads and writes.
pub(crate) const FORMAT: &str = "hence-store 1\n";

/// Checks that the folder is a store of a known format. Writes nothing.
pub(crate) fn check(disk: &Guarded, layout: &Layout) -> Result<(), StoreError> {
    if !disk.has_folder(layout.root())? {
        return Err(not_a_store(layout, "no folder".to_owned()));
    }
    let path = layout.format();
    match disk.read(&path) {
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

/// Makes the folder a store unless it is one.
///
/// The marker is written last, so a store whose making was interrupted has none and is finished by the next call.
/// A folder that holds anything else is refused.
pub(crate) fn ensure(disk: &Guarded, layout: &Layout) -> Result<(), StoreError> {
    match check(disk, layout) {
        Err(StoreError::NotAStore { .. }) => {
            if disk.kind(layout.root())? == Some(Kind::Folder) && !is_unfinished(disk, layout)? {
                // Somebody may have finished it while it was looked at.
                return check(disk, layout);
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

/// Tells whether a folder without a marker holds nothing but what making a store leaves when interrupted.
fn is_unfinished(disk: &Guarded, layout: &Layout) -> Result<bool, StoreError> {
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
