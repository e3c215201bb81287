//! The records of a review journal.

use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::ContentHash;
use crate::model::ReviewEvent;
use crate::vocabulary::words;

use super::line::InvalidLine;

/// The only format there is.
pub const FORMAT: &str = "hence-docket/1";

words! {
    /// Where the time of a record came from.
    TimeSource, "time source" {
        Given = "given",
        System = "system",
    }
}

/// Who did something, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Who.
    pub author: Arc<str>,
    /// When, as the caller says.
    pub at: Arc<str>,
    /// Where that time came from.
    pub time_source: TimeSource,
}

/// The first record: which trace is under review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewHeader {
    /// The review.
    pub review_id: Arc<str>,
    /// The trace's id; it may be missing from a trace, and is empty then.
    pub trace_id: Arc<str>,
    /// The content the review is about.
    pub content_hash: ContentHash,
    /// Who opened it.
    pub stamp: Stamp,
}

/// One thing a reviewer did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewEntry {
    /// Who did it.
    pub stamp: Stamp,
    /// What.
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
    pub(super) fn members(&self) -> Vec<(&'static str, Value)> {
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
    pub(super) fn members(&self) -> Vec<(&'static str, Value)> {
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

/// A record has exactly the members of its kind.
fn closed(object: &Object, members: usize) -> Result<(), InvalidLine> {
    if object.len() == members {
        Ok(())
    } else {
        Err(InvalidLine::Members { expected: members, found: object.len() })
    }
}
