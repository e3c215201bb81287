//! The bytes of a log.
//!
//! ```text
//! hence-queue 1 17
//! 9f86d081884c7d65 [{"counters":{"job":2,"claim":1,"instance":1}},{"job":{…}}]
//! ```
//!
//! The header names the format and the generation: the number of times the log was shortened. Each line is a sum and the rows of one
//! change. The sum is the first 16 digits of the SHA-256 of the sum before, a space and the rows; before the first line it is the
//! header. So a line cannot follow another one than the one it was written after.

use hence_canon::Digest;

use crate::rows::Row;

/// The beginning of a log.
pub(super) const FORMAT: &str = "hence-queue 1 ";

/// The number of digits of a sum.
const SUM_DIGITS: usize = 16;

/// The longest line: a schedule's document with every character escaped, and some rows.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The sum of everything up to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum(String);

impl Sum {
    fn of(before: &str, rows: &str) -> Self {
        let mut bytes = Vec::with_capacity(before.len() + rows.len() + 1);
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(rows.as_bytes());
        Self(Digest::of(&bytes).to_string().chars().take(SUM_DIGITS).collect())
    }
}

/// Returns the header of a generation, with its line feed, and the sum that the first line follows.
pub(super) fn header(generation: u64) -> (String, Sum) {
    let text = format!("{FORMAT}{generation}");
    (format!("{text}\n"), Sum(text))
}

/// Reads a header without its line feed.
pub(super) fn read_header(line: &[u8]) -> Result<(u64, Sum), String> {
    let text = std::str::from_utf8(line).map_err(|_| not_a_header(line))?;
    let number = text.strip_prefix(FORMAT).ok_or_else(|| not_a_header(line))?;
    let generation: u64 = number.parse().map_err(|_| not_a_header(line))?;
    // One spelling, so that the sum that follows is that of the number.
    let (_, sum) = header(generation);
    if sum.0 == text { Ok((generation, sum)) } else { Err(not_a_header(line)) }
}

fn not_a_header(line: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(line).chars().take(40).collect();
    format!("expected `{FORMAT}` and a number, found {shown:?}")
}

/// Writes the line of a change, with its line feed.
pub(super) fn line(before: &Sum, rows: &[Row]) -> Result<(String, Sum), serde_json::Error> {
    let rows = serde_json::to_string(rows)?;
    let sum = Sum::of(&before.0, &rows);
    Ok((format!("{} {rows}\n", sum.0), sum))
}

/// The reason for which a line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BadLine {
    /// Its sum is not that of the line and the one before.
    Sum,
    /// Its rows cannot be read, although the sum fits.
    Rows(String),
}

/// Reads a line without its line feed.
pub(super) fn read_line(before: &Sum, line: &[u8]) -> Result<(Vec<Row>, Sum), BadLine> {
    let text = std::str::from_utf8(line).map_err(|_| BadLine::Sum)?;
    let (found, rows) = text.split_once(' ').ok_or(BadLine::Sum)?;
    let sum = Sum::of(&before.0, rows);
    if sum.0 != found {
        return Err(BadLine::Sum);
    }
    let rows = serde_json::from_str(rows).map_err(|error| BadLine::Rows(error.to_string()))?;
    Ok((rows, sum))
}
