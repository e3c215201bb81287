//! A store in memory.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hence_canon::{Digest, Value};
use hence_journal::{Head, RecordCount, RecordIndex};

use crate::lines::{check_lines, whole_lines};
use crate::summary::{find_prefix, header_of};
use crate::{
    AppendError, AttachmentName, BLOB_BYTES_MAX, Condition, Doctor, Durability, Holder, Lease, Listed,
    Listing, NewRun, Opened, Repaired, Report, RunId, RunSummary, RunWriter, SideLog, Stamp, Stamps, Store,
    StoreError, ViewBinding,
};

/// A store in memory, for tests and for programs that embed `hence` without storing runs.
///
/// Clones share their content. Nothing survives the process, even with [`Durability::Synced`].
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    runs: BTreeMap<RunId, HeldRun>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    tombstones: BTreeMap<RunId, Vec<u8>>,
    sections: BTreeMap<String, MemoryStore>,
}

#[derive(Debug)]
struct HeldRun {
    journal: Vec<u8>,
    head: Head,
    attachments: BTreeMap<AttachmentName, Vec<u8>>,
    is_leased: bool,
    is_foreign: bool,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_run<T>(&self, run: &RunId, read: impl FnOnce(&mut HeldRun) -> T) -> Result<T, StoreError> {
        self.lock().runs.get_mut(run).map(read).ok_or_else(|| StoreError::NoSuchRun { run: run.clone() })
    }

    fn insert(&self, new: NewRun, is_foreign: bool) -> Result<Box<dyn RunWriter>, StoreError> {
        let head = check_lines(&new.lines, RecordCount::new(0))
            .map_err(|reason| StoreError::InvalidLines { run: new.id.clone(), reason })?
            .head;
        let mut attachments = BTreeMap::new();
        for (name, bytes) in new.attachments {
            if attachments.insert(name.clone(), bytes).is_some() {
                return Err(StoreError::DuplicateAttachment { name });
            }
        }
        let mut held = self.lock();
        if let Some(found) = held.runs.get(&new.id) {
            return Err(found.compare(new.id, &new.lines, &attachments));
        }
        if !is_foreign && held.tombstones.contains_key(&new.id) {
            return Err(StoreError::RunRemoved { run: new.id });
        }
        let run = HeldRun { journal: new.lines, head, attachments, is_leased: true, is_foreign };
        held.runs.insert(new.id.clone(), run);
        drop(held);
        Ok(self.writer(&new.id, head))
    }

    fn writer(&self, run: &RunId, head: Head) -> Box<dyn RunWriter> {
        let lease = Arc::new(MemoryLease { store: self.clone(), run: run.clone() });
        Box::new(MemoryWriter { lease, head })
    }
}

/// Returns the stamp of bytes in memory, which change only when the bytes do.
fn stamp(bytes: &[u8]) -> Stamp {
    let first: [u8; 8] = Digest::of(bytes).as_bytes().first_chunk().copied().unwrap_or_default();
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Stamp { bytes: length, modified: u64::from_le_bytes(first), changed: 0 }
}

fn this_process() -> Holder {
    Holder::Named(format!("process {}", std::process::id()))
}

impl Store for MemoryStore {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn journal_location(&self, run: &RunId) -> String {
        format!("memory:{run}")
    }

