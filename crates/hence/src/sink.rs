//! Stores the records and blobs of a run.

use std::path::Path;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Value};
use hence_capabilities::ExchangeStore;
use hence_engine::{Blobs, Meter, NoMeter, Sink, SinkError};
use hence_journal::{Head, Sealed};
use hence_store::{
    BLOB_BYTES_MAX, ConfinedError, Durability, RunWriter, StoreError, StoreHandle, read_confined,
};

use crate::clock::SystemClock;
use crate::time_log::TimeLog;

/// Appends records through the writer of a run, and stores large values as blobs.
pub(crate) struct StoreSink<'a> {
    pub(crate) writer: Box<dyn RunWriter>,
    pub(crate) blobs: StoreBlobs<'a>,
    pub(crate) head: Head,
    times: Option<Arc<TimeLog>>,
}

impl<'a> StoreSink<'a> {
    pub(crate) fn new(store: &'a StoreHandle, writer: Box<dyn RunWriter>) -> Self {
        let head = writer.head();
        Self { writer, blobs: StoreBlobs(store), head, times: None }
    }

    /// Makes a sink that also writes the time log of the run.
    pub(crate) fn measured(store: &'a StoreHandle, mut writer: Box<dyn RunWriter>) -> (Self, Arc<TimeLog>) {
        let times = TimeLog::open(&mut *writer, SystemClock::started());
        (Self { times: Some(times.clone()), ..Self::new(store, writer) }, times)
    }
}

impl Sink for StoreSink<'_> {
    /// Appends a record and syncs it before the run continues: a step that is reported as done survives power loss.
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.head = self.writer.append(self.head, record.line(), Durability::Synced)?;
        if let Some(times) = &self.times {
            times.recorded(record);
        }
        Ok(())
    }

    fn append_deferred(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.head = self.writer.append(self.head, record.line(), Durability::Buffered)?;
        if let Some(times) = &self.times {
            times.recorded(record);
        }
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.blobs.0.put_blob(value.bytes(), Durability::Synced)?;
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        &self.blobs
    }

    fn meter(&self) -> &dyn Meter {
        match &self.times {
            Some(times) => &**times,
            None => &NoMeter,
        }
    }
}

/// Stores what is exchanged with models as blobs.
pub(crate) struct StoreExchanges(pub(crate) StoreHandle);

impl ExchangeStore for StoreExchanges {
    fn put(&self, exchange: &Canonical) -> Result<Value, String> {
        let stored = self.0.put_blob(exchange.bytes(), Durability::Synced);
        stored.map_err(|error| error.to_string())?;
        Ok(hence_engine::reference(exchange).value().clone())
    }
}

/// Reads blobs from a store.
pub(crate) struct StoreBlobs<'a>(pub(crate) &'a StoreHandle);

/// The large values in the folder of a bundle, one file for each, named by its digest.
pub(crate) struct BundleBlobs<'a>(pub(crate) &'a Path);

impl Blobs for BundleBlobs<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        let name = digest.to_string();
        // A stranger made the folder: a link may name any file, and a file may have any size.
        let bytes = match read_confined(self.0, Path::new(&name), BLOB_BYTES_MAX) {
            Err(ConfinedError::Missing) => return Ok(None),
            outcome => outcome.map_err(|error| format!("{}: {error}", self.0.join(&name).display()))?,
        };
        match Digest::of(&bytes) == *digest {
            true => Ok(Some(bytes)),
            false => Err(format!("{} holds other bytes", self.0.join(&name).display()).into()),
        }
    }
}

impl Blobs for StoreBlobs<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        match self.0.blob(digest) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NoSuchBlob { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
