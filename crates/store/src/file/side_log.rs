//! Side logs: lines next to a journal, such as the call log.
//!
//! | the process dies | on disk |
//! |---|---|
//! | while a line is written | the lines before it and perhaps a part of it, which opening cuts off |
//! | before the sync returns | the line; power loss may undo it and earlier lines that were not synced |
//! | later | the line and all before it |

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::checked_disk::{CheckedDisk, OpenFile};
use super::commit::Committer;
use super::disk::Access;
use super::layout::RunFolder;
use super::lease::HeldLock;
use crate::lines::whole_lines;
use crate::{AttachmentName, DiskError, Durability, SideLog, StoreError};

/// A side log in a folder.
#[derive(Debug)]
pub(crate) struct FileSideLog {
    file: OpenFile,
    disk: CheckedDisk,
    folder: RunFolder,
    committer: Arc<Committer>,
    written: Mutex<Written>,
    /// The number of durable bytes. It is locked during a sync, so callers that wait for it find their lines synced.
    synced: Mutex<u64>,
    _lease: Arc<HeldLock>,
}

#[derive(Debug)]
struct Written {
    bytes: u64,
    /// The first failure; after it the content of the disk is unknown.
    poison: Option<DiskError>,
}

impl FileSideLog {
    pub(crate) fn open(
        disk: &CheckedDisk,
        folder: &RunFolder,
        name: &AttachmentName,
        committer: Arc<Committer>,
        lease: Arc<HeldLock>,
    ) -> Result<Self, StoreError> {
        let file = disk.open(&folder.attachment(name), Access::WriteOrCreate)?;
        let found = file.stamp()?.bytes;
        let whole = end_of_last_line(&file, found)?;
        if whole < found {
            file.truncate(whole)?;
        }
        let written = Mutex::new(Written { bytes: whole, poison: None });
        let (disk, folder) = (disk.clone(), folder.clone());
        // Nothing counts as durable yet, not even the name of the file.
        Ok(Self { file, disk, folder, committer, written, synced: Mutex::new(0), _lease: lease })
    }

    /// Writes the lines and returns where they end.
    fn write(&self, lines: &[u8]) -> Result<u64, StoreError> {
        let mut written = lock(&self.written);
        if let Some(error) = &written.poison {
            return Err(error.clone().into());
        }
        if let Err(error) = self.file.write_at(written.bytes, lines) {
            // Best effort only: opening the log again cuts the rest.
            let _ = self.file.truncate(written.bytes);
            written.poison = Some(error.clone());
            return Err(error.into());
        }
        written.bytes = written.bytes.saturating_add(lines.len() as u64);
        Ok(written.bytes)
    }

    fn sync(&self, end: u64) -> Result<(), StoreError> {
        let mut synced = lock(&self.synced);
        if *synced >= end {
            return Ok(());
        }
        let reached = lock(&self.written).bytes;
        let outcome = self.committer.sync(&self.file).and_then(|()| match *synced {
            0 => self.disk.sync_folder(self.folder.path()),
            _ => Ok(()),
        });
        if let Err(error) = outcome {
            lock(&self.written).poison = Some(error.clone());
            return Err(error.into());
        }
        *synced = reached;
        Ok(())
    }
}

impl SideLog for FileSideLog {
    fn append(&self, lines: &[u8], durability: Durability) -> Result<(), StoreError> {
        let end = self.write(lines)?;
        match durability {
            Durability::Buffered => Ok(()),
            Durability::Synced => self.sync(end),
        }
    }
}

/// The bytes at the end of a log that are searched at once.
const TAIL_BYTES: u64 = 64 * 1024;

/// Returns where the last whole line of a log ends. Only the end of the log is read, however long the log is.
fn end_of_last_line(file: &OpenFile, length: u64) -> Result<u64, DiskError> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(TAIL_BYTES);
        let whole = whole_lines(&file.read_range(start, end)?) as u64;
        if whole > 0 {
            return Ok(start + whole);
        }
        end = start;
    }
    Ok(0)
}

/// Takes a lock. No code panics while holding it, so the data of a poisoned lock is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