    fn section(&self, name: &str) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let section = self.lock().sections.get(name).cloned();
        Ok(section.map(|section| Arc::new(section) as Arc<dyn Store>))
    }

    fn section_or_new(&self, name: &str) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(self.lock().sections.entry(name.to_owned()).or_default().clone()))
    }

    /// Memory has no cache that could be written.
    fn observer(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn create(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError> {
        self.insert(new, false)
    }

    fn create_foreign(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError> {
        self.insert(new, true)
    }

    fn was_made_here(&self, run: &RunId) -> Result<bool, StoreError> {
        self.with_run(run, |held| !held.is_foreign)
    }

    fn has_run(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.lock().runs.contains_key(run))
    }

    fn open(&self, run: &RunId) -> Result<Opened, StoreError> {
        let head = self.with_run(run, |held| {
            let is_taken = std::mem::replace(&mut held.is_leased, true);
            (!is_taken).then_some(held.head)
        })?;
        match head {
            Some(head) => Ok(Opened { writer: self.writer(run, head), cut: None }),
            None => Err(StoreError::Leased { run: run.clone(), holder: this_process() }),
        }
    }

    fn lease(&self, run: &RunId) -> Result<Lease, StoreError> {
        self.with_run(run, |held| if held.is_leased { Lease::Held(this_process()) } else { Lease::Free })
    }

    fn read_journal(&self, run: &RunId, from: RecordIndex) -> Result<Box<dyn Read + Send>, StoreError> {
        self.with_run(run, |held| {
            let mut lines = held.journal.split_inclusive(|byte| *byte == b'\n');
            let skipped: usize = (0..from.get()).map_while(|_| lines.next()).map(<[u8]>::len).sum();
            let rest = held.journal.get(skipped..).unwrap_or_default().to_vec();
            Box::new(Cursor::new(rest)) as Box<dyn Read + Send>
        })
    }

    fn read_journal_at(&self, run: &RunId, offset: u64) -> Result<Box<dyn Read + Send>, StoreError> {
        self.with_run(run, |held| {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = held.journal.get(offset..).unwrap_or_default().to_vec();
            Box::new(Cursor::new(rest)) as Box<dyn Read + Send>
        })
    }

    fn attachment(&self, run: &RunId, name: &AttachmentName) -> Result<Vec<u8>, StoreError> {
        self.with_run(run, |held| held.attachments.get(name).cloned())?
            .ok_or_else(|| StoreError::NoSuchAttachment { run: run.clone(), name: name.clone() })
    }

    fn attachment_start(
        &self,
        run: &RunId,
        name: &AttachmentName,
        bytes_max: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let mut bytes = self.attachment(run, name)?;
        bytes.truncate(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    fn attachment_range(
        &self,
        run: &RunId,
        name: &AttachmentName,
        start: u64,
        end: u64,
    ) -> Result<(Vec<u8>, u64), StoreError> {
        let bytes = self.attachment(run, name)?;
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
        let part = bytes.get(place(start)..place(end)).unwrap_or_default();
        Ok((part.to_vec(), u64::try_from(bytes.len()).unwrap_or(u64::MAX)))
    }

    fn attachments(&self, run: &RunId) -> Result<Vec<AttachmentName>, StoreError> {
        self.with_run(run, |held| held.attachments.keys().cloned().collect())
    }

    fn put_blob(&self, bytes: &[u8], _: Durability) -> Result<Digest, StoreError> {
        crate::store::check_blob_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX), BLOB_BYTES_MAX)?;
        let digest = Digest::of(bytes);
        self.lock().blobs.entry(digest).or_insert_with(|| bytes.to_vec());
        Ok(digest)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let found = self.lock().blobs.get(digest).cloned();
        let bytes = found.ok_or(StoreError::NoSuchBlob { digest: *digest })?;
        crate::store::check_blob_content(digest, &bytes)?;
        Ok(bytes)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.lock().blobs.contains_key(digest))
    }

    fn remove_run(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        if matches!(self.lease(run)?, Lease::Held(_)) {
            return Err(StoreError::Leased { run: run.clone(), holder: this_process() });
        }
        let mut held = self.lock();
        held.tombstones.insert(run.clone(), tombstone.to_vec());
        held.runs.remove(run);
        Ok(())
    }

    fn keep_tombstone(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        self.lock().tombstones.entry(run.clone()).or_insert_with(|| tombstone.to_vec());
        Ok(())
    }

    fn tombstone(&self, run: &RunId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().tombstones.get(run).cloned())
    }

    fn tombstones(&self) -> Result<Vec<RunId>, StoreError> {
        Ok(self.lock().tombstones.keys().cloned().collect())
    }

    fn remove_blob(&self, digest: &Digest) -> Result<(), StoreError> {
        self.lock().blobs.remove(digest);
        Ok(())
    }

    fn stamps(&self, run: &RunId, attachments: &[&str]) -> Stamps {
        let named = |held: &HeldRun, name: &&str| {
            held.attachments.get(&AttachmentName::new(name).ok()?).map(|bytes| stamp(bytes))
        };
        self.with_run(run, |held| Stamps {
            journal: Some(stamp(&held.journal)),
            attachments: attachments.iter().map(|name| named(held, name)).collect(),
        })
        .unwrap_or_else(|_| Stamps { journal: None, attachments: vec![None; attachments.len()] })
    }

    fn list_cached(&self, attachments: &[&str]) -> Result<Listing, StoreError> {
        let list = self.list()?.into_iter().map(|summary| {
            let stamps = self.stamps(&summary.run, attachments);
            Listed { summary, stamps, view: None }
        });
        Ok(Listing { runs: list.collect(), is_current: true })
    }

    /// Memory caches nothing: computing a view reads no disk.
    fn cache_list(&self, _: &Listing) {}

    fn cached_view(&self, _: &RunId, _: &ViewBinding) -> Option<Value> {
        None
    }

    fn cache_view(&self, _: &RunId, _: &ViewBinding, _: &Value) {}

    fn remove_view(&self, _: &RunId) -> Result<(), StoreError> {
        Ok(())
    }

    fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        Ok(self.lock().runs.iter().map(|(run, held)| held.summary(run)).collect())
    }

    fn summary(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        self.with_run(run, |held| held.summary(run))
    }

    fn find(&self, prefix: &str) -> Result<RunId, StoreError> {
        find_prefix(prefix, self.lock().runs.keys())
    }

    fn doctor(&self) -> &dyn Doctor {
        self
    }
}

