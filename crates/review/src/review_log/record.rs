//! The records of a review log and their lines: hashed in one place, spelled in one place.

use std::sync::Arc;

use hence_canon::{Digest, Object, ParseError, Value, canonical_bytes};

use crate::ContentHash;
use crate::model::{DecodeError, ReviewEvent};
use crate::vocabulary::words;

/// The name of the format.
pub const FORMAT: &str = "hence-docket/1";

words! {
    /// The source of a record's time.
    TimeSource, "time source" {
        Given = "given",
        System = "system",
    }
}

/// The author and time of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The author.
    pub author: Arc<str>,
    /// The time, as the caller states it.
    pub at: Arc<str>,
    /// The source of that time.
    pub time_source: TimeSource,
}

/// The first record, which names the trace under review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewHeader {
    /// The id of the review.
    pub review_id: Arc<str>,
    /// The id of the trace; empty when the trace has none.
    pub trace_id: Arc<str>,
    /// The content hash of the trace.
    pub content_hash: ContentHash,
    /// Who opened the review, and when.
    pub stamp: Stamp,
}

/// One action of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewEntry {
    /// The author and time.
    pub stamp: Stamp,
    /// The event.
    pub event: ReviewEvent,
}

impl Stamp {
    fn members(&self) -> [(&'static str, Value); 3] {
        [
            ("author", self.author.clone().into()),
            ("at", self.at.clone().into()),
            ("time_source", self.time_source.into()),
        ]
    }

    fn read(object: &Object) -> Result<Self, InvalidLine> {
        let word = text(object, "time_source")?;
        let time_source = TimeSource::from_word(&word)
            .ok_or_else(|| InvalidLine::Member { member: "time_source", found: word.to_string() })?;
        Ok(Self { author: filled(object, "author")?, at: filled(object, "at")?, time_source })
    }
}

impl ReviewHeader {
    fn members(&self) -> Vec<(&'static str, Value)> {
        let own = [
            ("type", Value::from("header")),
            ("format", FORMAT.into()),
            ("review_id", self.review_id.clone().into()),
            ("trace_id", self.trace_id.clone().into()),
            ("content_hash", self.content_hash.into()),
        ];
        own.into_iter().chain(self.stamp.members()).collect()
    }

    pub(super) fn read(object: &Object) -> Result<Self, InvalidLine> {
        expect(object, "type", "header")?;
        expect(object, "format", FORMAT)?;
        let hash = text(object, "content_hash")?;
        let content_hash = hash
            .parse()
            .map_err(|_| InvalidLine::Member { member: "content_hash", found: hash.to_string() })?;
        // type, format, review_id, trace_id, content_hash, author, at, time_source, index, record_hash
        closed(object, 10)?;
        Ok(Self {
            review_id: filled(object, "review_id")?,
            trace_id: text(object, "trace_id")?,
            content_hash,
            stamp: Stamp::read(object)?,
        })
    }
}

impl ReviewEntry {
    fn members(&self) -> Vec<(&'static str, Value)> {
        let own = [("type", Value::from("entry")), ("event", Value::from(&self.event))];
        own.into_iter().chain(self.stamp.members()).collect()
    }

    pub(super) fn read(object: &Object) -> Result<Self, InvalidLine> {
        expect(object, "type", "entry")?;
        let event = object.get("event").cloned().unwrap_or_default();
        let event = ReviewEvent::from_value(&event).map_err(InvalidLine::Event)?;
        // type, event, author, at, time_source, index, prev_hash, record_hash
        closed(object, 8)?;
        Ok(Self { stamp: Stamp::read(object)?, event })
    }
}

fn text(object: &Object, member: &'static str) -> Result<Arc<str>, InvalidLine> {
    match object.get(member) {
        Some(Value::String(text)) => Ok(text.clone()),
        found => Err(InvalidLine::Member { member, found: found.map(Value::to_string).unwrap_or_default() }),
    }
}

fn filled(object: &Object, member: &'static str) -> Result<Arc<str>, InvalidLine> {
    let found = text(object, member)?;
    if found.trim().is_empty() {
        return Err(InvalidLine::Member { member, found: found.to_string() });
    }
    Ok(found)
}

fn expect(object: &Object, member: &'static str, expected: &str) -> Result<(), InvalidLine> {
    let found = text(object, member)?;
    if &*found == expected { Ok(()) } else { Err(InvalidLine::Member { member, found: found.to_string() }) }
}

/// Checks that a record has exactly the members of its kind.
fn closed(object: &Object, members: usize) -> Result<(), InvalidLine> {
    if object.len() == members {
        Ok(())
    } else {
        Err(InvalidLine::Members { expected: members, found: object.len() })
    }
}

/// The domain of the hashes of review records, so that no other hash can be mistaken for one.
const DOMAIN: &[u8] = b"hence/review-docket/v1\0";

/// The head of a review log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReviewHead {
    /// The hash of the last record.
    pub hash: Digest,
    /// The number of records.
    pub records: u64,
}

