//! Removing runs, which leave a tombstone, and blobs that nothing refers to.
//!
//! | the process dies | on disk |
//! |---|---|
//! | before the tombstone is renamed | the whole run; perhaps an unlocked file under `tmp/` |
//! | after it, before the run's folder is renamed | the whole run and a tombstone; removing the run again finishes it |
//! | after that, before `runs/` is synced | the tombstone; after a power loss the whole run or none of it |
//! | later | the tombstone; perhaps the run's files in an unlocked folder under `tmp/`, which a repair removes |
//!
//! A run is thus there as a whole or not at all, and never gone without its tombstone.

use std::path::PathBuf;

use hence_canon::Digest;

use super::disk::Entry;
use super::folder_name::Decoded;
use super::layout::RunFolder;
use super::{FileStore, folder_name, lease, temporary};
use crate::{DiskErrorKind, Durability, Finding, RunId, StoreError};

/// The largest tombstone that is read: it holds one hash for each record.
const TOMBSTONE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

impl FileStore {
    /// Removes a run and leaves a tombstone: bytes that say what the run was.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Leased`] when somebody writes the run, [`StoreError::Disk`].
    pub(super) fn bury_run(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        let folder = self.existing(run)?;
        let lease = lease::take(&self.disk, &folder)?
            .map_err(|holder| StoreError::Leased { run: run.clone(), holder })?;
        self.write_tombstone(run, tombstone)?;
        let grave = temporary::move_in(&self.disk, &self.layout, folder.path())?;
        // Without this a power loss could bring the run back after its removal was reported.
        self.disk.sync_folder(&self.layout.runs())?;
        drop(lease.moved_to(&RunFolder(grave.clone())));
        // What is left in the temporary folder is no run any more; a repair removes it.
        let _ = self.disk.remove_folder(&grave);
        Ok(())
    }

    /// Writes the tombstone of a run durably.
    pub(super) fn write_tombstone(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        let removed = self.layout.removed();
        if !self.disk.has_folder(&removed)? {
            self.disk.ensure_folder(&removed)?;
        }
        let stone = self.layout.tombstone(run);
        Ok(temporary::replace(&self.disk, &self.layout, &stone, tombstone, Durability::Synced)?)
    }

    /// Reads the tombstone of a run; `None` if there is none. A run that was imported again later has both.
    pub(super) fn read_tombstone(&self, run: &RunId) -> Result<Option<Vec<u8>>, StoreError> {
        match self.disk.read_within(&self.layout.tombstone(run), TOMBSTONE_BYTES_MAX) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind == DiskErrorKind::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a new run under the id of one that was removed.
    ///
    /// # Errors
    /// [`StoreError::RunRemoved`], [`StoreError::Disk`].
    pub(super) fn refuse_removed(&self, run: &RunId) -> Result<(), StoreError> {
        match self.disk.has_file(&self.layout.tombstone(run))? {
            true => Err(StoreError::RunRemoved { run: run.clone() }),
            false => Ok(()),
        }
    }

    /// Lists the runs that have a tombstone under a plain name.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the folder cannot be listed.
    pub(super) fn plain_tombstones(&self) -> Result<Vec<RunId>, StoreError> {
        let entries = self.removed_entries()?.into_iter().filter(|entry| !entry.is_folder);
        Ok(entries.filter_map(|entry| plain_run(&entry.name)).collect())
    }

    /// Finds what the folder of the tombstones cannot hold: links, pipes, devices, folders, files that are too large or are
    /// named after no run.
    pub(super) fn check_tombstones(&self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Vec::new();
        for entry in self.removed_entries()? {
            let path = self.layout.removed().join(&entry.name);
            if let Some(misplaced) = self.misplaced_file(&path, false) {
                findings.push(misplaced);
            } else if entry.is_folder || folder_name::decode(&entry.name).is_none() {
                findings.push(Finding::Stray { path });
            }
        }
        Ok(findings)
    }

    fn removed_entries(&self) -> Result<Vec<Entry>, StoreError> {
        let removed = self.layout.removed();
        // A link in its place is a finding of its own.
        match self.disk.has_folder(&removed) {
            Ok(true) => Ok(self.disk.list(&removed)?),
            _ => Ok(Vec::new()),
        }
    }

    /// Removes a blob. The caller knows that no record refers to it.
    ///
    /// # Errors
    /// [`StoreError::Disk`]; a blob that is not there is no error.
    pub(super) fn delete_blob(&self, digest: &Digest) -> Result<(), StoreError> {
        let (folder, path) = self.layout.blob(digest);
        match self.disk.remove_file(&path) {
            Err(error) if error.kind == DiskErrorKind::Missing => return Ok(()),
            outcome => outcome?,
        }
        self.disk.sync_folder(&folder)?;
        Ok(())
    }
}

/// Returns the run that a tombstone is named after; `None` for one that is named by a digest.
fn plain_run(name: &str) -> Option<RunId> {
    match folder_name::decode(name)? {
        Decoded::Plain(run) => Some(run),
        Decoded::Hashed(_) => None,
    }
}

impl super::layout::Layout {
    /// Returns the folder of the tombstones.
    fn removed(&self) -> PathBuf {
        self.root().join("removed")
    }

