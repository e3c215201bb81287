//! Creating a run.
//!
//! | the process dies | on disk |
//! |---|---|
//! | before the rename | no run; an unlocked folder under `tmp/` |
//! | after it, before `runs/` is synced | the whole run; after a power loss the whole run or none |
//! | later | the whole run |
//!
//! Several runs that have ended are created together: their drafts are filled, made durable by one sync of the file
//! system, and renamed.
//!
//! | the process dies | on disk |
//! |---|---|
//! | before the first rename | no run; unlocked folders under `tmp/`, perhaps blobs that nothing refers to |
//! | after it, before `runs/` is synced | every blob and the first runs; after a power loss each run whole or not at all |
//! | later | everything |

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hence_journal::RecordCount;

use super::checked_disk::{CheckedDisk, OpenFile};
use super::disk::Access;
use super::layout::RunFolder;
use super::lease::HeldLock;
use super::made::MadeBy;
use super::writer::FileWriter;
use super::{FileStore, folder_name, journal_end, temporary};
use crate::lines::check_lines;
use crate::{DiskError, DiskErrorKind, Durability, NewRun, RunId, RunWriter, StoreError};

/// The fewest runs that are made durable by one sync of the file system: each has about four files.
const GROUP_RUNS_MIN: usize = 2;

/// The files of a draft that is filled and not durable.
struct Filled {
    journal: OpenFile,
    others: Vec<OpenFile>,
}

impl Filled {
    /// Makes the draft durable.
    fn sync(&self, disk: &CheckedDisk, folder: &RunFolder) -> Result<(), DiskError> {
        for file in self.others.iter().chain([&self.journal]) {
            file.sync()?;
        }
        disk.sync_folder(folder.path())
    }
}

/// A run that is about to be created.
struct Draft {
    folder: RunFolder,
    /// The lock that keeps a repair away from the draft.
    lock: OpenFile,
    files: Filled,
    id: RunId,
}

/// Drafts of runs that are created together. Those that are not published are discarded.
struct Drafts<'s> {
    store: &'s FileStore,
    drafts: VecDeque<Draft>,
}

impl Drafts<'_> {
    /// Gives the drafts, which are durable, their places in order.
    fn publish(mut self) -> Result<(), StoreError> {
        let store = self.store;
        while let Some(draft) = self.drafts.pop_front() {
            let place = store.layout.run(&draft.id);
            let lease = HeldLock::new(draft.lock, &store.disk);
            match store.disk.rename(draft.folder.path(), place.path()) {
                Ok(()) => drop(lease),
                Err(error) => {
                    temporary::discard_folder(&store.disk, &draft.folder);
                    // Another process created the run in the meantime: then it is there.
                    if error.kind != DiskErrorKind::Exists {
                        return Err(error.into());
                    }
                }
            }
        }
        // Without this sync a power loss could undo the renames.
        Ok(store.disk.sync_folder(&store.layout.runs())?)
    }
}

impl Drop for Drafts<'_> {
    fn drop(&mut self) {
        for draft in &self.drafts {
            temporary::discard_folder(&self.store.disk, &draft.folder);
        }
    }
}

impl FileStore {
    pub(super) fn create_run(&self, new: NewRun, made_by: MadeBy) -> Result<Box<dyn RunWriter>, StoreError> {
        let lines = check_lines(&new.lines, RecordCount::new(0))
            .map_err(|reason| StoreError::InvalidLines { run: new.id.clone(), reason })?;
        let mut names = BTreeSet::new();
        if let Some((name, _)) = new.attachments.iter().find(|(name, _)| !names.insert(name)) {
            return Err(StoreError::DuplicateAttachment { name: name.clone() });
        }
        let place = self.layout.run(&new.id);
        if self.disk.has_folder(place.path())? {
            return Err(self.compare_with_existing(&new, &place));
        }
        if made_by == MadeBy::ThisStore {
            self.refuse_removed(&new.id)?;
        }
        if !self.disk.has_folder(&self.layout.runs())? {
            self.disk.ensure_folder(&self.layout.runs())?;
        }
        let (draft, lock) = temporary::folder(&self.disk, &self.layout)?;
        let lease = HeldLock::new(lock, &self.disk);
        let journal = match self.fill(&new, &draft, made_by).and_then(|filled| {
            filled.sync(&self.disk, &draft)?;
            let journal = filled.journal;
            self.disk.rename(draft.path(), place.path())?;
            Ok(journal)
        }) {
            Ok(journal) => journal.moved_to(place.journal()),
            Err(error) => {
                temporary::discard_folder(&self.disk, &draft);
                // Another process created the run in the meantime.
                let exists = error.kind == DiskErrorKind::Exists && self.disk.has_folder(place.path())?;
                return Err(if exists { self.compare_with_existing(&new, &place) } else { error.into() });
            }
        };
        // Without this sync a power loss could undo the rename.
        self.disk.sync_folder(&self.layout.runs())?;
        Ok(Box::new(FileWriter {
            run: new.id.clone(),
            disk: self.disk.clone(),
            layout: self.layout.clone(),
            committer: self.committer.clone(),
            journal,
            journal_bytes: u64::try_from(lines.bytes.len()).unwrap_or(u64::MAX),
            head: lines.head,
            batch: None,
            poison: None,
            lease: Arc::new(lease.moved_to(&place)),
            folder: place,
        }))
    }

