//! The contract of a store.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use hence_canon::time::Instant;
use hence_canon::{Digest, Value};
use hence_journal::{Durability, Head, RecordIndex};

use crate::summary::unreadable;
use crate::view::{Listing, Stamps, ViewBinding};
use crate::{
    AppendError, AttachmentName, Doctor, Finding, NewestPage, NewestRequest, RunId, RunSummary, StoreError,
};

/// The largest blob. A blob is in memory while it is hashed.
pub const BLOB_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The holder of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A name left by the holder, such as `process 4711`.
    Named(String),
    /// The lease is held, and its holder left no name.
    Unknown,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => out.write_str(name),
            Self::Unknown => out.write_str("an unknown holder"),
        }
    }
}

/// The lease of a run: the right to append to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// Nobody writes the run.
    Free,
    /// Somebody writes the run.
    Held(Holder),
}

/// The content of a new run.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The run's name.
    pub id: RunId,
    /// The attachments next to its journal, such as `problem.json`.
    pub attachments: Vec<(AttachmentName, Vec<u8>)>,
    /// The first lines of its journal, beginning with the header: whole records, each with its line feed.
    pub lines: Vec<u8>,
}

/// Bytes cut off the end of a journal when it was opened for writing: an append that never finished.
///
/// These bytes were never acknowledged. The caller that opens the run must report the cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The length of the journal after the cut.
    pub offset: u64,
    /// The number of bytes cut off.
    pub bytes: u64,
    /// The number of whole records among them: above 0 only for an unfinished batch.
    pub whole_records: u64,
    /// The head after the cut.
    pub head: Head,
}

impl fmt::Display for Cut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cut {} bytes of an unfinished append at byte {}", self.bytes, self.offset)?;
        if self.whole_records > 0 {
            write!(out, " ({} whole records of an unfinished batch)", self.whole_records)?;
        }
        write!(out, "; the journal ends at {}", self.head)
    }
}

/// A run opened for writing.
pub struct Opened {
    /// The only writer of the run.
    pub writer: Box<dyn RunWriter>,
    /// The unfinished append that was cut off, if a writer was interrupted.
    pub cut: Option<Cut>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Opened")
            .field("run", self.writer.run())
            .field("head", &self.writer.head())
            .field("cut", &self.cut)
            .finish()
    }
}

impl fmt::Debug for dyn RunWriter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RunWriter({:?} at {})", self.run(), self.head())
    }
}

/// A place where runs are stored.
///
/// The contract below holds for every implementation; `hence_store::contract` (feature `contract`) tests it.
/// The page `docs/store.md` describes for each durable operation what is stored if the process dies in it.
///
/// 1. **Old or new.** Each operation that writes takes effect whole or not at all, across errors and crashes.
/// 2. **One writer.** A run has at most one [`RunWriter`] at a time, in all processes and on all machines. It ends
///    when dropped or when its process dies.
/// 3. **Bytes in, bytes out.** Lines, attachments and blobs are returned byte for byte. A journal holds its lines and
///    nothing else.
/// 4. **Reading never waits and never repairs.** Reading works while a run is written, on damaged runs and on
///    a store that cannot be written. It may see an append in progress as torn bytes at the end.
/// 5. **Caches are not trusted.** The cache behind [`list`](Self::list) is rebuilt from the journals when missing,
///    stale or corrupt.
/// 6. **Refusals change nothing**, and report what was expected and what was found.
pub trait Store: Send + Sync {
    /// Returns the place of the store for messages: a folder, or the address of a database without its password.
    fn location(&self) -> String;

    /// Returns the place of a run's journal for messages.
    fn journal_location(&self, run: &RunId) -> String;

    /// Opens the section `name` of the store; `None` if nothing was ever stored in it.
    ///
    /// A section is a store of its own inside this one, such as that of the reviews. Its runs are in no list of this store.
    ///
    /// # Errors
    /// As for opening the store.
    fn section(&self, name: &str) -> Result<Option<Arc<dyn Store>>, StoreError>;

    /// Opens the section `name` of the store, creating it first if it is missing.
    ///
    /// # Errors
    /// As for opening the store.
    fn section_or_new(&self, name: &str) -> Result<Arc<dyn Store>, StoreError>;

