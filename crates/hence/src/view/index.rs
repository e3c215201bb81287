//! The places of lines in a journal, so that a window of a long one is read without the rest.
//!
//! A journal whose lines were counted gives every window by the number of its line. One that is long and was not counted yet
//! gives it by the index that each record declares: the place is found by halving, and believed only if the line there
//! declares the index that was looked for. Nothing is judged by either; verification reads every byte.

use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use hence_canon::Value;
use hence_store::{RunId, StoreHandle};

use crate::prelude::*;

/// The place of every line of this number is noted. A window is found by reading at most this many lines before it.
const STRIDE: u64 = 64;

/// The bytes that are read at a time.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The bytes before the known end that are compared, to notice that a journal was cut and continued otherwise.
const TAIL_BYTES: usize = 128;

/// The bytes in which a line is looked for one by one, once halving has come so near.
const NEAR_BYTES: u64 = 64 * 1024;

/// The bytes that are read to look at one line.
const PROBE_BYTES: usize = 8 * 1024;

/// The bytes of the places that a window is read by.
const WINDOW_CHUNK_BYTES: usize = CHUNK_BYTES / 4;

/// The places of the lines of a journal, as far as they have been read.
#[derive(Default, Clone)]
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

impl LineIndex {
    /// Returns the number of lines; an unfinished last line counts as one.
    fn count(&self) -> u64 {
        self.lines + u64::from(self.size > self.end)
    }

    /// Returns the size of the journal.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Reads what was appended since the last time.
    pub(super) fn update(&mut self, store: &StoreHandle, run: &RunId) -> Result<(), CliError> {
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
    fn continues(&self, store: &StoreHandle, run: &RunId) -> Result<bool, CliError> {
        let found = read_range(store, run, self.end - self.tail.len() as u64, self.end)?;
        Ok(found == self.tail)
    }

    /// Returns the nearest noted line before a line.
    fn before(&self, line: u64) -> Option<Place> {
        let mark =
            usize::try_from(line / STRIDE).unwrap_or(usize::MAX).min(self.marks.len().saturating_sub(1));
        Some(Place { index: mark as u64 * STRIDE, offset: *self.marks.get(mark)? })
    }
}

/// The place of a line.
#[derive(Clone, Copy)]
struct Place {
    index: u64,
    offset: u64,
}

/// A line of a journal, without its line feed.
pub(super) struct Line<'a> {
    pub(super) index: u64,
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
}

/// The way in which lines are found.
enum Way {
    /// By their numbers.
    Counted(Arc<LineIndex>),
    /// By the indexes that they declare.
    Declared { records: u64, size: u64 },
}

/// The lines of a run's journal.
pub(super) struct Lines<'a> {
    store: &'a StoreHandle,
    run: &'a RunId,
    way: Way,
}

impl<'a> Lines<'a> {
    /// Returns lines that were counted.
    pub(super) fn counted(store: &'a StoreHandle, run: &'a RunId, index: Arc<LineIndex>) -> Self {
        Self { store, run, way: Way::Counted(index) }
    }

    /// Returns the lines of a whole journal that were not counted.
    pub(super) fn declared(store: &'a StoreHandle, run: &'a RunId, records: u64, size: u64) -> Self {
        Self { store, run, way: Way::Declared { records, size } }
    }

    /// Returns whether the lines are found by what they declare.
    pub(super) fn are_declared(&self) -> bool {
        matches!(self.way, Way::Declared { .. })
    }

    /// Returns the number of lines; an unfinished last line counts as one.
    pub(super) fn count(&self) -> u64 {
        match &self.way {
            Way::Counted(index) => index.count(),
            Way::Declared { records, .. } => *records,
        }
    }

    fn size(&self) -> u64 {
        match &self.way {
            Way::Counted(index) => index.size(),
            Way::Declared { size, .. } => *size,
        }
    }

