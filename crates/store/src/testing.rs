//! Record lines for the tests of this crate and for the contract: the least that a journal takes for a record.

use hence_canon::Digest;
use hence_journal::{Head, read_tail};

/// Returns the line of record `index`.
pub(crate) fn line(index: u64) -> Vec<u8> {
    labelled_line(index, "")
}

/// Returns the line of record `index` with a text of its own, so that two lines of one index can differ.
pub(crate) fn labelled_line(index: u64, label: &str) -> Vec<u8> {
    let kind = if index == 0 { "header" } else { "step" };
    let hash = Digest::of(format!("{index} {label}").as_bytes());
    format!("{{\"index\":{index},\"label\":\"{label}\",\"record_hash\":\"{hash}\",\"type\":\"{kind}\"}}\n")
        .into_bytes()
}

/// Returns the lines of records 0 up to but not including `end`.
pub(crate) fn journal(end: u64) -> Vec<u8> {
    lines(0, end)
}

/// Returns the lines of records `start` up to but not including `end`.
pub(crate) fn lines(start: u64, end: u64) -> Vec<u8> {
    (start..end).flat_map(line).collect()
}

/// Returns the head that `lines` lead to.
pub(crate) fn head_of(lines: &[u8]) -> Head {
    read_tail(lines).expect("test lines end in a record").head
}
