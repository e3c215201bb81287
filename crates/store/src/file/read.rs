//! Reading journals and attachments.

use std::io::{self, Read};

use hence_journal::RecordIndex;

use super::FileStore;
use super::checked_disk::OpenFile;
use super::disk::Access;
use super::layout::RunFolder;
use crate::{AttachmentName, Damage, DiskError, DiskErrorKind, RunId, StoreError};

/// The bytes of a journal that are searched at once.
const CHUNK_BYTES: usize = 64 * 1024;

impl FileStore {
    pub(super) fn journal_reader(
        &self,
        run: &RunId,
        from: RecordIndex,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        let file = self.journal_file(run, &self.existing(run)?)?;
        let offset = line_start(&file, from)?;
        Ok(Box::new(JournalReader { file, offset }))
    }

    pub(super) fn journal_reader_at(
        &self,
        run: &RunId,
        offset: u64,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        let file = self.journal_file(run, &self.existing(run)?)?;
        Ok(Box::new(JournalReader { file, offset }))
    }

    pub(super) fn journal_file(&self, run: &RunId, folder: &RunFolder) -> Result<OpenFile, StoreError> {
        match self.disk.open(&folder.journal(), Access::Read) {
            Err(error) if error.kind == DiskErrorKind::Missing => {
                Err(StoreError::Damaged { run: run.clone(), reason: Damage::NoJournal })
            }
            outcome => Ok(outcome?),
        }
    }

    pub(super) fn read_attachment(
        &self,
        run: &RunId,
        name: &AttachmentName,
        bytes_max: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let file = self.disk.open(&self.existing(run)?.attachment(name), Access::Read);
        match file.and_then(|file| file.read_range(0, file.stamp()?.bytes.min(bytes_max))) {
            Err(error) if error.kind == DiskErrorKind::Missing => {
                Err(StoreError::NoSuchAttachment { run: run.clone(), name: name.clone() })
            }
            outcome => Ok(outcome?),
        }
    }

    pub(super) fn attachment_names(&self, folder: &RunFolder) -> Result<Vec<AttachmentName>, StoreError> {
        let files = self.disk.list(folder.path())?.into_iter().filter(|entry| !entry.is_folder);
        Ok(files.filter_map(|entry| AttachmentName::new(&entry.name).ok()).collect())
    }
}

/// Finds the offset at which the line of record `index` begins: the file's end if there are fewer lines.
fn line_start(file: &OpenFile, index: RecordIndex) -> Result<u64, DiskError> {
    let mut lines_left = index.get();
    let mut offset = 0;
    let mut chunk = vec![0; CHUNK_BYTES];
    while lines_left > 0 {
        let read = file.read_at(offset, &mut chunk)?;
        if read == 0 {
            break;
        }
        let mut passed = read;
        for line_feed in memchr::memchr_iter(b'\n', chunk.get(..read).unwrap_or_default()) {
            lines_left -= 1;
            if lines_left == 0 {
                passed = line_feed + 1;
                break;
            }
        }
        offset += u64::try_from(passed).unwrap_or(u64::MAX);
    }
    Ok(offset)
}

/// Reads a journal file from an offset on.
struct JournalReader {
    file: OpenFile,
    offset: u64,
}

impl Read for JournalReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .file
            .read_at(self.offset, buffer)
            .map_err(|error| io::Error::new(error.source.kind(), error))?;
        self.offset += u64::try_from(read).unwrap_or(0);
        Ok(read)
    }
}
