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

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hence_canon::{Digest, Value};
use hence_journal::Head;

use super::disk::Entry;
use super::folder_name::Decoded;
use super::layout::RunFolder;
use super::{FileStore, folder_name, lease, temporary};
use crate::error::Action;
use crate::{DiskError, DiskErrorKind, Durability, Finding, RunId, StoreError};

/// The format of a tombstone.
const TOMBSTONE_FORMAT: &str = "hence-tombstone/1";

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

    /// Finds the tombstones that are those of other runs or contradict themselves.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the folder cannot be listed.
    pub(super) fn wrong_tombstones(&self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Vec::new();
        for entry in self.removed_entries()?.into_iter().filter(|entry| !entry.is_folder) {
            let path = self.layout.removed().join(&entry.name);
            // One that cannot be read is another finding.
            let stone = self.disk.read_within(&path, TOMBSTONE_BYTES_MAX);
            let reason = stone.ok().and_then(|stone| defect(&entry.name, &stone));
            findings.extend(reason.map(|reason| Finding::Unreadable { path, reason }));
        }
        Ok(findings)
    }

    /// Refuses the tombstone of another run under the name of a run that does not exist.
    ///
    /// # Errors
    /// [`StoreError::Disk`] that names the tombstone.
    pub(super) fn refuse_wrong_tombstone(&self, run: &RunId) -> Result<(), StoreError> {
        let path = self.layout.tombstone(run);
        let Ok(Some(stone)) = self.read_tombstone(run) else { return Ok(()) };
        match misnamed(&folder_name::encode(run), &stone) {
            None => Ok(()),
            Some(reason) => {
                let source = Arc::new(io::Error::other(reason.clone()));
                let kind = DiskErrorKind::Altered(reason);
                Err(DiskError { action: Action::Read, path, kind, source }.into())
            }
        }
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

/// Describes a tombstone that names another run than its file does. One that names no run is not judged here.
fn misnamed(name: &str, stone: &[u8]) -> Option<String> {
    let stone = hence_canon::parse(stone).ok()?;
    let run = stone.get("run").and_then(Value::as_str)?;
    let is_named = RunId::new(run).is_ok_and(|run| folder_name::encode(&run) == name);
    (!is_named).then(|| format!("the tombstone is damaged: it is that of run {run}, and its name is {name}"))
}

/// Describes what is wrong with a tombstone, as far as it can be seen from the tombstone itself: its format, its run, and
/// whether its head is the hash of its last record and the number of its records.
fn defect(name: &str, stone: &[u8]) -> Option<String> {
    if let Some(misnamed) = misnamed(name, stone) {
        return Some(misnamed);
    }
    let damaged = |reason: &str| Some(format!("the tombstone is damaged: {reason}"));
    let Ok(stone) = hence_canon::parse(stone) else { return damaged("it is not JSON") };
    let text = |key: &str| stone.get(key).and_then(Value::as_str);
    if text("format") != Some(TOMBSTONE_FORMAT) || text("run").is_none() {
        return damaged("it does not say that it is one, or of which run");
    }
    let Some(hashes) = stone.get("hashes").and_then(Value::as_array) else {
        return damaged("its `hashes` are not a list");
    };
    // The hash of a record that could not be read is null.
    let is_hash =
        |hash: &Value| hash.is_null() || hash.as_str().is_some_and(|hash| hash.parse::<Digest>().is_ok());
    if let Some(at) = hashes.iter().position(|hash| !is_hash(hash)) {
        return damaged(&format!("its hash of record {at} is no hash"));
    }
    // A journal whose end could not be read has no head, and one whose header could not be read has no hashes.
    let (Some(head), Some(last)) = (stone.get("head"), hashes.last()) else { return None };
    let Some(Ok(head)) = head.as_str().map(str::parse::<Head>) else {
        return damaged("its head is not HASH:COUNT");
    };
    let count = u64::try_from(hashes.len()).unwrap_or(u64::MAX);
    if head.records.get() != count {
        return damaged(&format!(
            "its head counts {} records, and it has {count} hashes",
            head.records.get()
        ));
    }
    match last.as_str() {
        Some(last) if *last != head.hash.to_string() => {
            damaged(&format!("its head is {}, and the hash of its last record is {last}", head.hash))
        }
        _ => None,
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
    pub(super) fn removed(&self) -> PathBuf {
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
    fn a_tombstone_of_another_run_or_one_that_contradicts_itself_is_named() {
        let hashes: Vec<String> = (0..2_u8).map(|at| hence_canon::Digest::of(&[at]).to_string()).collect();
        let stone = |run: &str, last: &str, count: u64| {
            let (first, second) = (&hashes[0], &hashes[1]);
            format!(
                r#"{{"format":"hence-tombstone/1","run":"{run}","head":"{last}:{count}","hashes":["{first}","{second}"]}}"#
            )
        };
        let whole = stone("r", &hashes[1], 2);
        for (text, reason) in [
            (whole.clone(), None),
            (whole.replace("hashes\":[\"", "hashes\":[\"x"), Some("its hash of record 0 is no hash")),
            (whole.replace("tombstone/1", "tombstone/x"), Some("it does not say that it is one")),
            (whole[1..].to_owned(), Some("it is not JSON")),
            (stone("r", &hashes[0], 2), Some("and the hash of its last record is")),
            (stone("r", &hashes[1], 3), Some("its head counts 3 records, and it has 2 hashes")),
            (stone("a4", &hashes[1], 2), Some("it is that of run a4, and its name is r")),
        ] {
            let disk = with_run(3);
            let store = store_on(&disk);
            store.remove_run(&run(), text.as_bytes()).unwrap();
            let found: Vec<String> = store.misplaced().unwrap().iter().map(ToString::to_string).collect();
            match reason {
                None => assert_eq!(found, [""; 0]),
                Some(reason) => assert!(found.len() == 1 && found[0].contains(reason), "{found:?}"),
            }
            let is_other = reason.is_some_and(|reason| reason.contains("a4"));
            let error = store.find("r").unwrap_err();
            assert_eq!(matches!(error, StoreError::Disk(_)), is_other, "{error}");
        }
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
