//! Where a journal file ends, and what of its end was never finished.

use hence_journal::{Head, Tail, TailError, read_tail};

use super::guard::{Guarded, OpenFile};
use super::layout::RunFolder;
use super::note::{BatchNote, NOTE_BYTES};
use crate::{Condition, Cut, Damage, DiskError, DiskErrorKind};

/// How much of a journal's end is read first. Most records are far shorter.
const WINDOW_BYTES: u64 = 16 * 1024;

/// Where a journal file ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// How long the file is.
    pub(crate) file_bytes: u64,
    /// How much of it are finished appends.
    pub(crate) kept_bytes: u64,
    /// The head behind those.
    pub(crate) head: Head,
    /// Whole records behind those.
    pub(crate) whole_records: u64,
}

impl End {
    /// Returns what has to be cut off, if anything.
    pub(crate) fn cut(&self) -> Option<Cut> {
        let bytes = self.file_bytes.checked_sub(self.kept_bytes).filter(|bytes| *bytes > 0)?;
        Some(Cut { offset: self.kept_bytes, bytes, whole_records: self.whole_records, head: self.head })
    }

    pub(crate) fn condition(&self) -> Condition {
        match self.cut() {
            None => Condition::Whole { head: self.head },
            Some(cut) => Condition::Torn { head: self.head, bytes: cut.bytes },
        }
    }
}

/// The notes of a run's last batches. There are two only after a store moved between file systems.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Notes {
    pub(crate) mark: Option<BatchNote>,
    pub(crate) file: Option<BatchNote>,
}

/// Reads the notes of a run's last batches.
pub(crate) fn read_notes(disk: &Guarded, folder: &RunFolder, journal: &OpenFile) -> Result<Notes, DiskError> {
    let mark = journal.mark()?.and_then(|mark| BatchNote::decode_mark(&mark));
    Ok(Notes { mark, file: read_note_file(disk, folder)? })
}

fn read_note_file(disk: &Guarded, folder: &RunFolder) -> Result<Option<BatchNote>, DiskError> {
    match disk.open(&folder.batch(), super::disk::Access::Read) {
        Ok(file) => {
            let end = u64::try_from(NOTE_BYTES).unwrap_or(u64::MAX);
            Ok(BatchNote::decode(&file.read_range(0, end)?))
        }
        Err(error) if error.kind == DiskErrorKind::Missing => Ok(None),
        Err(error) => Err(error),
    }
}

/// Finds the end of a journal. The outer error is the disk's, the inner one the journal's.
pub(crate) fn find(journal: &OpenFile, notes: Notes) -> Result<Result<End, Damage>, DiskError> {
    let file_bytes = journal.stamp()?.bytes;
    let is_inside = |note: &BatchNote| note.start < file_bytes && file_bytes < note.end;
    for note in [notes.mark, notes.file].into_iter().flatten().filter(is_inside) {
        // A note whose head is not in the journal belongs to another file that lay here, and says nothing.
        if let Ok(Tail { head, torn_bytes: 0 }) = tail_at(journal, note.start)?
            && head == note.head
        {
            let batch = journal.read_range(note.start, file_bytes)?;
            let whole_records = batch.iter().filter(|byte| **byte == b'\n').count();
            let whole_records = u64::try_from(whole_records).unwrap_or(u64::MAX);
            return Ok(Ok(End { file_bytes, kept_bytes: note.start, head, whole_records }));
        }
    }
    Ok(tail_at(journal, file_bytes)?.map_err(Damage::from).map(|tail| {
        let torn = u64::try_from(tail.torn_bytes).unwrap_or(u64::MAX);
        End { file_bytes, kept_bytes: file_bytes.saturating_sub(torn), head: tail.head, whole_records: 0 }
    }))
}

/// Reads the tail of the journal's first `end` bytes, looking no further back than its last whole line.
fn tail_at(journal: &OpenFile, end: u64) -> Result<Result<Tail, TailError>, DiskError> {
    let mut window = WINDOW_BYTES;
    loop {
        let start = end.saturating_sub(window);
        let bytes = journal.read_range(start, end)?;
        if start == 0 {
            return Ok(read_tail(&bytes));
        }
        // The window begins somewhere in a line; the next line begins behind the first line feed.
        let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
        if let (Some(_), Some(lines)) = (lines.next(), lines.next())
            && lines.contains(&b'\n')
        {
            return Ok(read_tail(lines));
        }
        window = window.saturating_mul(4);
    }
}
