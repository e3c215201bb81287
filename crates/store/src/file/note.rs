//! The note that makes a batch of records one unit.
//!
//! A journal file holds record lines and nothing else, so its end alone cannot tell whether the last batch is whole.
//! Before several records are appended, the run's file `batch` is told where they will begin and end. A journal
//! that ends between the two was interrupted, and goes back to where the batch began.

use hence_canon::Digest;
use hence_journal::Head;

/// Where a batch begins and ends in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchNote {
    /// Length of the journal before the batch.
    pub(crate) start: u64,
    /// Length of the journal with the batch.
    pub(crate) end: u64,
    /// Head of the journal before the batch.
    pub(crate) head: Head,
}

/// Length of a written note: always the same, so that it is rewritten in place and syncing it costs no metadata.
pub(crate) const NOTE_BYTES: usize = 14 + 21 + 21 + 65 + 21 + Digest::HEX_BYTES + 1;

/// What replaces a note that no longer holds.
pub(crate) const CLEARED: [u8; NOTE_BYTES] = [b' '; NOTE_BYTES];

impl BatchNote {
    /// Returns the line to write: `hence-batch 1 START END HASH COUNT DIGEST`, numbers with 20 digits, the digest
    /// over everything before it.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { start, end, head } = self;
        let body = format!("hence-batch 1 {start:020} {end:020} {} {:020} ", head.hash, head.records.get());
        let digest = Digest::of(body.as_bytes());
        format!("{body}{digest}\n").into_bytes()
    }

    /// Reads a note. A torn or cleared one is none: it was being written, so its batch had not begun.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let line = bytes.get(..NOTE_BYTES)?.strip_suffix(b"\n")?;
        let (body, digest) = line.split_at_checked(line.len().checked_sub(Digest::HEX_BYTES)?)?;
        if Digest::from_hex(digest)? != Digest::of(body) {
            return None;
        }
        let mut words = str::from_utf8(body).ok()?.strip_prefix("hence-batch 1 ")?.split_ascii_whitespace();
        let start = words.next()?.parse().ok()?;
        let end = words.next()?.parse().ok()?;
        let head = format!("{}:{}", words.next()?, words.next()?).parse().ok()?;
        Some(Self { start, end, head })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head_of, journal};

    #[test]
    fn a_note_reads_back_and_no_torn_note_does() {
        let head = head_of(&journal(3));
        for (start, end) in [(1, 2), (u64::MAX - 1, u64::MAX)] {
            let note = BatchNote { start, end, head };
            let bytes = note.encode();
            assert_eq!(bytes.len(), NOTE_BYTES);
            assert_eq!(BatchNote::decode(&bytes), Some(note));
            for cut in 0..bytes.len() {
                assert_eq!(BatchNote::decode(&bytes[..cut]), None);
                // An older note below a torn newer one.
                let older = BatchNote { start: 7, end: 9, head }.encode();
                let torn = [&bytes[..cut], &older[cut..]].concat();
                assert!(torn == older || torn == bytes || BatchNote::decode(&torn).is_none(), "{cut}");
            }
        }
        assert_eq!(BatchNote::decode(&CLEARED), None);
    }
}