    /// Shows the lines from `from` on, until `visit` breaks. Returns whether the lines were found: they are not where records
    /// do not declare their places.
    pub(super) fn visit(
        &self,
        from: u64,
        mut visit: impl FnMut(Line<'_>) -> Result<ControlFlow<()>, CliError>,
    ) -> Result<bool, CliError> {
        let place = match &self.way {
            Way::Counted(index) => index.before(from),
            Way::Declared { .. } => self.halve(from)?,
        };
        let Some(Place { mut index, mut offset }) = place else { return Ok(!self.are_declared()) };
        let left = self.size().saturating_sub(offset);
        let reader = self.store.read_journal_at(self.run, offset)?.take(left);
        let mut reader = BufReader::with_capacity(WINDOW_CHUNK_BYTES, reader);
        let mut line = Vec::new();
        let mut is_checked = !self.are_declared();
        loop {
            line.clear();
            let count = reader.read_until(b'\n', &mut line).map_err(|error| unreadable(self.run, &error))?;
            if count == 0 {
                return Ok(is_checked);
            }
            let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
            if index >= from {
                if !is_checked && declared_index(bytes) != Some(from) {
                    return Ok(false);
                }
                is_checked = true;
                if visit(Line { index, offset, bytes })?.is_break() {
                    return Ok(true);
                }
            }
            index += 1;
            offset += count as u64;
        }
    }

    /// Finds a line that is not far before the one that declares `wanted`; nothing where a line declares no index.
    fn halve(&self, wanted: u64) -> Result<Option<Place>, CliError> {
        let mut low = Place { index: 0, offset: 0 };
        let mut high = self.size();
        while high.saturating_sub(low.offset) > NEAR_BYTES {
            let middle = low.offset + (high - low.offset) / 2;
            match self.line_after(middle, high)? {
                Probe::Line(place) if place.index <= wanted && place.index > low.index => low = place,
                Probe::Line(place) if place.index > wanted => high = middle,
                Probe::NoLine => high = middle,
                Probe::Line(_) | Probe::Irregular => return Ok(None),
            }
        }
        Ok(Some(low))
    }

    /// Looks at the first line that begins after `offset` and before `end`.
    fn line_after(&self, offset: u64, end: u64) -> Result<Probe, CliError> {
        let left = self.size().saturating_sub(offset);
        let reader = self.store.read_journal_at(self.run, offset)?.take(left);
        let mut reader = BufReader::with_capacity(PROBE_BYTES, reader);
        let failed = |error: std::io::Error| unreadable(self.run, &error);
        let start = offset + reader.skip_until(b'\n').map_err(failed)? as u64;
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).map_err(failed)?;
        if start >= end || line.is_empty() {
            return Ok(Probe::NoLine);
        }
        let declared = line.strip_suffix(b"\n").and_then(declared_index);
        Ok(declared.map_or(Probe::Irregular, |index| Probe::Line(Place { index, offset: start })))
    }
}

/// The outcome of looking for a line.
enum Probe {
    Line(Place),
    NoLine,
    /// A line that declares no index.
    Irregular,
}

/// Returns the index that a record declares. Only a header may have none, and it is the first.
fn declared_index(line: &[u8]) -> Option<u64> {
    let record = hence_canon::parse(line).ok()?;
    match record.get("index") {
        Some(index) => index.as_u64(),
        None => (record.get("type").and_then(Value::as_str) == Some("header")).then_some(0),
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
pub(super) fn read_range(
    store: &StoreHandle,
    run: &RunId,
    start: u64,
    end: u64,
) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let mut reader = store.read_journal_at(run, start)?.take(end.saturating_sub(start));
    reader.read_to_end(&mut bytes).map_err(|error| unreadable(run, &error))?;
    Ok(bytes)
}

fn unreadable(run: &RunId, error: &std::io::Error) -> CliError {
    CliError::new(Code::Disk, format!("the journal of run {run} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: u64 = 3000;

    fn line(index: u64) -> String {
        let text = "x".repeat(usize::try_from(index * 7919 % 400).unwrap());
        format!("{{\"index\":{index},\"text\":\"{text}\"}}\n")
    }

    /// A journal whose lines are those of `texts`.
    fn stored(texts: impl Iterator<Item = String>) -> (tempfile::TempDir, StoreHandle, RunId, u64) {
        let folder = tempfile::tempdir().unwrap();
        let files = hence_store::FileStore::open_or_create(folder.path().join("store")).unwrap();
        let run = RunId::new("long").unwrap();
        let path = files.journal_path(&run);
        let store = StoreHandle::new(files);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = texts.collect();
        std::fs::write(path, &text).unwrap();
        (folder, store, run, text.len() as u64)
    }

    /// Returns the line that is found for a record, and its offset.
    fn found(lines: &Lines<'_>, from: u64) -> Option<(u64, String)> {
        let mut first = None;
        let is_found = lines.visit(from, |line| {
            assert_eq!(line.index, from);
            first = Some((line.offset, String::from_utf8(line.bytes.to_vec()).unwrap()));
            Ok(ControlFlow::Break(()))
        });
        first.filter(|_| is_found.unwrap())
    }

    #[test]
    fn a_window_is_found_by_what_records_declare_as_by_counting() {
        let (_folder, store, run, size) = stored((0..LINES).map(line));
        let mut index = LineIndex::default();
        index.update(&store, &run).unwrap();
        let counted = Lines::counted(&store, &run, Arc::new(index));
        let declared = Lines::declared(&store, &run, LINES, size);
        assert_eq!((counted.count(), declared.count()), (LINES, LINES));
        for from in (0..LINES).step_by(97).chain([LINES - 1]) {
            assert_eq!(found(&declared, from), found(&counted, from), "{from}");
            assert_eq!(found(&declared, from).unwrap().1, line(from).trim_end(), "{from}");
        }
        assert_eq!(found(&declared, LINES), None);
    }

    #[test]
    fn a_record_that_is_not_at_the_place_it_declares_is_not_found() {
        let without = (0..LINES).filter(|index| *index != 1500).map(line);
        let (_folder, store, run, size) = stored(without);
        let declared = Lines::declared(&store, &run, LINES, size);
        assert_eq!(found(&declared, 1500), None);
        assert_eq!(found(&declared, 1499).unwrap().1, line(1499).trim_end());
        let broken = (0..LINES).map(|index| if index % 2 == 1 { "{\n".to_owned() } else { line(index) });
        let (_folder, store, run, size) = stored(broken);
        assert_eq!(found(&Lines::declared(&store, &run, LINES, size), 2001), None);
    }
}