/// A record as a line, line feed included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedReview {
    /// The bytes to append.
    pub line: Vec<u8>,
    /// The head after the append.
    pub head: ReviewHead,
}

/// An error about a line that is not a review record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLine {
    /// The line is not JSON.
    #[error("not JSON: {0}")]
    NotJson(#[from] ParseError),
    /// The line is not in canonical form.
    #[error("the line is not in canonical form")]
    NotCanonical,
    /// The line is not an object.
    #[error("a record is an object")]
    NotAnObject,
    /// A member is missing or wrong.
    #[error("member `{member}` is not as expected, found {found:?}")]
    Member {
        /// The member.
        member: &'static str,
        /// The found value.
        found: String,
    },
    /// The number of members is wrong.
    #[error("expected {expected} members, found {found}")]
    Members {
        /// The expected number.
        expected: usize,
        /// The found number.
        found: usize,
    },
    /// The event is invalid.
    #[error("{0}")]
    Event(DecodeError),
    /// The content does not match its hash: it was altered.
    #[error("the record claims the hash {claimed}, its content has {computed}")]
    Altered {
        /// The hash in the record.
        claimed: Digest,
        /// The hash of its content.
        computed: Digest,
    },
    /// The record does not follow the one before.
    #[error("the record follows {found}, expected {expected}")]
    Unlinked {
        /// The hash of the record before.
        expected: Digest,
        /// The hash it names.
        found: Digest,
    },
    /// The index is wrong.
    #[error("expected record {expected}, found {found}")]
    Index {
        /// The position in the log.
        expected: u64,
        /// The index it has.
        found: u64,
    },
}

/// Seals the first record.
pub fn seal_header(header: &ReviewHeader) -> SealedReview {
    seal(header.members().into_iter().collect(), None)
}

/// Seals an entry after a head.
pub fn seal_entry(entry: &ReviewEntry, head: ReviewHead) -> SealedReview {
    seal(entry.members().into_iter().collect(), Some(head))
}

fn seal(members: Object, after: Option<ReviewHead>) -> SealedReview {
    let index = after.map_or(0, |head| head.records);
    let mut members = members.with("index", index);
    if let Some(head) = after {
        members = members.with("prev_hash", head.hash);
    }
    let hash = hash_of(&members);
    let mut line = canonical_bytes(&members.with("record_hash", hash).into());
    line.push(b'\n');
    SealedReview { line, head: ReviewHead { hash, records: index + 1 } }
}

/// Returns the hash of the domain and the canonical record without its hash. The input of the hash is built only here.
fn hash_of(members: &Object) -> Digest {
    let bytes = canonical_bytes(&members.clone().into());
    Digest::of_parts([DOMAIN, &bytes])
}

/// Opens a line (without its line feed) after a head of the chain.
pub(super) fn open(line: &[u8], after: Option<ReviewHead>) -> Result<(Object, ReviewHead), InvalidLine> {
    let value = hence_canon::parse(line)?;
    if canonical_bytes(&value) != line {
        return Err(InvalidLine::NotCanonical);
    }
    let Value::Object(members) = value else { return Err(InvalidLine::NotAnObject) };
    let claimed = digest(&members, "record_hash")?;
    let computed = hash_of(&members.without("record_hash"));
    if claimed != computed {
        return Err(InvalidLine::Altered { claimed, computed });
    }
    let expected = after.map_or(0, |head| head.records);
    let found = members.get("index").and_then(Value::as_u64);
    match found {
        Some(found) if found == expected => {}
        Some(found) => return Err(InvalidLine::Index { expected, found }),
        None => return Err(InvalidLine::Member { member: "index", found: String::new() }),
    }
    if let Some(head) = after {
        let found = digest(&members, "prev_hash")?;
        if found != head.hash {
            return Err(InvalidLine::Unlinked { expected: head.hash, found });
        }
    }
    Ok((members, ReviewHead { hash: claimed, records: expected + 1 }))
}

fn digest(members: &Object, member: &'static str) -> Result<Digest, InvalidLine> {
    let found = members.get(member).and_then(Value::as_str).unwrap_or("");
    found.parse().map_err(|_| InvalidLine::Member { member, found: found.to_owned() })
}
