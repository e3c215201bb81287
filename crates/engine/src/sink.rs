//! Where a run's records and large values go.

use std::collections::BTreeMap;

use hence_canon::{Canonical, Digest};
use hence_journal::Sealed;

use crate::{Blobs, Gate};

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

    /// Returns who judges results before they are kept; nobody, where no policies are pinned.
    fn gate(&mut self) -> Option<&mut (dyn Gate + '_)> {
        None
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        (**self).append(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        (**self).put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        (**self).blobs()
    }

    fn gate(&mut self) -> Option<&mut (dyn Gate + '_)> {
        (**self).gate()
    }
}

/// A sink whose records are judged before they are kept.
pub struct GuardedSink<'a, S> {
    /// Where records go.
    pub sink: S,
    /// Who judges them.
    pub gate: Box<dyn Gate + 'a>,
}

impl<S: Sink> Sink for GuardedSink<'_, S> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.sink.append(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.sink.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.sink.blobs()
    }

    fn gate(&mut self) -> Option<&mut (dyn Gate + '_)> {
        Some(&mut *self.gate)
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

/// Keeps the journal of a replay in memory and reads large values where they are kept.
pub struct ReplaySink<'a> {
    memory: MemorySink,
    kept: &'a dyn Blobs,
    gate: Option<Box<dyn Gate + 'a>>,
}

impl<'a> ReplaySink<'a> {
    /// Returns a sink whose journal begins with a header, beside large values that are kept.
    pub fn new(header: &Sealed, kept: &'a dyn Blobs) -> Self {
        let journal = header.line().to_vec();
        Self { memory: MemorySink { journal, ..MemorySink::default() }, kept, gate: None }
    }

    /// Returns the sink with somebody who judges results.
    #[must_use]
    pub fn guarded_by(self, gate: Option<Box<dyn Gate + 'a>>) -> Self {
        Self { gate, ..self }
    }

    /// Returns the journal so far.
    pub fn journal(&self) -> &[u8] {
        &self.memory.journal
    }

    /// Returns the journal.
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

    fn gate(&mut self) -> Option<&mut (dyn Gate + '_)> {
        match &mut self.gate {
            Some(gate) => Some(&mut **gate),
            None => None,
        }
    }
}

impl Blobs for ReplaySink<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        match Blobs::get(&self.memory.blobs, digest)? {
            Some(bytes) => Ok(Some(bytes)),
            None => self.kept.get(digest),
        }
    }
}
