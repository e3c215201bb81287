//! Writing and verifying a journal.

use hence_canon::{Digest, Value, parse};

use crate::ContentHash;
use crate::lineage::Lineage;
use crate::model::Text;
use crate::wire::Trace;

use super::entry::Entry;
use super::record::{Head, Record};
use super::state::{Refusal, Review};

/// A journal in memory. Storing its bytes is up to the caller.
#[derive(Clone, Debug)]
pub struct Journal {
    trace: ContentHash,
    records: Vec<Record>,
    head: Head,
    review: Review,
}

/// What is wrong with a journal, and from which line on it cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct Damage {
    /// The first bad line, from 1.
    pub line: usize,
    /// What is wrong.
    pub kind: DamageKind,
}

/// Kinds of damage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The last line has no end: the writer was cut off.
    #[error("the line is torn")]
    Torn,
    /// Not a record at all.
    #[error("not a record: {0}")]
    Malformed(String),
    /// The bytes are not the canonical bytes of the record.
    #[error("the record is not written canonically")]
    NotCanonical,
    /// The content does not match its hash.
    #[error("record_hash: stored {stored}, computed {computed}")]
    Hash {
        /// The hash in the record.
        stored: Digest,
        /// The hash of its content.
        computed: Digest,
    },
    /// The record does not follow the one before.
    #[error("the record does not follow the one before it")]
    Chain,
    /// The record is about another trace.
    #[error("the record is about {found}, not {expected}")]
    Trace {
        /// The trace at hand.
        expected: ContentHash,
        /// The trace of the record.
        found: ContentHash,
    },
    /// The review could not have taken this entry.
    #[error("{0}")]
    Refused(Refusal),
}

impl Journal {
    /// Opens an empty journal for a trace.
    pub fn open(trace: &Value) -> Self {
        let read = Trace::read(trace);
        let review = Review::open(&read, &Lineage::of(&read));
        Self {
            trace: ContentHash::of(trace),
            records: Vec::new(),
            head: Head { length: 0, hash: None },
            review,
        }
    }

    /// Appends what somebody said.
    ///
    /// # Errors
    /// [`Refusal`] when the review cannot take it; the journal is then unchanged.
    pub fn append(&mut self, author: &str, at: &str, entry: Entry) -> Result<&Record, Refusal> {
        if author.trim().is_empty() {
            return Err(Refusal::NoAuthor);
        }
        let record = Record {
            index: self.head.length,
            prev_hash: self.head.hash,
            trace: self.trace,
            author: Text::from(author),
            at: Text::from(at),
            entry,
        };
        self.take(record)
    }

    fn take(&mut self, record: Record) -> Result<&Record, Refusal> {
        self.review.apply(&record)?;
        self.head = Head { length: self.head.length + 1, hash: Some(record.hash()) };
        self.records.push(record);
        Ok(self.records.last().expect("a record was pushed"))
    }

    /// Returns the records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the state of the review.
    pub fn review(&self) -> &Review {
        &self.review
    }

    /// Returns the trace the journal is about.
    pub fn trace(&self) -> ContentHash {
        self.trace
    }

    /// Returns the end of the journal.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the bytes of the journal: the canonical bytes of each record and a line feed.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            bytes.extend(hence_canon::canonical_bytes(&record.value()));
            bytes.push(b'\n');
        }
        bytes
    }
}

/// Verifies a journal against its trace: bytes, hashes, chain, and that every entry could be said.
///
/// # Errors
/// [`Damage`] with the first line that does not hold.
pub fn verify(bytes: &[u8], trace: &Value) -> Result<Journal, Damage> {
    let mut journal = Journal::open(trace);
    let mut rest = bytes;
    let mut line = 0;
    while !rest.is_empty() {
        line += 1;
        let damage = |kind| Damage { line, kind };
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| damage(DamageKind::Torn))?;
        let (text, after) = rest.split_at_checked(end).ok_or_else(|| damage(DamageKind::Torn))?;
        let record = read_line(text, &journal).map_err(damage)?;
        journal.take(record).map_err(|refusal| damage(DamageKind::Refused(refusal)))?;
        rest = after.get(1..).unwrap_or(&[]);
    }
    Ok(journal)
}

fn read_line(text: &[u8], journal: &Journal) -> Result<Record, DamageKind> {
    let value = parse(text).map_err(|error| DamageKind::Malformed(error.to_string()))?;
    if hence_canon::canonical_bytes(&value) != text {
        return Err(DamageKind::NotCanonical);
    }
    let (record, stored) = Record::read(&value).map_err(|defects| {
        let shown: Vec<String> = defects.iter().map(ToString::to_string).collect();
        DamageKind::Malformed(shown.join("; "))
    })?;
    let computed = record.hash();
    if computed != stored {
        return Err(DamageKind::Hash { stored, computed });
    }
    if record.index != journal.head.length || record.prev_hash != journal.head.hash {
        return Err(DamageKind::Chain);
    }
    if record.trace != journal.trace {
        return Err(DamageKind::Trace { expected: journal.trace, found: record.trace });
    }
    Ok(record)
}
