//! A variable.

use std::sync::Arc;

use hence_canon::Object;

use crate::{Name, Stored, Timestamp};

/// A named value with everything known about it. Its scope is where it lives, so it is not repeated here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Its value and type.
    pub stored: Stored,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Where it came from.
    pub source: Option<Arc<str>>,
    /// When it came to be; absent only where a document did not say.
    pub created_at: Option<Timestamp>,
    /// When its value was last written; absent only where a document did not say.
    pub updated_at: Option<Timestamp>,
    /// How often it was read.
    pub access_count: u64,
    /// Whether writes, deletion and renaming are refused. Once on, only rollback turns it off.
    pub read_only: bool,
    /// How long it lives after its last value write; temporary variables only.
    pub ttl_seconds: Option<u64>,
    /// Members a document carried that this crate does not know.
    pub extra: Object,
    /// The same for the members of its `metadata`.
    pub metadata_extra: Object,
}

impl Variable {
    /// Returns a variable written at `at`, with nothing else said about it.
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

    /// Returns the moment from which the variable no longer exists, if it has one.
    pub fn deadline(&self) -> Option<Timestamp> {
        let written = self.updated_at.or(self.created_at)?;
        Some(written.saturating_add_seconds(self.ttl_seconds?))
    }

    /// Returns whether two variables say the same, apart from when they were written and how often they were read.
    ///
    /// This is what rollback restores, and so what it compares.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.stored == other.stored
            && self.description == other.description
            && self.source == other.source
            && self.read_only == other.read_only
            && self.ttl_seconds == other.ttl_seconds
            && self.extra == other.extra
            && self.metadata_extra == other.metadata_extra
    }
}
