//! A store in a folder.

mod blobs;
mod catalog;
mod checked_disk;
mod commit;
mod create;
mod disk;
mod doctor;
mod folder_name;
mod index;
mod journal_end;
mod layout;
mod lease;
mod made;
mod open;
mod read;
mod real_disk;
mod remove;
mod side_log;
mod stored_view;
mod temporary;
mod views;
mod writer;

#[cfg(test)]
mod commit_tests;
#[cfg(test)]
mod content_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod cut_tests;
#[cfg(test)]
mod doctor_tests;
#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
mod sim_disk;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hence_canon::{Digest, Value};
use hence_journal::RecordIndex;

use self::checked_disk::CheckedDisk;
use self::commit::Committer;
use self::disk::Disk;
use self::layout::{Layout, RunFolder};
use self::made::MadeBy;
pub(crate) use self::real_disk::NotPlain;
use self::real_disk::RealDisk;
pub use self::stored_view::VIEW_FILE;
use crate::summary::find_prefix;
use crate::{
    AttachmentName, Doctor, Durability, Finding, Lease, Listing, NewRun, Opened, RunId, RunSummary,
    RunWriter, Stamps, Store, StoreError, ViewBinding,
};

/// A store in a folder.
///
/// ```text
/// format                       hence-store 1
/// runs/<run>/trace.ndjson      the journal: record lines and nothing else
/// runs/<run>/problem.json …    attachments
/// runs/<run>/lock              locked by the run's writer; holds its name
/// runs/<run>/made              what tells the journal from a copy of it, if the run was made here
/// runs/<run>/batch             where the last batch of records begins and ends, if files take no marks
/// runs/<run>/id                the run's id, if it is too long for a folder name
/// blobs/<2 hex>/<62 hex>       blobs by SHA-256
/// index                        cache of run summaries
/// removed/<run>                tombstones: what removed runs were
/// tmp/                         files and folders before their rename
/// ```
///
/// Any number of processes may use one folder at the same time.
#[derive(Debug)]
pub struct FileStore {
    disk: CheckedDisk,
    layout: Layout,
    committer: Arc<Committer>,
    /// Whether listing runs rewrites an index that is out of date.
    heals_index: bool,
}

impl FileStore {
    /// Opens the store in `folder`. Writes nothing, so it works on a store that cannot be written.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::UnknownFormat`], [`StoreError::Disk`].
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = folder.into();
        Self::open_on(Arc::new(RealDisk::below(folder.clone())), folder)
    }

    /// Opens the store in the folder `name` of a store's folder, which must not be a link either.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_within(store: &Path, name: &str) -> Result<Self, StoreError> {
        Self::open_on(Arc::new(RealDisk::below(store.to_owned())), store.join(name))
    }

    /// Opens the store in the folder `name` of a store's folder, creating it first if it is missing.
    ///
    /// # Errors
    /// As for [`open_or_create`](Self::open_or_create).
    pub fn open_or_create_within(store: &Path, name: &str) -> Result<Self, StoreError> {
        Self::open_or_create_on(Arc::new(RealDisk::below(store.to_owned())), store.join(name))
    }

    /// Opens the store in `folder`, creating it first if there is nothing or an empty folder. Its parent folder must exist.
    ///
    /// # Errors
    /// As for [`open`](Self::open); a folder that holds other things is refused and not changed.
    pub fn open_or_create(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = folder.into();
        Self::open_or_create_on(Arc::new(RealDisk::below(folder.clone())), folder)
    }

    /// Returns the store's folder.
    pub fn folder(&self) -> &Path {
        self.layout.root()
    }

    /// Returns the path of a run's journal, for messages.
    pub fn journal_path(&self, run: &RunId) -> PathBuf {
        self.layout.run(run).journal()
    }

    /// Returns the store in the folder `name` of this store's folder, on the same disk.
    fn within(&self, name: &str) -> (Arc<dyn Disk>, PathBuf) {
        (self.disk.0.clone(), self.layout.root().join(name))
    }

    fn open_on(disk: Arc<dyn Disk>, root: PathBuf) -> Result<Self, StoreError> {
        let store = Self::unchecked(disk, root);
        layout::check_format(&store.disk, &store.layout)?;
        Ok(store)
    }

    fn open_or_create_on(disk: Arc<dyn Disk>, root: PathBuf) -> Result<Self, StoreError> {
        let store = Self::unchecked(disk, root);
        layout::ensure_format(&store.disk, &store.layout)?;
        Ok(store)
    }

    fn unchecked(disk: Arc<dyn Disk>, root: PathBuf) -> Self {
        let disk = CheckedDisk(disk);
        let committer = Arc::new(Committer::new(disk.clone(), root.clone()));
        Self { disk, layout: Layout::new(root), committer, heals_index: true }
    }

    /// Returns the folder of a run that exists.
    fn existing(&self, run: &RunId) -> Result<RunFolder, StoreError> {
        let folder = self.layout.run(run);
        if self.disk.has_folder(folder.path())? {
            Ok(folder)
        } else {
            Err(StoreError::NoSuchRun { run: run.clone() })
        }
    }
}

impl Store for FileStore {
    fn location(&self) -> String {
        self.layout.root().display().to_string()
    }

    fn journal_location(&self, run: &RunId) -> String {
        self.journal_path(run).display().to_string()
    }

