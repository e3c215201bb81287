//! Creating a run.
//!
//! | the process dies | on disk |
//! |---|---|
//! | before the rename | no run; an unlocked folder under `tmp/` |
//! | after it, before `runs/` is synced | the whole run; after a power loss the whole run or none |
//! | later | the whole run |

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_journal::RecordCount;

use super::checked_disk::OpenFile;
use super::disk::Access;
use super::layout::RunFolder;
use super::lease::HeldLock;
use super::made::MadeBy;
use super::writer::FileWriter;
use super::{FileStore, folder_name, journal_end, temporary};
use crate::lines::check_lines;
use crate::{DiskError, DiskErrorKind, NewRun, RunWriter, StoreError};

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
        if !self.disk.has_folder(&self.layout.runs())? {
            self.disk.ensure_folder(&self.layout.runs())?;
        }
        let (draft, lock) = temporary::folder(&self.disk, &self.layout)?;
        let lease = HeldLock::new(lock, &self.disk);
        let journal = match self.fill(&new, &draft, made_by).and_then(|journal| {
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

    /// Writes the files of a run durably into a folder and returns its journal.
    fn fill(&self, new: &NewRun, folder: &RunFolder, made_by: MadeBy) -> Result<OpenFile, DiskError> {
        let write = |path: &std::path::Path, bytes: &[u8]| {
            let file = self.disk.open(path, Access::CreateNew)?;
            file.write_at(0, bytes)?;
            file.sync()?;
            Ok::<_, DiskError>(file)
        };
        for (name, bytes) in &new.attachments {
            write(&folder.attachment(name), bytes)?;
        }
        if matches!(folder_name::decode(&folder_name::encode(&new.id)), Some(folder_name::Decoded::Hashed(_)))
        {
            write(&folder.id(), new.id.as_str().as_bytes())?;
        }
        let journal = write(&folder.journal(), &new.lines)?;
        if made_by == MadeBy::ThisStore {
            Self::note_made(&journal, folder, write)?;
        }
        self.disk.sync_folder(folder.path())?;
        Ok(journal)
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