    /// Stores blobs and creates runs together, with one sync of the file system for all their bytes.
    pub(super) fn create_runs(&self, runs: Vec<NewRun>, blobs: &[Vec<u8>]) -> Result<(), StoreError> {
        if !self.disk.has_folder(&self.layout.runs())? {
            self.disk.ensure_folder(&self.layout.runs())?;
        }
        let mut drafts = Drafts { store: self, drafts: VecDeque::with_capacity(runs.len()) };
        for new in runs {
            check_lines(&new.lines, RecordCount::new(0))
                .map_err(|reason| StoreError::InvalidLines { run: new.id.clone(), reason })?;
            let place = self.layout.run(&new.id);
            if self.disk.has_folder(place.path())? {
                match self.compare_with_existing(&new, &place) {
                    StoreError::AlreadyCreated { .. } => continue,
                    error => return Err(error),
                }
            }
            self.refuse_removed(&new.id)?;
            let (folder, lock) = temporary::folder(&self.disk, &self.layout)?;
            let files = match self.fill(&new, &folder, MadeBy::ThisStore) {
                Ok(files) => files,
                Err(error) => {
                    temporary::discard_folder(&self.disk, &folder);
                    return Err(error.into());
                }
            };
            drafts.drafts.push_back(Draft { folder, lock, files, id: new.id });
        }
        self.sync_drafts(&drafts, blobs)?;
        drafts.publish()
    }

    /// Makes drafts and blobs durable: with one sync of the file system where it has one and the drafts are many, because
    /// it also writes the data of other programs; else file by file.
    fn sync_drafts(&self, drafts: &Drafts<'_>, blobs: &[Vec<u8>]) -> Result<(), StoreError> {
        let is_group = drafts.drafts.len() >= GROUP_RUNS_MIN;
        let durability = if is_group { Durability::Buffered } else { Durability::Synced };
        for blob in blobs {
            self.store_blob(blob, durability)?;
        }
        if is_group && self.disk.sync_filesystem(&self.layout.runs()).is_ok() {
            return Ok(());
        }
        if is_group {
            for blob in blobs {
                self.store_blob(blob, Durability::Synced)?;
            }
        }
        for draft in &drafts.drafts {
            draft.files.sync(&self.disk, &draft.folder)?;
        }
        Ok(())
    }

    /// Writes the files of a run into a folder.
    fn fill(&self, new: &NewRun, folder: &RunFolder, made_by: MadeBy) -> Result<Filled, DiskError> {
        let write = |path: &std::path::Path, bytes: &[u8]| {
            let file = self.disk.open(path, Access::CreateNew)?;
            file.write_at(0, bytes)?;
            Ok::<_, DiskError>(file)
        };
        let mut others = Vec::with_capacity(new.attachments.len() + 1);
        for (name, bytes) in &new.attachments {
            others.push(write(&folder.attachment(name), bytes)?);
        }
        if matches!(folder_name::decode(&folder_name::encode(&new.id)), Some(folder_name::Decoded::Hashed(_)))
        {
            others.push(write(&folder.id(), new.id.as_str().as_bytes())?);
        }
        let journal = write(&folder.journal(), &new.lines)?;
        if made_by == MadeBy::ThisStore {
            others.extend(Self::note_made(&journal, folder, write)?);
        }
        Ok(Filled { journal, others })
    }

    /// Compares the beginning of the existing run with the new one.
    fn compare_with_existing(&self, new: &NewRun, place: &RunFolder) -> StoreError {
        match self.first_difference(new, place) {
            Ok(Ok(head)) => StoreError::AlreadyCreated { run: new.id.clone(), head },
            Ok(Err(differs)) => StoreError::RunConflict { run: new.id.clone(), differs },
            Err(error) => error.into(),
        }
    }

    fn first_difference(
        &self,
        new: &NewRun,
        place: &RunFolder,
    ) -> Result<Result<hence_journal::Head, String>, DiskError> {
        let journal = match self.disk.open(&place.journal(), Access::Read) {
            Err(error) if error.kind == DiskErrorKind::Missing => return Ok(Err("journal".to_owned())),
            outcome => outcome?,
        };
        let start = journal.read_range(0, u64::try_from(new.lines.len()).unwrap_or(u64::MAX))?;
        let head = match journal_end::find(&journal, journal_end::read_notes(&self.disk, place, &journal)?)? {
            Ok(end) if start == new.lines => end.head,
            _ => return Ok(Err("journal".to_owned())),
        };
        for (name, bytes) in &new.attachments {
            let same = match self.disk.read(&place.attachment(name)) {
                Err(error) if error.kind == DiskErrorKind::Missing => false,
                found => found? == *bytes,
            };
            if !same {
                return Ok(Err(format!("attachment {name}")));
            }
        }
        Ok(Ok(head))
    }
}
