//! Reading journals, in portions of bounded size.

use std::io::{self, Read};

use hence_journal::Head;
use hence_store::StoreError;

use crate::engine::{Engine, EngineHandle};
use crate::failure::Failure;
use crate::rows::{column, to_i64, to_u64, to_u64_length};
use crate::runs::RunKey;
use crate::session::Session;

/// The bytes of one portion. A portion is longer only if a single line is.
const PORTION_BYTES: u64 = 1024 * 1024;

/// A line of a journal and its place.
pub(crate) struct LastLine {
    pub(crate) at: u64,
    pub(crate) line: Vec<u8>,
}

const LAST: &str = "select at, line from {schema}.record where run = $1 and index = $2";

/// Reads the record that the row of a run names as its last; `None` if it is missing.
pub(crate) async fn journal_range(
    engine: &Engine,
    run: RunKey,
    head: Head,
) -> Result<Option<LastLine>, StoreError> {
    line_at(engine, run, to_i64(head.records.get()).saturating_sub(1)).await
}

/// Reads the record with an index; `None` if it is missing.
pub(crate) async fn line_at(
    engine: &Engine,
    run: RunKey,
    index: i64,
) -> Result<Option<LastLine>, StoreError> {
    let location = &engine.target.location;
    let read = engine.attempt(async |session| {
        let row = session.query_opt(LAST, &[&run.0, &index]).await?;
        row.map(|row| {
            Ok(LastLine { at: to_u64(column(location, &row, 0)?), line: column(location, &row, 1)? })
        })
        .transpose()
    });
    Ok(read.await?)
}

/// The place of a record's line. Lines are counted, so a gap in a damaged journal is skipped.
const PLACE_OF_RECORD: &str =
    "select at from {schema}.record where run = $1 and index >= $2 order by index limit 1";

/// The place of the line that a byte is in.
const PLACE_OF_BYTE: &str =
    "select at from {schema}.record where run = $1 and at <= $2 order by at desc limit 1";

/// The lines that begin in a range of bytes.
const PORTION: &str =
    "select at, line from {schema}.record where run = $1 and at >= $2 and at < $3 order by at";

/// The first line after a place where none begins.
const NEXT: &str = "select (select min(at) from {schema}.record where run = $1 and at >= $2) \
     from {schema}.run where key = $1";

/// The place at which a reader begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    Record(u64),
    Byte(u64),
}

/// Finds the place of the first line to read, and how many of its bytes are skipped.
pub(crate) async fn find_start(
    engine: &Engine,
    run: RunKey,
    start: Start,
) -> Result<Option<(u64, u64)>, StoreError> {
    let (sql, value) = match start {
        Start::Record(index) => (PLACE_OF_RECORD, index),
        Start::Byte(offset) => (PLACE_OF_BYTE, offset),
    };
    if value == 0 {
        return Ok(Some((0, 0)));
    }
    let row = engine.attempt(async |session| session.query_opt(sql, &[&run.0, &to_i64(value)]).await).await?;
    let Some(row) = row else { return Ok(None) };
    let at = to_u64(column(&engine.target.location, &row, 0).map_err(|failure| failure.error)?);
    let skipped = if matches!(start, Start::Byte(_)) { value.saturating_sub(at) } else { 0 };
    Ok(Some((at, skipped)))
}

/// A part of a journal: whole lines, and the place after them.
struct Portion {
    bytes: Vec<u8>,
    next: u64,
}

async fn read_portion(
    session: &Session,
    location: &str,
    run: RunKey,
    from: u64,
    end: u64,
) -> Result<Option<Portion>, Failure> {
    let mut from = from;
    while from < end {
        let until = end.min(from.saturating_add(PORTION_BYTES));
        let rows = session.query(PORTION, &[&run.0, &to_i64(from), &to_i64(until)]).await?;
        let mut portion = Portion { bytes: Vec::new(), next: from };
        for row in &rows {
            let line: &[u8] = column(location, row, 1)?;
            portion.next = to_u64(column(location, row, 0)?) + to_u64_length(line.len());
            portion.bytes.extend_from_slice(line);
        }
        if !rows.is_empty() {
            return Ok(Some(portion));
        }
        // Records are never removed but with their run: this is damage, and everything that is left is shown.
        let Some(row) = session.query_opt(NEXT, &[&run.0, &to_i64(from)]).await? else {
            return Err(Failure::damaged(location, "the run was removed while it was read"));
        };
        match column::<Option<i64>>(location, &row, 0)? {
            Some(next) => from = to_u64(next),
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns whether a journal begins with these bytes.
pub(crate) async fn starts_with(engine: &Engine, run: RunKey, expected: &[u8]) -> Result<bool, StoreError> {
    let location = &engine.target.location;
    let (mut from, mut rest) = (0, expected);
    while !rest.is_empty() {
        let portion = engine
            .attempt(async |session| {
                read_portion(session, location, run, from, to_u64_length(expected.len())).await
            })
            .await?;
        let Some(portion) = portion else { return Ok(false) };
        let length = portion.bytes.len().min(rest.len());
        if portion.bytes.get(..length) != rest.get(..length) {
            return Ok(false);
        }
        rest = rest.get(length..).unwrap_or_default();
        from = portion.next;
    }
    Ok(true)
}

/// A reader of a journal, up to the end that it had when the reader was made.
pub(crate) struct JournalReader {
    engine: EngineHandle,
    run: RunKey,
    next: u64,
    end: u64,
    portion: io::Cursor<Vec<u8>>,
    /// The bytes of the first line before the place that was asked for.
    skipped: u64,
}

impl JournalReader {
    /// Returns a reader from a line on. Without a line nothing is read.
    pub(crate) fn new(engine: EngineHandle, run: RunKey, start: Option<(u64, u64)>, end: u64) -> Self {
        let (next, skipped) = start.unwrap_or((end, 0));
        Self { engine, run, next, end, portion: io::Cursor::default(), skipped }
    }

    fn refill(&mut self) -> io::Result<()> {
        let (run, next, end) = (self.run, self.next, self.end);
        let read = self.engine.call(move |engine| async move {
            let location = &engine.target.location;
            let portion =
                engine.attempt(async |session| read_portion(session, location, run, next, end).await).await?;
            Ok(portion)
        });
        let portion = read.map_err(io::Error::other)?;
        let portion = portion.unwrap_or(Portion { bytes: Vec::new(), next: self.end });
        self.next = portion.next;
        self.portion = io::Cursor::new(portion.bytes);
        self.portion.set_position(std::mem::take(&mut self.skipped));
        Ok(())
    }
}

impl Read for JournalReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.portion.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.next >= self.end {
                return Ok(read);
            }
            self.refill()?;
        }
    }
}
