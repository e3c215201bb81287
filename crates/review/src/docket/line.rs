//! From a record to its line and back: hashed once, spelled once.

use hence_canon::{Digest, Object, ParseError, Value, canonical_bytes};

use crate::model::DecodeError;

use super::entry::{ReviewEntry, ReviewHeader};

/// What every hash of a review record begins with: no other hash of ours can be taken for one.
const DOMAIN: &[u8] = b"hence/review-docket/v1\0";

/// Where a review journal ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReviewHead {
    /// The hash of its last record.
    pub hash: Digest,
    /// How many records it has.
    pub records: u64,
}

/// A record as a line, line feed included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedReview {
    /// The bytes to append.
    pub line: Vec<u8>,
    /// Where the journal ends once they are appended.
    pub head: ReviewHead,
}

/// A line that is no record of a review.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLine {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(#[from] ParseError),
    /// It is spelled otherwise than records are.
    #[error("the line is not in canonical form")]
    NotCanonical,
    /// It is no object.
    #[error("a record is an object")]
    NotAnObject,
    /// A member is missing or not what it should be.
    #[error("member `{member}` is not as expected, found {found:?}")]
    Member {
        /// The member.
        member: &'static str,
        /// What is there.
        found: String,
    },
    /// There are members too many or too few.
    #[error("expected {expected} members, found {found}")]
    Members {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The event is none.
    #[error("{0}")]
    Event(DecodeError),
    /// The content does not have the hash it claims: it was altered.
    #[error("the record claims the hash {claimed}, its content has {computed}")]
    Altered {
        /// The hash in the record.
        claimed: Digest,
        /// The hash of its content.
        computed: Digest,
    },
    /// It does not follow the record before.
    #[error("the record follows {found}, expected {expected}")]
    Unlinked {
        /// The hash of the record before.
        expected: Digest,
        /// The hash it names.
        found: Digest,
    },
    /// It counts otherwise.
    #[error("expected record {expected}, found {found}")]
    Index {
        /// The place in the journal.
        expected: u64,
        /// The place it claims.
        found: u64,
    },
}

/// Seals the first record.
pub fn seal_header(header: &ReviewHeader) -> SealedReview {
    seal(header.members().into_iter().collect(), None)
}

/// Seals an entry behind a head.
pub fn seal_entry(entry: &ReviewEntry, behind: ReviewHead) -> SealedReview {
    seal(entry.members().into_iter().collect(), Some(behind))
}

fn seal(members: Object, behind: Option<ReviewHead>) -> SealedReview {
    let index = behind.map_or(0, |head| head.records);
    let mut members = members.with("index", index);
    if let Some(head) = behind {
        members = members.with("prev_hash", head.hash);
    }
    let hash = hash_of(&members);
    let mut line = canonical_bytes(&members.with("record_hash", hash).into());
    line.push(b'\n');
    SealedReview { line, head: ReviewHead { hash, records: index + 1 } }
}

/// The one place where the input of the hash is built: the domain, then the canonical record without its hash.
fn hash_of(members: &Object) -> Digest {
    let bytes = canonical_bytes(&members.clone().into());
    Digest::of_parts([DOMAIN, &bytes])
}

/// Opens a line (without its line feed) at its place in the chain.
pub(super) fn open(line: &[u8], behind: Option<ReviewHead>) -> Result<(Object, ReviewHead), InvalidLine> {
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
    let expected = behind.map_or(0, |head| head.records);
    let found = members.get("index").and_then(Value::as_u64);
    match found {
        Some(found) if found == expected => {}
        Some(found) => return Err(InvalidLine::Index { expected, found }),
        None => return Err(InvalidLine::Member { member: "index", found: String::new() }),
    }
    if let Some(head) = behind {
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