/// Memory is never torn, so the only findings are unreferenced blobs.
impl Doctor for MemoryStore {
    fn check(&self) -> Result<Report, StoreError> {
        let held = self.lock();
        let mut references = crate::doctor::References::default();
        for run in held.runs.values() {
            for bytes in std::iter::once(&run.journal).chain(run.attachments.values()) {
                references.read(bytes);
                references.finish();
            }
        }
        // A large record may be a blob itself and name others.
        let mut nested = crate::doctor::References::default();
        for (_, bytes) in held.blobs.iter().filter(|(digest, _)| references.contains(digest)) {
            nested.read(bytes);
            nested.finish();
        }
        let named = |digest: &Digest| references.contains(digest) || nested.contains(digest);
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let unreferenced = held.blobs.iter().filter(|(digest, _)| !named(digest));
        let findings = unreferenced
            .map(|(digest, bytes)| crate::Finding::UnreferencedBlob {
                digest: *digest,
                bytes: count(bytes.len()),
            })
            .collect();
        Ok(Report { runs: count(held.runs.len()), blobs: count(held.blobs.len()), findings })
    }

    fn repair(&self) -> Result<Repaired, StoreError> {
        Ok(Repaired { done: Vec::new(), left: self.check()?.findings })
    }
}

impl HeldRun {
    fn summary(&self, run: &RunId) -> RunSummary {
        RunSummary {
            run: run.clone(),
            condition: Condition::Whole { head: self.head },
            journal_bytes: u64::try_from(self.journal.len()).unwrap_or(u64::MAX),
            header: header_of(&self.journal),
        }
    }

    fn compare(
        &self,
        run: RunId,
        lines: &[u8],
        attachments: &BTreeMap<AttachmentName, Vec<u8>>,
    ) -> StoreError {
        if !self.journal.starts_with(lines) {
            return StoreError::RunConflict { run, differs: "journal".to_owned() };
        }
        let other = attachments.iter().find(|(name, bytes)| self.attachments.get(*name) != Some(*bytes));
        match other {
            Some((name, _)) => StoreError::RunConflict { run, differs: format!("attachment {name}") },
            None => StoreError::AlreadyCreated { run, head: self.head },
        }
    }
}

/// The writer of one run in memory.
struct MemoryWriter {
    lease: Arc<MemoryLease>,
    head: Head,
}

/// The lease of a run in memory, shared by its writer and its side logs.
struct MemoryLease {
    store: MemoryStore,
    run: RunId,
}

impl MemoryLease {
    fn with_run<T>(&self, write: impl FnOnce(&mut HeldRun) -> T) -> T {
        let mut held = self.store.lock();
        write(held.runs.get_mut(&self.run).expect("a leased run is never removed"))
    }
}

impl RunWriter for MemoryWriter {
    fn run(&self) -> &RunId {
        &self.lease.run
    }

    fn head(&self) -> Head {
        self.head
    }

    fn append(&mut self, expected: Head, lines: &[u8], _: Durability) -> Result<Head, AppendError> {
        if expected != self.head {
            return Err(AppendError::HeadMoved { expected, found: self.head });
        }
        let lines = check_lines(lines, self.head.records)?;
        self.lease.with_run(|held| {
            held.journal.extend_from_slice(lines.bytes);
            held.head = lines.head;
        });
        self.head = lines.head;
        Ok(self.head)
    }

    fn sync(&mut self) -> Result<(), AppendError> {
        Ok(())
    }

    fn attach(&mut self, name: &AttachmentName, bytes: &[u8], _: Durability) -> Result<(), StoreError> {
        self.lease.with_run(|held| held.attachments.insert(name.clone(), bytes.to_vec()));
        Ok(())
    }

    fn detach(&mut self, name: &AttachmentName) -> Result<(), StoreError> {
        self.lease.with_run(|held| held.attachments.remove(name));
        Ok(())
    }

    fn side_log(&mut self, name: &AttachmentName) -> Result<Box<dyn SideLog>, StoreError> {
        self.lease.with_run(|held| {
            let lines = held.attachments.entry(name.clone()).or_default();
            lines.truncate(whole_lines(lines));
        });
        Ok(Box::new(MemorySideLog { lease: self.lease.clone(), name: name.clone() }))
    }
}

/// A side log in memory.
struct MemorySideLog {
    lease: Arc<MemoryLease>,
    name: AttachmentName,
}

impl SideLog for MemorySideLog {
    fn append(&self, lines: &[u8], _: Durability) -> Result<(), StoreError> {
        self.lease.with_run(|held| {
            held.attachments.entry(self.name.clone()).or_default().extend_from_slice(lines);
        });
        Ok(())
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.with_run(|held| held.is_leased = false);
    }
}
