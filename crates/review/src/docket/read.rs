//! How far a review journal holds.

use hence_canon::Value;

use crate::ContentHash;

use super::entry::{ReviewEntry, ReviewHeader};
use super::line::{InvalidLine, ReviewHead, open};
use super::refusal::Refusal;
use super::review::Review;

/// A journal, read as far as it holds.
#[derive(Debug)]
pub struct ReadReview {
    /// The fold of all records that hold; nothing when the header does not, or the trace is another.
    pub review: Option<Review>,
    /// Where the part that holds ends.
    pub head: Option<ReviewHead>,
    /// How many lines there are.
    pub lines: u64,
    /// The first line that does not hold.
    pub broken: Option<Broken>,
}

/// Why a line of a review journal does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// The line is no record, or not at its place.
    #[error("record {line}: {reason}")]
    Line {
        /// Which, from 0.
        line: u64,
        /// What is wrong with it.
        reason: InvalidLine,
    },
    /// The record says something that was not allowed.
    #[error("record {line} was not allowed: {reason}")]
    NotAllowed {
        /// Which, from 0.
        line: u64,
        /// Which rule it breaks.
        reason: Refusal,
    },
    /// The trace is not the one the review is bound to.
    #[error("the review is bound to {expected}, the trace has {found}")]
    OtherTrace {
        /// The hash in the header.
        expected: ContentHash,
        /// The hash of the trace given.
        found: ContentHash,
    },
    /// There is no header.
    #[error("the journal has no record")]
    Empty,
}

/// Reads a journal against the trace it should be about.
///
/// Bytes behind the last line feed are an append that never finished; nobody was told of it, and it is left out.
pub fn read_review(journal: &[u8], trace: &Value) -> ReadReview {
    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines: Vec<&[u8]> = journal.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n').collect();
    let lines = lines.get(..lines.len().saturating_sub(1)).unwrap_or_default();
    let mut read = ReadReview { review: None, head: None, lines: lines.len() as u64, broken: None };
    if lines.is_empty() {
        read.broken = Some(Broken::Empty);
    }
    for (line, bytes) in (0u64..).zip(lines) {
        if let Err(broken) = take(&mut read, line, bytes, trace) {
            read.broken = Some(broken);
            break;
        }
    }
    read
}

fn take(read: &mut ReadReview, line: u64, bytes: &[u8], trace: &Value) -> Result<(), Broken> {
    let invalid = |reason| Broken::Line { line, reason };
    let (members, head) = open(bytes, read.head).map_err(invalid)?;
    match &mut read.review {
        None => {
            let header = ReviewHeader::read(&members).map_err(invalid)?;
            let found = ContentHash::of(trace);
            if found != header.content_hash {
                return Err(Broken::OtherTrace { expected: header.content_hash, found });
            }
            read.review = Some(Review::new(header, trace));
        }
        Some(review) => {
            let entry = ReviewEntry::read(&members).map_err(invalid)?;
            review.admit(entry).map_err(|reason| Broken::NotAllowed { line, reason })?;
        }
    }
    read.head = Some(head);
    Ok(())
}
