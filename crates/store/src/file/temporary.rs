//! Temporary files and folders.
//!
//! Files and folders are written under `tmp/`, locked by their writer, and then renamed to their place. An unlocked one
//! was left by an interrupted writer.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::checked_disk::{CheckedDisk, OpenFile};
use super::disk::{Access, LockOutcome};
use super::layout::{Layout, RunFolder};
use crate::{DiskError, DiskErrorKind, Durability};

/// Distinguishes the temporary files of one process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

fn next_path(layout: &Layout) -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    layout.temporary().join(format!("{}-{number}", std::process::id()))
}

/// Creates a locked temporary file.
fn file(disk: &CheckedDisk, layout: &Layout) -> Result<OpenFile, DiskError> {
    loop {
        let file = match disk.open(&next_path(layout), Access::CreateNew) {
            // An earlier process with the same id left it.
            Err(error) if error.kind == DiskErrorKind::Exists => continue,
            // A person may have removed the folder; it holds nothing of value.
            Err(error)
                if error.kind == DiskErrorKind::Missing && !disk.has_folder(&layout.temporary())? =>
            {
                disk.ensure_folder(&layout.temporary())?;
                continue;
            }
            outcome => outcome?,
        };
        if file.try_lock()? == LockOutcome::Taken {
            return Ok(file);
        }
    }
}

/// Creates a temporary run folder with a locked lock file.
pub(crate) fn folder(disk: &CheckedDisk, layout: &Layout) -> Result<(RunFolder, OpenFile), DiskError> {
    loop {
        let folder = RunFolder(next_path(layout));
        match disk.create_folder(folder.path()) {
            Err(error) if error.kind == DiskErrorKind::Exists => continue,
            Err(error)
                if error.kind == DiskErrorKind::Missing && !disk.has_folder(&layout.temporary())? =>
            {
                disk.ensure_folder(&layout.temporary())?;
                continue;
            }
            outcome => outcome?,
        }
        let locked =
            disk.open(&folder.lock(), Access::CreateNew).and_then(|lock| Ok((lock.try_lock()?, lock)));
        match locked {
            Ok((LockOutcome::Taken, lock)) => return Ok((folder, lock)),
            Ok((LockOutcome::HeldElsewhere, _)) => continue,
            Err(error) => {
                discard_folder(disk, &folder);
                return Err(error);
            }
        }
    }
}

/// Moves a folder below `tmp/` under a name that nothing has, and returns its new path. The folder has its own lock file,
/// which its owner holds.
pub(crate) fn move_in(disk: &CheckedDisk, layout: &Layout, folder: &Path) -> Result<PathBuf, DiskError> {
    loop {
        let path = next_path(layout);
        if disk.kind(&path)?.is_some() {
            continue;
        }
        match disk.rename(folder, &path) {
            Err(error)
                if error.kind == DiskErrorKind::Missing && !disk.has_folder(&layout.temporary())? =>
            {
                disk.ensure_folder(&layout.temporary())?;
            }
            outcome => return outcome.map(|()| path),
        }
    }
}

/// Removes a temporary folder after a failure. If that fails too, a repair removes the folder later.
pub(crate) fn discard_folder(disk: &CheckedDisk, folder: &RunFolder) {
    let _ = disk.remove_folder(folder.path());
}

/// Replaces the file `target` by `bytes`, as a whole or not at all.
///
/// If the process dies before the rename, `target` is unchanged and a file is left under `tmp/`; after it, `target` is new.
pub(crate) fn replace(
    disk: &CheckedDisk,
    layout: &Layout,
    target: &Path,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), DiskError> {
    let file = file(disk, layout)?;
    let written = (|| {
        file.write_at(0, bytes)?;
        if durability == Durability::Synced {
            file.sync()?;
        }
        disk.rename(file.path(), target)
    })();
    if let Err(error) = written {
        let _ = disk.remove_file(file.path());
        return Err(error);
    }
    match target.parent() {
        // Without this a power loss could bring the old name back.
        Some(parent) if durability == Durability::Synced => disk.sync_folder(parent),
        _ => Ok(()),
    }
}
