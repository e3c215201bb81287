//! Reading journals and attachments.

use std::io::{self, Read};

use hence_journal::{LINE_BYTES_MAX, RecordIndex};

use super::FileStore;
use super::checked_disk::{FILE_BYTES_MAX, OpenFile};
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
        Ok(Box::new(JournalReader { file, offset, line_bytes: 0 }))
    }

    pub(super) fn journal_reader_at(
        &self,
        run: &RunId,
        offset: u64,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        let file = self.journal_file(run, &self.existing(run)?)?;
        Ok(Box::new(JournalReader { file, offset, line_bytes: 0 }))
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
        let read = |file: OpenFile| match bytes_max {
            u64::MAX => file.read_within(FILE_BYTES_MAX),
            some => file.read_range(0, file.stamp()?.bytes.min(some)),
        };
        match file.and_then(read) {
            Err(error) if error.kind == DiskErrorKind::Missing => {
                Err(StoreError::NoSuchAttachment { run: run.clone(), name: name.clone() })
            }
            outcome => Ok(outcome?),
        }
    }

    pub(super) fn read_attachment_range(
        &self,
        run: &RunId,
        name: &AttachmentName,
        start: u64,
        end: u64,
    ) -> Result<(Vec<u8>, u64), StoreError> {
        let file = self.disk.open(&self.existing(run)?.attachment(name), Access::Read);
        let read = |file: OpenFile| {
            let total = file.stamp()?.bytes;
            Ok((file.read_range(start, end.min(total))?, total))
        };
        match file.and_then(read) {
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

/// Finds the offset at which the line of record `index` begins: the file's end if there are fewer lines, or the inside of a
/// line that is too long for a record.
fn line_start(file: &OpenFile, index: RecordIndex) -> Result<u64, DiskError> {
    let mut lines_left = index.get();
    let mut offset = 0;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut line_bytes = 0;
    while lines_left > 0 && line_bytes <= LINE_BYTES_MAX {
        let read = file.read_at(offset, &mut chunk)?;
        if read == 0 {
            break;
        }
        let mut passed = read;
        line_bytes += read;
        for line_feed in memchr::memchr_iter(b'\n', chunk.get(..read).unwrap_or_default()) {
            lines_left -= 1;
            line_bytes = read - line_feed;
            if lines_left == 0 {
                passed = line_feed + 1;
                break;
            }
        }
        offset += u64::try_from(passed).unwrap_or(u64::MAX);
    }
    Ok(offset)
}

/// Reads a journal file from an offset on, to its end or into a line that is too long for a record.
///
/// Nothing after such a line can be judged, and a hole in a file costs its author nothing and the reader all memory.
struct JournalReader {
    file: OpenFile,
    offset: u64,
    /// The number of bytes since the last line feed.
    line_bytes: usize,
}

impl Read for JournalReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.line_bytes > LINE_BYTES_MAX {
            return Ok(0);
        }
        let read = self
            .file
            .read_at(self.offset, buffer)
            .map_err(|error| io::Error::new(error.source.kind(), error))?;
        self.offset += u64::try_from(read).unwrap_or(0);
        let line_feed = memchr::memrchr(b'\n', buffer.get(..read).unwrap_or_default());
        self.line_bytes = line_feed.map_or(self.line_bytes + read, |at| read - at - 1);
        Ok(read)
    }
}
