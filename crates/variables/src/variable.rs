//! A variable.

use std::sync::Arc;

use hence_canon::Object;

use crate::{Name, Stored, Timestamp};

/// A named value with everything known about it. Its scope is where it lives, so it is not repeated here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The name.
    pub name: Name,
    /// The value and its type.
    pub stored: Stored,
    /// The purpose, in words.
    pub description: Option<Arc<str>>,
    /// The source of the value.
    pub source: Option<Arc<str>>,
    /// The time of creation; absent only where a document did not state it.
    pub created_at: Option<Timestamp>,
    /// The time of the last write; absent only where a document did not state it.
    pub updated_at: Option<Timestamp>,
    /// The number of reads.
    pub access_count: u64,
    /// True if writes, deletion and renaming are refused. Once set, only a rollback resets it.
    pub read_only: bool,
    /// The seconds the variable exists after its last write; temporary variables only.
    pub ttl_seconds: Option<u64>,
    /// Members a document carried that this crate does not know.
    pub extra: Object,
    /// Members of `metadata` that this crate does not know.
    pub metadata_extra: Object,
}

impl Variable {
    /// Returns a variable written at `at`, with everything else empty.
    pub fn new(name: Name, stored: Stored, at: Timestamp) -> Self {
        Self {
            name,
            stored,
            description: None,
            source: None,
            created_at: Some(at),
            updated_at: Some(at),
            access_count: 0,
            read_only: false,
            ttl_seconds: None,
            extra: Object::new(),
            metadata_extra: Object::new(),
        }
    }

    /// Returns the time from which the variable no longer exists, if it has one.
    pub fn deadline(&self) -> Option<Timestamp> {
        let written = self.updated_at.or(self.created_at)?;
        Some(written.saturating_add_seconds(self.ttl_seconds?))
    }

    /// Returns whether two variables are equal, apart from their times and their number of reads.
    ///
    /// This is what rollback restores, and so what it compares.
    pub fn has_same_content(&self, other: &Self) -> bool {
        self.stored == other.stored
            && self.description == other.description
            && self.source == other.source
            && self.read_only == other.read_only
            && self.ttl_seconds == other.ttl_seconds
            && self.extra == other.extra
            && self.metadata_extra == other.metadata_extra
    }
}
