//! Checks of journal lines before they are appended.

use hence_canon::{Digest, scan};
use hence_journal::{Head, LINE_BYTES_MAX, RecordCount, TailError, read_tail};

/// The most bytes in one append. Lines are held in memory, and values over 10 KiB belong in blobs.
pub const APPEND_BYTES_MAX: u64 = 256 * 1024 * 1024;
const _: () = assert!(APPEND_BYTES_MAX >= LINE_BYTES_MAX as u64);

/// Lines that a store refuses; nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLines {
    /// There is no line at all.
    #[error("no lines to append")]
    Empty,
    /// The bytes do not end with a line feed.
    #[error("the last of the appended lines has no line feed")]
    Unterminated,
    /// A line is empty.
    #[error("line {line} of the appended lines is empty")]
    EmptyLine {
        /// The line, counted from 0.
        line: u64,
    },
    /// The lines are too many bytes.
    #[error("{bytes} bytes in one append, the limit is {APPEND_BYTES_MAX}")]
    TooLarge {
        /// The number of bytes.
        bytes: u64,
    },
    /// The last line is not a record.
    #[error("the appended lines do not end in a record: {0}")]
    NotARecord(#[from] TailError),
    /// The last record's index does not fit the number of lines.
    #[error("the appended lines end a journal of {found} records, expected {expected}")]
    OutOfSequence {
        /// Records before the append plus lines appended.
        expected: RecordCount,
        /// The count that the last record's index implies.
        found: RecordCount,
    },
}

/// Whole lines, with the head they lead to.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The number of lines.
    pub count: u64,
    /// The head after them.
    pub head: Head,
}

/// Checks that `bytes` are whole lines which continue a journal of `before` records.
///
/// # Errors
/// [`InvalidLines`] when they are not.
pub fn check_lines(bytes: &[u8], before: RecordCount) -> Result<Lines<'_>, InvalidLines> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    check_size(size)?;
    match bytes.last() {
        None => return Err(InvalidLines::Empty),
        Some(b'\n') => {}
        Some(_) => return Err(InvalidLines::Unterminated),
    }
    let (mut count, mut line_start, mut last_line) = (0, 0, [].as_slice());
    for line_feed in memchr::memchr_iter(b'\n', bytes) {
        if line_feed == line_start {
            return Err(InvalidLines::EmptyLine { line: count });
        }
        count += 1;
        last_line = bytes.get(line_start..line_feed).unwrap_or_default();
        line_start = line_feed + 1;
    }
    let head = match scan_head(last_line) {
        Some(head) => head,
        None => read_tail(bytes)?.head,
    };
    let expected = RecordCount::new(before.get().saturating_add(count));
    if head.records != expected {
        return Err(InvalidLines::OutOfSequence { expected, found: head.records });
    }
    Ok(Lines { bytes, count, head })
}

/// Reads the head from a canonical record with an index, without building a tree: a fifth of the time that
/// [`read_tail`] takes. Any other line is for that function to judge.
fn scan_head(line: &[u8]) -> Option<Head> {
    let (mut hash, mut index) = (None, None);
    let scanned = scan::prove_with(line, 1, |member| match member.raw_key {
        b"record_hash" => hash = quoted_digest(member.value.bytes()),
        b"index" => {
            index = str::from_utf8(member.value.bytes()).ok().and_then(|digits| digits.parse::<u64>().ok())
        }
        _ => {}
    });
    scanned.ok()?;
    Some(Head { hash: hash?, records: RecordCount::new(index?.saturating_add(1)) })
}

/// Returns the hash that a line of a journal has, if it is a canonical record with an index.
pub fn record_hash(line: &[u8]) -> Option<Digest> {
    scan_head(line.strip_suffix(b"\n").unwrap_or(line)).map(|head| head.hash)
}

fn quoted_digest(value: &[u8]) -> Option<Digest> {
    Digest::from_hex(value.strip_prefix(b"\"")?.strip_suffix(b"\"")?)
}

fn check_size(bytes: u64) -> Result<(), InvalidLines> {
    if bytes > APPEND_BYTES_MAX { Err(InvalidLines::TooLarge { bytes }) } else { Ok(()) }
}

/// Returns how many bytes of `bytes` are whole lines.
pub fn whole_lines(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{journal, line};

    #[test]
    fn whole_lines_in_sequence_are_taken() {
        let lines = journal(3);
        let checked = check_lines(&lines, RecordCount::new(0)).unwrap();
        assert_eq!((checked.count, checked.head.records.get()), (3, 3));
        assert!(check_lines(&line(7), RecordCount::new(7)).is_ok());
    }

    #[test]
    fn the_short_way_to_the_head_agrees_with_the_long_one() {
        let hash = Digest::of(b"x");
        let records = [
            format!(r#"{{"index":7,"record_hash":"{hash}"}}"#),
            format!(r#"{{"index":0,"nested":{{"index":9,"record_hash":"no"}},"record_hash":"{hash}"}}"#),
            format!(r#"{{"record_hash":"{hash}","type":"header"}}"#),
            format!(r#"{{"record_hash":"{hash}","type":"step"}}"#),
            format!(r#"{{"record_hash":"{hash}","index":7}}"#),
            format!(r#"{{ "index":7,"record_hash":"{hash}"}}"#),
            format!(r#"{{"index":7.0,"record_hash":"{hash}"}}"#),
            format!(r#"{{"index":-1,"record_hash":"{hash}"}}"#),
            format!(r#"{{"index":18446744073709551615,"record_hash":"{hash}"}}"#),
            format!(r#"{{"index":18446744073709551616,"record_hash":"{hash}"}}"#),
            format!(r#"{{"index":"7","record_hash":"{hash}"}}"#),
            format!(r#"{{"index":7,"record_hash":["{hash}"]}}"#),
            format!(r#"{{"index":7,"record_hash":"{}"}}"#, hash.to_string().to_uppercase()),
            format!(r#"[{{"index":7,"record_hash":"{hash}"}}]"#),
            "{}".to_owned(),
            "not json".to_owned(),
        ];
        let mut short = 0;
        for record in records {
            let long = read_tail(format!("{record}\n").as_bytes()).map(|tail| tail.head);
            if let Some(head) = scan_head(record.as_bytes()) {
                assert_eq!(long, Ok(head), "{record}");
                short += 1;
            }
        }
        assert_eq!(short, 3);
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        let check = |bytes: &[u8]| check_lines(bytes, RecordCount::new(0)).unwrap_err();
        assert_eq!(check(b""), InvalidLines::Empty);
        assert_eq!(check(&journal(2)[..20]), InvalidLines::Unterminated);
        assert_eq!(check(b"\n"), InvalidLines::EmptyLine { line: 0 });
        assert_eq!(check(&[&journal(2), b"\n".as_slice()].concat()), InvalidLines::EmptyLine { line: 2 });
        assert!(matches!(check(b"{}\n"), InvalidLines::NotARecord(_)));
        let skipped = check(&line(1));
        let (expected, found) = (RecordCount::new(1), RecordCount::new(2));
        assert_eq!(skipped, InvalidLines::OutOfSequence { expected, found });
    }

    #[test]
    fn an_append_holds_up_to_the_limit() {
        assert_eq!(check_size(APPEND_BYTES_MAX), Ok(()));
        let bytes = APPEND_BYTES_MAX + 1;
        assert_eq!(check_size(bytes), Err(InvalidLines::TooLarge { bytes }));
    }
}
