//! Where a run's records and large values go.

use std::collections::BTreeMap;

use hence_canon::{Canonical, Digest};
use hence_journal::Sealed;

use crate::Blobs;

/// What a sink says when it cannot keep something.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Keeps what a run produces. A record that `append` has returned for is kept as durably as the sink promises;
/// nothing that depends on it happens before.
pub trait Sink {
    /// Appends a record behind the one before.
    ///
    /// # Errors
    /// Why it could not; the run then stops and can be resumed from what is kept.
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError>;

    /// Keeps a large value by its digest.
    ///
    /// # Errors
    /// Why it could not; the record that refers to it is then never appended.
    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError>;

    /// Returns where large values are fetched from.
    fn blobs(&self) -> &dyn Blobs;
}

/// A sink in memory: the journal's bytes and the large values.
#[derive(Clone, Debug, Default)]
pub struct MemorySink {
    /// The journal so far.
    pub journal: Vec<u8>,
    /// The large values so far.
    pub blobs: BTreeMap<Digest, Vec<u8>>,
}

impl Sink for MemorySink {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.journal.extend_from_slice(record.line());
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.blobs.insert(value.digest(), value.bytes().to_vec());
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        &self.blobs
    }
}