    /// Returns the store as one that is only looked at: reading it writes no cache.
    fn observer(&self) -> Arc<dyn Store>;

    /// Creates a run durably and as a whole, and takes its lease.
    ///
    /// # Errors
    /// [`StoreError::AlreadyCreated`] when the run exists and began with the same bytes,
    /// [`StoreError::RunConflict`] when it began with others, [`StoreError::RunRemoved`] when a run of that id was removed,
    /// [`StoreError::InvalidLines`], [`StoreError::DuplicateAttachment`], [`StoreError::Disk`].
    fn create(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError>;

    /// Stores blobs and creates runs that have ended, each durably and as a whole. A run that exists and began with the same
    /// bytes counts as created. Later runs may refer to earlier ones and to every blob: whatever a crash leaves, a run is
    /// there only with the blobs.
    ///
    /// # Errors
    /// As for [`create`](Self::create), and [`StoreError::BlobTooLarge`]; some of the runs may exist then.
    fn create_all(&self, runs: Vec<NewRun>, blobs: &[Vec<u8>]) -> Result<(), StoreError> {
        for blob in blobs {
            self.put_blob(blob, Durability::Synced)?;
        }
        for new in runs {
            match self.create(new) {
                Ok(_) | Err(StoreError::AlreadyCreated { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Creates a run whose records were made elsewhere. [`was_made_here`](Self::was_made_here) is false for it. A run that was removed
    /// can be brought back like this.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    fn create_foreign(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError>;

    /// Returns whether this very run was created here: not by an import, and not as a part of a copied store.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Disk`].
    fn was_made_here(&self, run: &RunId) -> Result<bool, StoreError>;

    /// Returns whether there is a run of that id.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn has_run(&self, run: &RunId) -> Result<bool, StoreError>;

    /// Takes the lease of a run and cuts its journal back to the last finished append.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Leased`], [`StoreError::Damaged`] (the journal is not changed),
    /// [`StoreError::Disk`].
    fn open(&self, run: &RunId) -> Result<Opened, StoreError>;

    /// Returns whether a run is being written. The answer may be outdated when it arrives.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Disk`].
    fn lease(&self, run: &RunId) -> Result<Lease, StoreError>;

    /// Reads a journal from the line of record `from` to its end, torn bytes included.
    ///
    /// Lines are counted, not decoded, so this works on damaged journals. After the last line the reader is empty.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Damaged`] when the run has no journal, [`StoreError::Disk`].
    fn read_journal(&self, run: &RunId, from: RecordIndex) -> Result<Box<dyn Read + Send>, StoreError>;

    /// Reads a journal from a byte on to its end, torn bytes included; nothing after the end. It costs what it reads.
    ///
    /// # Errors
    /// As for [`read_journal`](Self::read_journal).
    fn read_journal_at(&self, run: &RunId, offset: u64) -> Result<Box<dyn Read + Send>, StoreError>;

    /// Reads a whole journal, torn bytes included.
    ///
    /// # Errors
    /// As for [`read_journal`](Self::read_journal).
    fn journal_bytes(&self, run: &RunId) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let mut reader = self.read_journal(run, RecordIndex::HEADER)?;
        reader.read_to_end(&mut bytes).map_err(|error| unreadable(run, error))?;
        Ok(bytes)
    }

    /// Reads an attachment.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::NoSuchAttachment`], [`StoreError::Disk`].
    fn attachment(&self, run: &RunId, name: &AttachmentName) -> Result<Vec<u8>, StoreError>;

    /// Reads the start of an attachment, at most so many bytes, however large the attachment is.
    ///
    /// # Errors
    /// As for [`attachment`](Self::attachment).
    fn attachment_start(
        &self,
        run: &RunId,
        name: &AttachmentName,
        bytes_max: u64,
    ) -> Result<Vec<u8>, StoreError>;

    /// Reads the bytes of an attachment in a range, fewer where it ends before, and returns them with its whole size.
    ///
    /// # Errors
    /// As for [`attachment`](Self::attachment).
    fn attachment_range(
        &self,
        run: &RunId,
        name: &AttachmentName,
        start: u64,
        end: u64,
    ) -> Result<(Vec<u8>, u64), StoreError>;

    /// Reads the last bytes of an attachment, at most `bytes_max`.
    ///
    /// # Errors
    /// As for [`attachment`](Self::attachment).
    fn attachment_end(
        &self,
        run: &RunId,
        name: &AttachmentName,
        bytes_max: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let (_, size) = self.attachment_range(run, name, 0, 0)?;
        Ok(self.attachment_range(run, name, size.saturating_sub(bytes_max), size)?.0)
    }

    /// Lists the attachments of a run by name.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Disk`].
    fn attachments(&self, run: &RunId) -> Result<Vec<AttachmentName>, StoreError>;

    /// Removes a run and leaves a tombstone: bytes that say what the run was. Both happen, or neither.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Leased`] when somebody writes the run, [`StoreError::Disk`].
    fn remove_run(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError>;

    /// Returns the tombstone of a run that was removed; `None` if there is none. A run that was imported again later has both.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn tombstone(&self, run: &RunId) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores the tombstone of a run that was removed elsewhere, when a store is copied. One that is there already stays.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn keep_tombstone(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError>;

    /// Lists the runs that have a tombstone.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn tombstones(&self) -> Result<Vec<RunId>, StoreError>;

    /// Stores a blob under its digest. Storing it again changes nothing, or repairs a damaged copy.
    ///
    /// # Errors
    /// [`StoreError::BlobTooLarge`] above [`BLOB_BYTES_MAX`], [`StoreError::Disk`].
    fn put_blob(&self, bytes: &[u8], durability: Durability) -> Result<Digest, StoreError>;

    /// Reads a blob and checks it against its digest.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBlob`], [`StoreError::BlobCorrupt`], [`StoreError::Disk`].
    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;

    /// Returns whether a blob is stored, without reading it.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError>;

    /// Removes a blob. The caller knows that no record refers to it.
    ///
    /// # Errors
    /// [`StoreError::Disk`]; a blob that is not there is no error.
    fn remove_blob(&self, digest: &Digest) -> Result<(), StoreError>;

    /// Returns the stamps of a run's journal and of the attachments of these names.
    fn stamps(&self, run: &RunId, attachments: &[&str]) -> Stamps;

    /// Lists all runs in the order of their ids, each with the stamps of these attachments, and with its cached view if that
    /// was computed from them.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn list_cached(&self, attachments: &[&str]) -> Result<Listing, StoreError>;

    /// Lists the next runs in the order of their creation, the newest first, as [`list_cached`](Self::list_cached) does.
    ///
    /// It costs what the page costs, however many runs there are. `None` from a store that has no such order.
    ///
    /// # Errors
    /// [`StoreError::Disk`], [`StoreError::Database`]; also for a place that this store did not give.
    fn list_newest(
        &self,
        _attachments: &[&str],
        _request: &NewestRequest,
    ) -> Result<Option<NewestPage>, StoreError> {
        Ok(None)
    }

    /// Counts the runs, but not beyond `most`: a list of many runs is not read to say how many there are.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn count_up_to(&self, most: u64) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.list()?.len()).unwrap_or(u64::MAX).min(most))
    }

    /// States when a run that came from elsewhere was created. Only the order of [`list_newest`](Self::list_newest) depends on it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Database`].
    fn set_created(&self, _run: &RunId, _created: Instant) -> Result<(), StoreError> {
        Ok(())
    }

    /// Caches the views of a list. A list is complete even if its views cannot be cached, so this never fails.
    fn cache_list(&self, listing: &Listing);

    /// Returns the cached view of a run, if it is bound to exactly this.
    fn cached_view(&self, run: &RunId, binding: &ViewBinding) -> Option<Value>;

    /// Caches the view of a run. A view is right even if it cannot be cached, so this never fails.
    fn cache_view(&self, run: &RunId, binding: &ViewBinding, view: &Value);

    /// Removes the cached view of a run.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn remove_view(&self, run: &RunId) -> Result<(), StoreError>;

    /// Lists all runs in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn list(&self) -> Result<Vec<RunSummary>, StoreError>;

    /// Summarizes one run. The head is read from the journal, not from a cache.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Disk`].
    fn summary(&self, run: &RunId) -> Result<RunSummary, StoreError>;

    /// Finds the run whose id is `prefix`, or else the only one whose id begins with it.
    ///
    /// # Errors
    /// [`StoreError::PrefixNotFound`], [`StoreError::PrefixAmbiguous`], [`StoreError::Disk`].
    fn find(&self, prefix: &str) -> Result<RunId, StoreError>;

    /// Finds what no list of runs shows and what a store cannot hold, such as links and journals under other names.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the store cannot be listed.
    fn misplaced(&self) -> Result<Vec<Finding>, StoreError> {
        Ok(Vec::new())
    }

    /// Finds what a run cannot hold.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Disk`].
    fn misplaced_in(&self, _run: &RunId) -> Result<Vec<Finding>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the checks and repairs of this store.
    fn doctor(&self) -> &dyn Doctor;
}

/// The writer of one run, which holds its lease: dropping the writer releases the lease.
pub trait RunWriter: Send {
    /// Returns the run's id.
    fn run(&self) -> &RunId;

    /// Returns the head of the journal.
    fn head(&self) -> Head;

    /// Appends `lines` as one unit if the journal still ends at `expected`, and returns the new head.
    ///
    /// `lines` are whole records, each with its line feed. With [`Durability::Synced`] everything appended before is
    /// durable too.
    ///
    /// # Errors
    /// [`AppendError::HeadMoved`] and [`AppendError::InvalidLines`] change nothing. After [`AppendError::Failed`] every
    /// call returns [`AppendError::Poisoned`]: open the run again to learn whether the lines are stored.
    fn append(&mut self, expected: Head, lines: &[u8], durability: Durability) -> Result<Head, AppendError>;

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    /// As for [`append`](Self::append).
    fn sync(&mut self) -> Result<(), AppendError>;

    /// Stores an attachment, replacing one of that name as a whole.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn attach(
        &mut self,
        name: &AttachmentName,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StoreError>;

    /// Removes an attachment, if it exists.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn detach(&mut self, name: &AttachmentName) -> Result<(), StoreError>;

    /// Opens the side log `name` of the run, creating it when it does not exist.
    ///
    /// It is read as the attachment of that name. Bytes after the last line feed are an append that never finished
    /// and was never acknowledged; they are cut off.
    ///
    /// # Errors
    /// [`StoreError::Disk`].
    fn side_log(&mut self, name: &AttachmentName) -> Result<Box<dyn SideLog>, StoreError>;
}

/// Lines next to a journal, such as the call log: work in progress that is not recorded yet.
///
/// Many threads can write to it at the same time. It holds the lease of its run as long as it exists.
pub trait SideLog: Send + Sync {
    /// Appends whole lines, each with its line feed.
    ///
    /// With [`Durability::Synced`] everything appended before is durable too; concurrent callers
    /// share one sync.
    ///
    /// # Errors
    /// [`StoreError::Disk`]. After that every call returns an error: open the run again to learn what is stored.
    fn append(&self, lines: &[u8], durability: Durability) -> Result<(), StoreError>;
}

/// Refuses a blob above `limit`.
///
/// # Errors
/// [`StoreError::BlobTooLarge`].
pub fn check_blob_size(bytes: u64, limit: u64) -> Result<(), StoreError> {
    if bytes > limit { Err(StoreError::BlobTooLarge { bytes, limit }) } else { Ok(()) }
}

/// Refuses bytes whose digest is not the blob's.
///
/// # Errors
/// [`StoreError::BlobCorrupt`].
pub fn check_blob_content(digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
    let found = Digest::of(bytes);
    if found == *digest {
        return Ok(());
    }
    let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Err(StoreError::BlobCorrupt { digest: *digest, found, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_holds_up_to_the_limit() {
        assert!(check_blob_size(BLOB_BYTES_MAX, BLOB_BYTES_MAX).is_ok());
        let refused = check_blob_size(BLOB_BYTES_MAX + 1, BLOB_BYTES_MAX).unwrap_err().to_string();
        assert_eq!(refused, "a blob of 1073741825 bytes, the limit is 1073741824");
    }
}
