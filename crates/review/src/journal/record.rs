//! One record of a review journal.

use hence_canon::{Digest, Object, Value, canonical_bytes};

use crate::ContentHash;
use crate::model::{Defect, Defects, Field, Path, Reader, Text};

use super::entry::Entry;

/// Separates these hashes from all others.
const DOMAIN: &[u8] = b"hence/review-record/v1\0";

/// The format a record declares.
const FORMAT: &str = "hence-review/1";

/// The end of a journal: what the next record follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// How many records there are.
    pub length: u64,
    /// The hash of the last one; nothing when there is none.
    pub hash: Option<Digest>,
}

/// One record: who said what, when, about which trace, after which record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The place in the journal, from 0.
    pub index: u64,
    /// The hash of the record before.
    pub prev_hash: Option<Digest>,
    /// The trace.
    pub trace: ContentHash,
    /// Who said it.
    pub author: Text,
    /// When, as the author's clock says.
    pub at: Text,
    /// What was said.
    pub entry: Entry,
}

impl Record {
    /// Returns the record without its hash: what the hash covers.
    fn covered(&self) -> Object {
        Object::from_iter([
            ("format", Value::from(FORMAT)),
            ("index", self.index.into()),
            ("prev_hash", self.prev_hash.into()),
            ("trace", self.trace.into()),
            ("author", self.author.clone().into()),
            ("at", self.at.clone().into()),
            ("entry", self.entry.encode().unwrap_or_default()),
        ])
    }

    /// Returns the hash: SHA-256 over a domain and the canonical bytes of everything but the hash itself.
    pub fn hash(&self) -> Digest {
        Digest::of_parts([DOMAIN, &canonical_bytes(&self.covered().into())])
    }

    /// Returns the record as a document.
    pub fn value(&self) -> Value {
        self.covered().with("record_hash", self.hash()).into()
    }

    /// Reads a record and the hash written in it. Unknown members are refused: they would not be covered.
    pub(super) fn read(value: &Value) -> Result<(Self, Digest), Vec<Defect>> {
        let mut defects = Defects::default();
        let read = Self::decode(value, &mut defects);
        match read {
            Some(read) if defects.is_empty() => Ok(read),
            _ => Err(defects.into_found()),
        }
    }

    fn decode(value: &Value, defects: &mut Defects) -> Option<(Self, Digest)> {
        let at = &Path::ROOT;
        let mut reader = Reader::new(value, at, defects)?;
        let format = reader.member::<Text>("format");
        let index = reader.member::<i64>("index");
        let prev_hash = reader.member::<Option<Text>>("prev_hash");
        let trace = reader.member::<Text>("trace");
        let author = reader.member::<Text>("author");
        let when = reader.member::<Text>("at");
        let entry = reader.member::<Entry>("entry");
        let hash = reader.member::<Text>("record_hash");
        let unknown = reader.rest();
        let mut refuse = |key: &str, message: String| defects.push(&at.key(key), message);
        if let Some(key) = unknown.keys().next() {
            refuse(key, "a record has no such member".to_owned());
        }
        if format.as_deref().is_some_and(|format| format != FORMAT) {
            refuse("format", format!("expected {FORMAT:?}"));
        }
        let mut digest = |key: &str, text: &str| {
            let parsed = text.parse::<Digest>();
            parsed.map_err(|error| refuse(key, error.to_string())).ok()
        };
        let prev_hash = match prev_hash? {
            Some(text) => Some(digest("prev_hash", &text)?),
            None => None,
        };
        let hash = digest("record_hash", &hash?)?;
        let trace = trace?
            .parse()
            .map_err(|error: crate::InvalidContentHash| refuse("trace", error.to_string()))
            .ok()?;
        let index = u64::try_from(index?).ok()?;
        Some((Self { index, prev_hash, trace, author: author?, at: when?, entry: entry? }, hash))
    }
}
