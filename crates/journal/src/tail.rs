//! The end of a journal file: whole records, then perhaps a torn one.

use hence_canon::{Digest, ParseError, Value, parse};

use crate::{Head, RecordCount};

/// The end of a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The head after the last whole record.
    pub head: Head,
    /// The bytes after the last line feed: a record whose write was interrupted. It was never acknowledged.
    pub torn_bytes: usize,
}

/// A journal whose last whole line is not a record.
///
/// A torn write leaves an incomplete line; a complete line that is not a record is damage, and nothing may be appended to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TailError {
    /// There is no whole line.
    #[error("no whole record among {bytes} bytes")]
    NoRecord {
        /// The number of bytes.
        bytes: usize,
    },
    /// The last whole line is not JSON.
    #[error("the last whole line is not JSON: {0}")]
    NotJson(#[from] ParseError),
    /// The last whole line lacks a member that every record has.
    #[error("the last whole line has no valid `{member}`")]
    NotARecord {
        /// The member.
        member: &'static str,
    },
}

/// Reads the end of a journal from `bytes`: the whole journal, or any last part of it that begins with a line.
///
/// # Errors
/// [`TailError`] when there is no whole record.
pub fn read_tail(bytes: &[u8]) -> Result<Tail, TailError> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let Some(line_feed) = whole else { return Err(TailError::NoRecord { bytes: bytes.len() }) };
    let lines = bytes.get(..line_feed).unwrap_or_default();
    let line_start = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let record = parse(lines.get(line_start..).unwrap_or_default())?;
    let hash = record.get("record_hash").and_then(Value::as_str).and_then(|text| text.parse::<Digest>().ok());
    let hash = hash.ok_or(TailError::NotARecord { member: "record_hash" })?;
    // Only a header may lack an index, and a header is record 0.
    let index = match (record.get("index"), record.get("type").and_then(Value::as_str)) {
        (Some(index), _) => index.as_u64(),
        (None, Some("header")) => Some(0),
        (None, _) => None,
    };
    let index = index.ok_or(TailError::NotARecord { member: "index" })?;
    let records = RecordCount::new(index.saturating_add(1));
    Ok(Tail { head: Head { hash, records }, torn_bytes: bytes.len() - line_feed - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(index: u64) -> String {
        format!("{{\"index\":{index},\"record_hash\":\"{}\",\"type\":\"step\"}}\n", Digest::of(b"x"))
    }

    #[test]
    fn whole_lines_give_the_head_and_the_rest_is_torn() {
        let journal = line(0) + &line(1);
        for cut in 0..=journal.len() {
            let first = line(0).len();
            let found = read_tail(&journal.as_bytes()[..cut]);
            if cut < first {
                assert_eq!(found, Err(TailError::NoRecord { bytes: cut }));
            } else {
                let (records, whole) = if cut < journal.len() { (1, first) } else { (2, journal.len()) };
                let head = Head { hash: Digest::of(b"x"), records: RecordCount::new(records) };
                assert_eq!(found, Ok(Tail { head, torn_bytes: cut - whole }));
            }
        }
    }

    #[test]
    fn a_whole_line_that_is_no_record_is_damage() {
        for damaged in ["\n", "{}\n", "[]\n", "x\n", "{\"index\":-1}\n"] {
            assert!(read_tail(damaged.as_bytes()).is_err(), "{damaged:?}");
        }
        let no_index = format!("{{\"record_hash\":\"{}\"}}\n", Digest::of(b"x"));
        assert_eq!(read_tail(no_index.as_bytes()), Err(TailError::NotARecord { member: "index" }));
    }
}
