//! Journal lines as rows, and numbers as the database stores them.

use hence_canon::Digest;
use hence_journal::{Head, RecordCount};
use hence_store::implementation::record_hash;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::failure::Failure;

/// The rows of consecutive records, column by column.
#[derive(Debug, Default, Clone)]
pub(crate) struct RecordRows<'a> {
    pub(crate) runs: Vec<i64>,
    pub(crate) indexes: Vec<i64>,
    pub(crate) offsets: Vec<i64>,
    pub(crate) lines: Vec<&'a [u8]>,
    pub(crate) hashes: Vec<Option<Vec<u8>>>,
    pub(crate) bytes: usize,
}

impl<'a> RecordRows<'a> {
    fn push(&mut self, run: i64, index: u64, offset: u64, line: &'a [u8]) {
        self.runs.push(run);
        self.indexes.push(to_i64(index));
        self.offsets.push(to_i64(offset));
        self.lines.push(line);
        self.hashes.push(record_hash(line).map(|hash| hash.as_bytes().to_vec()));
        self.bytes += line.len();
    }
}

/// Cuts lines into portions of rows, each of at most `bytes_max` unless a single line is longer. There is at least one.
pub(crate) fn portions(
    run: i64,
    lines: &[u8],
    first: RecordCount,
    at: u64,
    bytes_max: usize,
) -> Vec<RecordRows<'_>> {
    let mut portions = vec![RecordRows::default()];
    add_lines(&mut portions, run, lines, first, at, bytes_max);
    portions
}

/// Adds lines to the last portion, and to new ones when it is full.
pub(crate) fn add_lines<'a>(
    portions: &mut Vec<RecordRows<'a>>,
    run: i64,
    lines: &'a [u8],
    first: RecordCount,
    at: u64,
    bytes_max: usize,
) {
    let (mut index, mut offset) = (first.get(), at);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let is_full =
            portions.last().is_none_or(|rows| rows.bytes > 0 && rows.bytes + line.len() > bytes_max);
        if is_full {
            portions.push(RecordRows::default());
        }
        if let Some(rows) = portions.last_mut() {
            rows.push(run, index, offset, line);
        }
        index += 1;
        offset += to_u64_length(line.len());
    }
}

/// Returns a number as the database stores it. No count here comes near the limit.
pub(crate) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a number that the database stores; a negative one is stored by nobody and reads as 0.
pub(crate) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn to_u64_length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Reads a column of a row.
pub(crate) fn column<'a, T: FromSql<'a>>(location: &str, row: &'a Row, at: usize) -> Result<T, Failure> {
    row.try_get(at).map_err(|error| Failure::of(location, &error))
}

/// Reads a head from its two columns.
pub(crate) fn head(location: &str, row: &Row, count: usize, hash: usize) -> Result<Head, Failure> {
    let records = RecordCount::new(to_u64(column(location, row, count)?));
    Ok(Head { hash: digest(location, column(location, row, hash)?)?, records })
}

/// Reads a digest.
pub(crate) fn digest(location: &str, bytes: &[u8]) -> Result<Digest, Failure> {
    let bytes: [u8; 32] = bytes
        .try_into()
        .map_err(|_| Failure::damaged(location, format!("a digest has 32 bytes, found {}", bytes.len())))?;
    Ok(Digest::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_hold_whole_lines_up_to_their_limit() {
        let lines = b"aa\nbbbbbb\ncc\nd\n";
        let cut = portions(7, lines, RecordCount::new(3), 100, 7);
        let indexes: Vec<&[i64]> = cut.iter().map(|rows| rows.indexes.as_slice()).collect();
        let offsets: Vec<&[i64]> = cut.iter().map(|rows| rows.offsets.as_slice()).collect();
        let found: Vec<&[&[u8]]> = cut.iter().map(|rows| rows.lines.as_slice()).collect();
        assert_eq!(indexes, [&[3][..], &[4], &[5, 6]]);
        assert_eq!(offsets, [&[100][..], &[103], &[110, 113]]);
        assert_eq!(found, [&[&b"aa\n"[..]][..], &[b"bbbbbb\n"], &[b"cc\n", b"d\n"]]);
        assert_eq!(portions(7, b"", RecordCount::new(0), 0, 7).len(), 1);
    }
}