    /// Returns the path of a run's tombstone.
    fn tombstone(&self, run: &RunId) -> PathBuf {
        self.removed().join(folder_name::encode(run))
    }
}

#[cfg(test)]
mod tests {
    use super::super::crash_tests::{interrupt, new_run, run, store_on, with_run};
    use crate::testing::journal;
    use crate::{Durability, Finding, Store as _, StoreError};

    #[test]
    fn an_interrupted_removal_leaves_the_whole_run_or_a_tombstone() {
        let interrupted = interrupt(
            || with_run(3),
            |disk| store_on(disk).remove_run(&run(), b"was here").is_ok(),
            |disk, outcome| {
                let store = store_on(disk);
                match store.journal_bytes(&run()) {
                    Ok(found) => {
                        assert_eq!(found, journal(3), "{outcome:?}");
                        assert!(!outcome.acknowledged, "{outcome:?}");
                        // Removing it again finishes it.
                        store.remove_run(&run(), b"was here").unwrap();
                    }
                    Err(StoreError::NoSuchRun { .. }) => {}
                    Err(error) => panic!("{outcome:?}: {error}"),
                }
                assert_eq!(
                    store.tombstone(&run()).unwrap().as_deref(),
                    Some(&b"was here"[..]),
                    "{outcome:?}"
                );
                store.doctor().repair().unwrap();
                assert_eq!(store.doctor().check().unwrap().findings, [], "{outcome:?}");
                assert!(disk.files().keys().all(|path| !path.starts_with("/store/tmp")), "{outcome:?}");
                // The id stays taken: a second run under it would leave two histories with one name.
                assert!(
                    matches!(store.create(new_run(2)), Err(StoreError::RunRemoved { .. })),
                    "{outcome:?}"
                );
            },
        );
        assert!(interrupted > 20, "{interrupted}");
    }

    #[test]
    fn a_run_that_is_written_is_not_removed() {
        let disk = with_run(3);
        let store = store_on(&disk);
        let opened = store.open(&run()).unwrap();
        assert!(matches!(store.remove_run(&run(), b"x"), Err(StoreError::Leased { .. })));
        assert_eq!(store.tombstone(&run()).unwrap(), None);
        drop(opened);
        store.remove_run(&run(), b"x").unwrap();
        assert!(matches!(store.remove_run(&run(), b"x"), Err(StoreError::NoSuchRun { .. })));
    }

    #[test]
    fn an_interrupted_removal_of_a_blob_leaves_it_or_not() {
        let digest = hence_canon::Digest::of(b"large");
        let setup = || {
            let disk = with_run(1);
            store_on(&disk).put_blob(b"large", Durability::Synced).unwrap();
            disk
        };
        interrupt(
            setup,
            |disk| store_on(disk).remove_blob(&digest).is_ok(),
            |disk, outcome| {
                let store = store_on(disk);
                if store.has_blob(&digest).unwrap() {
                    assert!(!outcome.acknowledged, "{outcome:?}");
                    assert_eq!(store.blob(&digest).unwrap(), b"large");
                }
                store.remove_blob(&digest).unwrap();
                store.remove_blob(&digest).unwrap();
                let left = store.doctor().check().unwrap().findings;
                assert!(!left.iter().any(|found| matches!(found, Finding::UnreferencedBlob { .. })));
            },
        );
    }
}
