//! The writer of one run.

use std::sync::Arc;

use hence_journal::Head;

use super::checked_disk::{CheckedDisk, OpenFile};
use super::commit::Committer;
use super::disk::Access;
use super::journal_end::BatchNote;
use super::layout::{Layout, RunFolder};
use super::lease::HeldLock;
use super::side_log::FileSideLog;
use super::temporary;
use crate::lines::{Lines, check_lines};
use crate::{
    AppendError, AttachmentName, DiskError, DiskErrorKind, Durability, RunId, RunWriter, SideLog, StoreError,
};

/// The writer of one run in a folder.
#[derive(Debug)]
pub(crate) struct FileWriter {
    pub(crate) run: RunId,
    pub(crate) disk: CheckedDisk,
    pub(crate) layout: Layout,
    pub(crate) folder: RunFolder,
    pub(crate) committer: Arc<Committer>,
    pub(crate) journal: OpenFile,
    /// The length of the journal's finished appends, which is the length of the file.
    pub(crate) journal_bytes: u64,
    pub(crate) head: Head,
    /// The file of batch notes, once there was a batch.
    pub(crate) batch: Option<OpenFile>,
    pub(crate) poison: Option<Arc<AppendError>>,
    /// Held for as long as the writer lives.
    pub(crate) lease: Arc<HeldLock>,
}

impl RunWriter for FileWriter {
    fn run(&self) -> &RunId {
        &self.run
    }

    fn head(&self) -> Head {
        self.head
    }

    fn append(&mut self, expected: Head, lines: &[u8], durability: Durability) -> Result<Head, AppendError> {
        self.check_poison()?;
        if expected != self.head {
            return Err(AppendError::HeadMoved { expected, found: self.head });
        }
        let lines = check_lines(lines, self.head.records)?;
        self.check_length()?;
        let end = self.journal_bytes.saturating_add(u64::try_from(lines.bytes.len()).unwrap_or(u64::MAX));
        if let Err(source) = self.write(&lines, end, durability) {
            return Err(self.poisoned_by(source));
        }
        self.journal_bytes = end;
        self.head = lines.head;
        Ok(self.head)
    }

    fn sync(&mut self) -> Result<(), AppendError> {
        self.check_poison()?;
        self.committer.sync(&self.journal).map_err(|source| self.poisoned_by(source))
    }

    fn attach(
        &mut self,
        name: &AttachmentName,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StoreError> {
        let target = self.folder.attachment(name);
        Ok(temporary::replace(&self.disk, &self.layout, &target, bytes, durability)?)
    }

    fn detach(&mut self, name: &AttachmentName) -> Result<(), StoreError> {
        match self.disk.remove_file(&self.folder.attachment(name)) {
            Err(error) if error.kind == DiskErrorKind::Missing => Ok(()),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(self.disk.sync_folder(self.folder.path())?),
        }
    }

    fn side_log(&mut self, name: &AttachmentName) -> Result<Box<dyn SideLog>, StoreError> {
        let (disk, committer, lease) = (&self.disk, &self.committer, &self.lease);
        let log = FileSideLog::open(disk, &self.folder, name, committer.clone(), lease.clone())?;
        Ok(Box::new(log))
    }
}

impl FileWriter {
    fn check_poison(&self) -> Result<(), AppendError> {
        match &self.poison {
            Some(cause) => Err(AppendError::Poisoned { run: self.run.clone(), cause: Arc::clone(cause) }),
            None => Ok(()),
        }
    }

    /// Detects programs that write journals without a lease.
    fn check_length(&mut self) -> Result<(), AppendError> {
        let found = match self.journal.stamp() {
            Ok(stamp) => stamp.bytes,
            Err(source) => return Err(self.poisoned_by(source)),
        };
        if found == self.journal_bytes {
            return Ok(());
        }
        Err(AppendError::ModifiedExternally { run: self.run.clone(), expected: self.journal_bytes, found })
    }

    /// Writes the lines: the note if they are several, then the lines with one write, then one sync.
    fn write(&mut self, lines: &Lines<'_>, end: u64, durability: Durability) -> Result<(), DiskError> {
        if lines.count > 1 {
            let note = BatchNote { start: self.journal_bytes, end, head: self.head };
            self.write_note(&note, durability)?;
        }
        if let Err(error) = self.journal.write_at(self.journal_bytes, lines.bytes) {
            // Best effort only: the writer is poisoned in any case, and opening the run again cuts the rest.
            let _ = self.journal.truncate(self.journal_bytes);
            return Err(error);
        }
        match durability {
            Durability::Buffered => Ok(()),
            Durability::Synced => self.committer.sync(&self.journal),
        }
    }

    /// Writes the note of a batch.
    fn write_note(&mut self, note: &BatchNote, durability: Durability) -> Result<(), DiskError> {
        match self.journal.set_mark(&note.encode_mark()) {
            Err(error) if error.kind == DiskErrorKind::Unsupported => self.write_note_file(note, durability),
            outcome => outcome,
        }
    }

    /// Writes the note of a batch to a file, where files take no marks.
    ///
    /// For a durable batch the note is durable before the first line is written: otherwise after a power loss
    /// half of the batch could be stored without its note.
    fn write_note_file(&mut self, note: &BatchNote, durability: Durability) -> Result<(), DiskError> {
        let (file, is_new) = match self.batch.take() {
            Some(file) => (file, false),
            None => (self.disk.open(&self.folder.batch(), Access::WriteOrCreate)?, true),
        };
        let file = self.batch.insert(file);
        file.write_at(0, &note.encode())?;
        if durability == Durability::Synced {
            self.committer.sync(file)?;
            if is_new {
                self.disk.sync_folder(self.folder.path())?;
            }
        }
        Ok(())
    }

    fn poisoned_by(&mut self, source: DiskError) -> AppendError {
        let error = AppendError::Failed { run: self.run.clone(), source };
        self.poison = Some(Arc::new(error.clone()));
        error
    }
}
