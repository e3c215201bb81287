//! The places of lines in a journal, so that a window of a long one is read without the rest.

use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::ControlFlow;

use hence_store::{FileStore, RunId, Store as _};

use crate::prelude::*;

/// The place of every line of this number is noted. A window is found by reading at most this many lines before it.
const STRIDE: u64 = 64;

/// The bytes that are read at a time.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The bytes before the known end that are compared, to notice that a journal was cut and continued otherwise.
const TAIL_BYTES: usize = 128;

/// The places of the lines of a journal, as far as they have been read.
#[derive(Default)]
pub(super) struct LineIndex {
    /// The offsets of the lines 0, [`STRIDE`], 2 × [`STRIDE`]…
    marks: Vec<u64>,
    /// The number of whole lines.
    lines: u64,
    /// The offset after the last line feed.
    end: u64,
    /// The last bytes before `end`.
    tail: Vec<u8>,
    /// The size of the file when it was read.
    size: u64,
}

/// A line of a journal, without its line feed.
pub(super) struct Line<'a> {
    pub(super) index: u64,
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
}

impl LineIndex {
    /// Returns the number of lines; an unfinished last line counts as one.
    pub(super) fn count(&self) -> u64 {
        self.lines + u64::from(self.size > self.end)
    }

    /// Returns the size of the journal.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Reads what was appended since the last time.
    pub(super) fn update(&mut self, store: &FileStore, run: &RunId) -> Result<(), CliError> {
        if !self.continues(store, run)? {
            *self = Self::default();
        }
        if self.marks.is_empty() {
            self.marks.push(0);
        }
        let mut reader = store.read_journal_at(run, self.end)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at = self.end;
        loop {
            let count = read_some(&mut reader, &mut chunk, run)?;
            let read = chunk.get(..count).unwrap_or_default();
            if read.is_empty() {
                break;
            }
            for line_feed in memchr::memchr_iter(b'\n', read) {
                self.lines += 1;
                self.end = at + line_feed as u64 + 1;
                if self.lines.is_multiple_of(STRIDE) {
                    self.marks.push(self.end);
                }
            }
            at += count as u64;
        }
        self.size = at;
        self.tail = read_range(store, run, self.end.saturating_sub(TAIL_BYTES as u64), self.end)?;
        Ok(())
    }

    /// Returns whether the journal still begins with what was read.
    fn continues(&self, store: &FileStore, run: &RunId) -> Result<bool, CliError> {
        let found = read_range(store, run, self.end - self.tail.len() as u64, self.end)?;
        Ok(found == self.tail)
    }

    /// Shows the lines from `from` on, until `visit` breaks.
    pub(super) fn visit(
        &self,
        store: &FileStore,
        run: &RunId,
        from: u64,
        mut visit: impl FnMut(Line<'_>) -> Result<ControlFlow<()>, CliError>,
    ) -> Result<(), CliError> {
        let mark =
            usize::try_from(from / STRIDE).unwrap_or(usize::MAX).min(self.marks.len().saturating_sub(1));
        let Some(start) = self.marks.get(mark).copied() else { return Ok(()) };
        let (mut index, mut offset) = (mark as u64 * STRIDE, start);
        let left = self.size.saturating_sub(start);
        let mut reader =
            BufReader::with_capacity(CHUNK_BYTES / 4, store.read_journal_at(run, start)?.take(left));
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = reader.read_until(b'\n', &mut line).map_err(|error| unreadable(run, &error))?;
            if count == 0 {
                return Ok(());
            }
            let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
            if index >= from && visit(Line { index, offset, bytes })?.is_break() {
                return Ok(());
            }
            index += 1;
            offset += count as u64;
        }
    }
}

fn read_some(reader: &mut dyn std::io::Read, chunk: &mut [u8], run: &RunId) -> Result<usize, CliError> {
    loop {
        match reader.read(chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read.map_err(|error| unreadable(run, &error)),
        }
    }
}

/// Reads the bytes of a journal in a range; fewer where it ends before.
pub(super) fn read_range(store: &FileStore, run: &RunId, start: u64, end: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let mut reader = store.read_journal_at(run, start)?.take(end.saturating_sub(start));
    reader.read_to_end(&mut bytes).map_err(|error| unreadable(run, &error))?;
    Ok(bytes)
}

fn unreadable(run: &RunId, error: &std::io::Error) -> CliError {
    CliError::new(Code::Disk, format!("the journal of run {run} cannot be read: {error}"))
}
