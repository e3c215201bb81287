//! Storage of the records and large values of a run.

use std::collections::BTreeMap;

use hence_canon::{Canonical, Digest};
use hence_journal::Sealed;

use crate::{Blobs, Meter, NoMeter};

/// The error of a sink that could not store something.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// The storage of a run's records and large values. When `append` returns, the record is as durable as the sink
/// guarantees; nothing that depends on the record happens before.
pub trait Sink {
    /// Appends a record after the last one.
    ///
    /// # Errors
    /// [`SinkError`]; the run then stops and can be resumed from its journal.
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError>;

    /// Appends a record that can be made again if it is lost: it may become durable only with the next record.
    ///
    /// # Errors
    /// As for [`append`](Self::append).
    fn append_deferred(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.append(record)
    }

    /// Stores a large value by its digest.
    ///
    /// # Errors
    /// [`SinkError`]; the record that refers to the value is then never appended.
    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError>;

    /// Returns the store of large values.
    fn blobs(&self) -> &dyn Blobs;

    /// Returns the meter of the run's times.
    fn meter(&self) -> &dyn Meter {
        &NoMeter
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        (**self).append(record)
    }

    fn append_deferred(&mut self, record: &Sealed) -> Result<(), SinkError> {
        (**self).append_deferred(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        (**self).put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        (**self).blobs()
    }

    fn meter(&self) -> &dyn Meter {
        (**self).meter()
    }
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

/// Holds the journal of a replay in memory and reads large values from the store of the run.
pub struct ReplaySink<'a> {
    memory: MemorySink,
    stored: &'a dyn Blobs,
}

impl<'a> ReplaySink<'a> {
    /// Makes a sink whose journal begins with a header, over the stored large values of the run.
    pub fn new(header: &Sealed, stored: &'a dyn Blobs) -> Self {
        let journal = header.line().to_vec();
        Self { memory: MemorySink { journal, ..MemorySink::default() }, stored }
    }

    /// Returns the journal so far.
    pub fn journal(&self) -> &[u8] {
        &self.memory.journal
    }

    /// Returns the finished journal.
    pub fn into_journal(self) -> Vec<u8> {
        self.memory.journal
    }
}

impl Sink for ReplaySink<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.memory.append(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.memory.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for ReplaySink<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        match Blobs::get(&self.memory.blobs, digest)? {
            Some(bytes) => Ok(Some(bytes)),
            None => self.stored.get(digest),
        }
    }
}
