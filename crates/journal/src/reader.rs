//! Reading a journal record by record.

use hence_state::Profile;

use crate::record::{Chained, DecodeError};
use crate::{RecordCount, RecordIndex};

/// The lines of a journal and their offsets.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines. An unfinished last line counts as one.
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut starts = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            starts.push(at);
            let rest = bytes.get(at..).unwrap_or_default();
            at = memchr::memchr(b'\n', rest).map_or(bytes.len(), |line_feed| at + line_feed + 1);
        }
        Self { bytes, starts }
    }

    /// Returns the number of lines.
    pub fn count(&self) -> RecordCount {
        RecordCount::new(self.starts.len() as u64)
    }

    /// Returns a line without its line feed.
    pub fn get(&self, index: RecordIndex) -> Option<&'a [u8]> {
        let at = usize::try_from(index.get()).ok()?;
        let start = *self.starts.get(at)?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.bytes.len());
        let line = self.bytes.get(start..end)?;
        Some(line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// Returns the offset of a line.
    pub fn offset(&self, index: RecordIndex) -> Option<usize> {
        usize::try_from(index.get()).ok().and_then(|at| self.starts.get(at)).copied()
    }
}

/// Reads the records of a journal one at a time.
pub struct Reader<'a> {
    lines: Lines<'a>,
    profile: Profile,
    next: RecordIndex,
}

/// A line that is not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record {index}: {error}")]
pub struct ReadError {
    /// The index of the line.
    pub index: RecordIndex,
    /// The defect of the line.
    #[source]
    pub error: DecodeError,
}

impl<'a> Reader<'a> {
    /// Reads the header of a journal, which names the profile of the rest.
    ///
    /// # Errors
    /// [`ReadError`] when the first line is not a header.
    pub fn open(bytes: &'a [u8]) -> Result<(Chained, Self), ReadError> {
        let lines = Lines::of(bytes);
        let first = lines.get(RecordIndex::HEADER).unwrap_or_default();
        let (header, profile) =
            Chained::decode_header(first).map_err(|error| ReadError { index: RecordIndex::HEADER, error })?;
        Ok((header, Self { lines, profile, next: RecordIndex::HEADER.next() }))
    }

    /// Returns the profile that the header names.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the lines.
    pub fn lines(&self) -> &Lines<'a> {
        &self.lines
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Chained, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (index, line) = (self.next, self.lines.get(self.next)?);
        self.next = index.next();
        Some(Chained::decode(line, &self.profile).map_err(|error| ReadError { index, error }))
    }
}
