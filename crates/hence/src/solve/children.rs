//! Child runs on their way into the store.
//!
//! A child is computed in memory; what its models replied is in the call log of the outermost run. It is stored as a whole
//! when it has ended, several at a time, before a record that names it.
//!
//! | the process dies | on disk | on resume |
//! |---|---|---|
//! | while the child computes | its replies in the call log of the outermost run | the parent's block runs again, and the child with it, from the logged replies |
//! | after its end, before it is stored | the same | the same |
//! | after it is stored, before the record that names it | the whole child | the parent's block runs again and finds the child ended |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hence_canon::{Canonical, Digest};
use hence_engine::{Blobs, MemorySink, Meter, Sink, SinkError};
use hence_journal::Sealed;
use hence_store::{AttachmentName, NewRun, RunId, StoreHandle};

use crate::clock::SystemClock;
use crate::time_log::{MemoryLines, TimeLog, times_name};

/// The most children that wait to be stored.
const WAITING_MAX: usize = 64;

/// The most bytes of children that wait to be stored.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The longest time that an ended child waits while its parent makes calls, and the shortest time of a child that is stored at once.
const WAITING_TIME: Duration = Duration::from_secs(1);

/// The children of a task tree that have ended and are not stored.
#[derive(Default)]
pub(crate) struct EndedChildren(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// In the order of their ends: a child comes after its own children.
    runs: Vec<NewRun>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    bytes: usize,
    since: Option<Instant>,
    /// The message of a failure to store children. No record may name them.
    failure: Option<String>,
}

impl EndedChildren {
    /// Adds a child, which took so long, and stores what waits when it is much.
    pub(super) fn add(
        &self,
        store: &StoreHandle,
        child: EndedChild,
        took: Duration,
    ) -> Result<(), SinkError> {
        let mut waiting = self.lock();
        let attached: usize = child.run.attachments.iter().map(|(_, bytes)| bytes.len()).sum();
        let blobs: usize = child.blobs.values().map(Vec::len).sum();
        waiting.bytes = waiting.bytes.saturating_add(child.run.lines.len() + attached + blobs);
        waiting.runs.push(child.run);
        waiting.blobs.extend(child.blobs);
        waiting.since.get_or_insert_with(Instant::now);
        if waiting.runs.len() >= WAITING_MAX || waiting.bytes >= WAITING_BYTES_MAX || took >= WAITING_TIME {
            return waiting.store(store);
        }
        Ok(())
    }

    /// Stores what waits.
    pub(super) fn store(&self, store: &StoreHandle) -> Result<(), SinkError> {
        self.lock().store(store)
    }

    fn is_empty(&self) -> bool {
        let waiting = self.lock();
        waiting.runs.is_empty() && waiting.failure.is_none()
    }

    fn is_due(&self) -> bool {
        self.lock().since.is_none_or(|since| since.elapsed() >= WAITING_TIME)
    }

    /// Takes the lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn store(&mut self, store: &StoreHandle) -> Result<(), SinkError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        if self.runs.is_empty() {
            return Ok(());
        }
        let runs = std::mem::take(&mut self.runs);
        let blobs: Vec<Vec<u8>> = std::mem::take(&mut self.blobs).into_values().collect();
        (self.bytes, self.since) = (0, None);
        store.create_all(runs, &blobs).map_err(|error| {
            let message = format!("child runs could not be stored: {error}");
            self.failure = Some(message.clone());
            message.into()
        })
    }
}

/// A child as it is stored.
pub(super) struct EndedChild {
    run: NewRun,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

/// Holds the records, large values and times of a child in memory.
pub(super) struct ChildSink {
    memory: MemorySink,
    times: Arc<TimeLog>,
    measured: Arc<MemoryLines>,
}

impl ChildSink {
    pub(super) fn new() -> Self {
        let (times, measured) = TimeLog::in_memory(SystemClock::started());
        Self { memory: MemorySink::default(), times, measured }
    }

    /// Returns the child with its documents. `context` is the value that its parent hands to it.
    pub(super) fn into_child(
        self,
        id: RunId,
        mut attachments: Vec<(AttachmentName, Vec<u8>)>,
        context: &Canonical,
    ) -> EndedChild {
        let _ = self.times.finish();
        attachments.push((times_name(), self.measured.take()));
        let mut blobs = self.memory.blobs;
        blobs.insert(context.digest(), context.bytes().to_vec());
        EndedChild { run: NewRun { id, attachments, lines: self.memory.journal }, blobs }
    }
}

impl Sink for ChildSink {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.memory.append(record)?;
        self.times.recorded(record);
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.memory.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.memory.blobs()
    }

    fn meter(&self) -> &dyn Meter {
        &*self.times
    }
}

/// Appends records after the children that they name: records that can be made again wait for them, a record that must be
/// durable stores them first.
pub(crate) struct AfterChildren<'s> {
    pub(super) sink: &'s mut dyn Sink,
    pub(super) children: &'s EndedChildren,
    pub(super) store: &'s StoreHandle,
    held: Vec<Sealed>,
}

impl<'s> AfterChildren<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink, children: &'s EndedChildren, store: &'s StoreHandle) -> Self {
        Self { sink, children, store, held: Vec::new() }
    }

    /// Stores the children that wait, and appends the records that waited for them.
    pub(crate) fn release(&mut self) -> Result<(), SinkError> {
        self.children.store(self.store)?;
        self.held.drain(..).try_for_each(|record| self.sink.append_deferred(&record))
    }
}

impl Sink for AfterChildren<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.release()?;
        self.sink.append(record)
    }

    fn append_deferred(&mut self, record: &Sealed) -> Result<(), SinkError> {
        if self.held.is_empty() && self.children.is_empty() {
            return self.sink.append_deferred(record);
        }
        self.held.push(record.clone());
        if self.children.is_due() { self.release() } else { Ok(()) }
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.sink.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.sink.blobs()
    }

    fn meter(&self) -> &dyn Meter {
        self.sink.meter()
    }
}