    fn section(&self, name: &str) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let (disk, root) = self.within(name);
        if !self.disk.has_folder(&root)? {
            return Ok(None);
        }
        let section = Self::open_on(disk, root)?;
        Ok(Some(Arc::new(Self { heals_index: self.heals_index, ..section })))
    }

    fn section_or_new(&self, name: &str) -> Result<Arc<dyn Store>, StoreError> {
        let (disk, root) = self.within(name);
        Ok(Arc::new(Self::open_or_create_on(disk, root)?))
    }

    fn observer(&self) -> Arc<dyn Store> {
        let (disk, layout, committer) = (self.disk.clone(), self.layout.clone(), self.committer.clone());
        Arc::new(Self { disk, layout, committer, heals_index: false })
    }

    fn create_all(&self, runs: Vec<NewRun>, blobs: &[Vec<u8>]) -> Result<(), StoreError> {
        self.create_runs(runs, blobs)
    }

    fn create_foreign(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError> {
        self.create_run(new, MadeBy::Another)
    }

    fn was_made_here(&self, run: &RunId) -> Result<bool, StoreError> {
        self.has_note_of_making(run)
    }

    fn has_run(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.disk.has_file(&self.layout.run(run).journal())?)
    }

    fn attachment_range(
        &self,
        run: &RunId,
        name: &AttachmentName,
        start: u64,
        end: u64,
    ) -> Result<(Vec<u8>, u64), StoreError> {
        self.read_attachment_range(run, name, start, end)
    }

    fn remove_run(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        self.bury_run(run, tombstone)
    }

    fn keep_tombstone(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        match self.read_tombstone(run)? {
            Some(_) => Ok(()),
            None => self.write_tombstone(run, tombstone),
        }
    }

    fn tombstones(&self) -> Result<Vec<RunId>, StoreError> {
        self.plain_tombstones()
    }

    fn remove_blob(&self, digest: &Digest) -> Result<(), StoreError> {
        self.delete_blob(digest)
    }

    fn stamps(&self, run: &RunId, attachments: &[&str]) -> Stamps {
        self.stamps_of(run, attachments)
    }

    fn list_cached(&self, attachments: &[&str]) -> Result<Listing, StoreError> {
        self.list_with_views(attachments)
    }

    fn cache_list(&self, listing: &Listing) {
        self.write_listing(listing);
    }

    fn cached_view(&self, run: &RunId, binding: &ViewBinding) -> Option<Value> {
        self.read_view(run, binding)
    }

    fn cache_view(&self, run: &RunId, binding: &ViewBinding, view: &Value) {
        // The view is right even if it cannot be cached, as on a read-only disk.
        let _ = self.write_view(run, binding, view);
    }

    fn remove_view(&self, run: &RunId) -> Result<(), StoreError> {
        Ok(self.disk.remove_file(&self.existing(run)?.path().join(VIEW_FILE))?)
    }

    fn misplaced(&self) -> Result<Vec<Finding>, StoreError> {
        self.misplaced_entries()
    }

    fn misplaced_in(&self, run: &RunId) -> Result<Vec<Finding>, StoreError> {
        self.misplaced_entries_of(run)
    }

    fn create(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError> {
        self.create_run(new, MadeBy::ThisStore)
    }

    fn open(&self, run: &RunId) -> Result<Opened, StoreError> {
        self.open_run(run)
    }

    fn lease(&self, run: &RunId) -> Result<Lease, StoreError> {
        Ok(lease::probe(&self.disk, &self.existing(run)?)?)
    }

    fn read_journal(&self, run: &RunId, from: RecordIndex) -> Result<Box<dyn Read + Send>, StoreError> {
        self.journal_reader(run, from)
    }

    fn read_journal_at(&self, run: &RunId, offset: u64) -> Result<Box<dyn Read + Send>, StoreError> {
        self.journal_reader_at(run, offset)
    }

    fn attachment(&self, run: &RunId, name: &AttachmentName) -> Result<Vec<u8>, StoreError> {
        self.read_attachment(run, name, u64::MAX)
    }

    fn attachment_start(
        &self,
        run: &RunId,
        name: &AttachmentName,
        bytes_max: u64,
    ) -> Result<Vec<u8>, StoreError> {
        self.read_attachment(run, name, bytes_max)
    }

    fn attachments(&self, run: &RunId) -> Result<Vec<AttachmentName>, StoreError> {
        self.attachment_names(&self.existing(run)?)
    }

    fn tombstone(&self, run: &RunId) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_tombstone(run)
    }

    fn put_blob(&self, bytes: &[u8], durability: Durability) -> Result<Digest, StoreError> {
        self.store_blob(bytes, durability)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.read_blob(digest)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.disk.has_file(&self.layout.blob(digest).1)?)
    }

    fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.list_runs()
    }

    fn summary(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        Ok(self.summarize(run, &self.existing(run)?))
    }

    fn find(&self, prefix: &str) -> Result<RunId, StoreError> {
        // A whole id means its run even when longer ids begin with it, so the others need not be listed.
        if let Some(run) = RunId::new(prefix).ok().filter(|run| self.existing(run).is_ok()) {
            return Ok(run);
        }
        let ids: Vec<RunId> = self.catalog()?.runs.into_iter().map(|(run, _)| run).collect();
        let found = find_prefix(prefix, ids.iter());
        if let (Err(StoreError::PrefixNotFound { .. }), Ok(run)) = (&found, RunId::new(prefix)) {
            self.refuse_wrong_tombstone(&run)?;
        }
        found
    }

    fn doctor(&self) -> &dyn Doctor {
        self
    }
}
