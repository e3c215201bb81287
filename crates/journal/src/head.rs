//! Positions in a journal, and its head.

use std::fmt;
use std::str::FromStr;

use hence_canon::Digest;

/// Position of a record in one journal, starting at 0 with the header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordIndex(u64);

impl RecordIndex {
    /// The header's position.
    pub const HEADER: Self = Self(0);

    /// Wraps a position.
    pub const fn new(index: u64) -> Self {
        Self(index)
    }

    /// Returns the position as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the next position.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for RecordIndex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, out)
    }
}

/// The number of records in a journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordCount(u64);

impl RecordCount {
    /// Wraps a count.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// Returns the count as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the index that the next record will have.
    pub const fn next_index(self) -> RecordIndex {
        RecordIndex(self.0)
    }
}

impl fmt::Display for RecordCount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, out)
    }
}

/// The end of a journal: the last record's hash and how many records there are.
///
/// A head that is stored outside the store is an *anchor*: only an anchor reveals a cut tail or a rewritten chain.
/// Displays and parses as `HASH:COUNT`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Head {
    /// The hash of the last record.
    pub hash: Digest,
    /// The number of records, the header included.
    pub records: RecordCount,
}

impl fmt::Display for Head {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.hash, self.records)
    }
}

/// A text that is not `HASH:COUNT`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an anchor is HASH:COUNT, 64 lower-case hex digits and a number of records above 0, found {found:?}")]
pub struct InvalidAnchor {
    /// The text.
    pub found: String,
}

impl FromStr for Head {
    type Err = InvalidAnchor;

    fn from_str(text: &str) -> Result<Self, InvalidAnchor> {
        let parse = || {
            let (hash, count) = text.split_once(':')?;
            let plain = count.bytes().all(|byte| byte.is_ascii_digit());
            let count: u64 = count.parse().ok().filter(|count| plain && *count > 0)?;
            Some(Self { hash: hash.parse().ok()?, records: RecordCount(count) })
        };
        parse().ok_or_else(|| InvalidAnchor { found: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_reads_back_and_nothing_else_is_one() {
        let anchor = format!("{}:19", Digest::of(b""));
        assert_eq!(anchor.parse::<Head>().unwrap().to_string(), anchor);
        let hash = Digest::of(b"");
        for bad in
            [hash.to_string(), format!("{hash}:"), format!("{hash}:0"), format!("{hash}:+1"), "x:1".into()]
        {
            assert!(bad.parse::<Head>().is_err(), "{bad}");
        }
    }
}
