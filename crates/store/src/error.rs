//! The errors of a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hence_canon::Digest;
use hence_journal::{Head, TailError};

use crate::{AttachmentName, Holder, InvalidLines, RunId};

/// Most candidates named by an ambiguous prefix: enough to choose from, few enough to print.
pub const CANDIDATES_MAX: usize = 10;

/// An operation that a store refused or could not finish, other than an append.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An operation on a file or folder failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A database refused an operation or could not be reached.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The folder holds something else than a store.
    #[error("{path} is not a store: expected a file `format`, found {found}")]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// The content of the folder.
        found: String,
    },
    /// The store was written in a format that this version does not know.
    #[error("{path} names store format {found:?}, this version reads {expected:?}")]
    UnknownFormat {
        /// The marker file.
        path: PathBuf,
        /// The format this version reads and writes.
        expected: &'static str,
        /// The format named by the marker.
        found: String,
    },
    /// The run does not exist.
    #[error("no run {run}")]
    NoSuchRun {
        /// The run asked for.
        run: RunId,
    },
    /// The run to create exists already and began with the same bytes. The caller can open it.
    #[error("run {run} exists already with the same content, at head {head}")]
    AlreadyCreated {
        /// The run.
        run: RunId,
        /// The head of its journal.
        head: Head,
    },
    /// The run to create exists already and began with other bytes. Nothing was changed.
    #[error("run {run} exists already with different content: {differs} differs")]
    RunConflict {
        /// The run.
        run: RunId,
        /// The first thing that differs: `journal` or an attachment.
        differs: String,
    },
    /// The run to create has the id of a run that was removed. An id names one run, also after its removal: nothing was changed.
    #[error("run {run} was removed; its tombstone stays, and no other run gets its id")]
    RunRemoved {
        /// The run.
        run: RunId,
    },
    /// Another writer holds the lease of the run.
    #[error("run {run} is being written by {holder}")]
    Leased {
        /// The run.
        run: RunId,
        /// The holder of the lease.
        holder: Holder,
    },
    /// Another writer took the lease of the run, because this one did not renew it in time. Nothing was written.
    #[error("the lease of run {run} was taken over by {holder}; nothing was written")]
    Fenced {
        /// The run.
        run: RunId,
        /// The present holder of the lease.
        holder: Holder,
    },
    /// The journal does not end with a record. It can be read, but not appended to.
    #[error("run {run} is damaged: {reason}")]
    Damaged {
        /// The run.
        run: RunId,
        /// The damage.
        reason: Damage,
    },
    /// The first lines of a new run are not acceptable.
    #[error("run {run} cannot begin with these lines: {reason}")]
    InvalidLines {
        /// The run.
        run: RunId,
        /// The defect of the lines.
        reason: InvalidLines,
    },
    /// The run has no attachment of that name.
    #[error("run {run} has no attachment {name}")]
    NoSuchAttachment {
        /// The run.
        run: RunId,
        /// The name asked for.
        name: AttachmentName,
    },
    /// An attachment occurs twice.
    #[error("attachment {name} is given twice")]
    DuplicateAttachment {
        /// The name.
        name: AttachmentName,
    },
    /// No run's id begins with the prefix.
    #[error("no run id begins with {prefix:?}")]
    PrefixNotFound {
        /// The prefix.
        prefix: String,
    },
    /// Several runs' ids begin with the prefix.
    #[error("{matches} run ids begin with {prefix:?}: {}", list_candidates(candidates, *matches))]
    PrefixAmbiguous {
        /// The prefix.
        prefix: String,
        /// The number of runs that match.
        matches: usize,
        /// The first of them in order, at most [`CANDIDATES_MAX`].
        candidates: Vec<RunId>,
    },
    /// The blob does not exist.
    #[error("no blob {digest}")]
    NoSuchBlob {
        /// The blob asked for.
        digest: Digest,
    },
    /// A blob's bytes do not have the digest in its name.
    #[error("blob {digest} is damaged: its {bytes} bytes have the digest {found}")]
    BlobCorrupt {
        /// The blob asked for.
        digest: Digest,
        /// The digest of the stored bytes.
        found: Digest,
        /// The number of stored bytes.
        bytes: u64,
    },
    /// A blob is too large.
    #[error("a blob of {bytes} bytes, the limit is {limit}")]
    BlobTooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A folder among the runs is not named after a run.
    #[error("{path} does not name a run: {reason}")]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
        /// The broken rule.
        reason: String,
    },
}

impl StoreError {
    /// Returns whether the system refused the operation, which says nothing about the bytes of the store.
    pub fn is_refused_by_the_system(&self) -> bool {
        use DiskErrorKind::{Altered, Exists, Missing, NotAFile, NotAFolder, NotPlain};
        match self {
            Self::Disk(error) => {
                !matches!(error.kind, Missing | Exists | NotAFolder | NotAFile | NotPlain(_) | Altered(_))
            }
            Self::Database(_) => true,
            _ => false,
        }
    }
}

fn list_candidates(candidates: &[RunId], matches: usize) -> String {
    let mut text = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if matches > candidates.len() {
        text.push_str(", …");
    }
    text
}

/// The damage of a journal that cannot be appended to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The run has no journal.
    #[error("it has no journal")]
    NoJournal,
    /// The journal does not end with a record.
    #[error("{0}")]
    Tail(#[from] TailError),
    /// The journal cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The system refuses to read the journal, so whether it is whole is not known.
    #[error("{0}")]
    Refused(String),
}

/// An append that a run refused or could not finish.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The journal does not end at the head that the caller expects. Nothing was written.
    #[error("head moved: expected {expected}, found {found}")]
    HeadMoved {
        /// The head that the caller named.
        expected: Head,
        /// The head of the journal.
        found: Head,
    },
    /// The lines are not acceptable. Nothing was written.
    #[error(transparent)]
    InvalidLines(#[from] InvalidLines),
    /// The disk failed during this write. Whether the lines are stored is known only after opening the run again.
    #[error("append to run {run} not confirmed: {source}")]
    Failed {
        /// The run.
        run: RunId,
        /// The failure.
        source: DiskError,
    },
    /// The database failed during this write. Whether the lines are stored is known only after opening the run again.
    #[error("append to run {run} not confirmed: {source}")]
    Unconfirmed {
        /// The run.
        run: RunId,
        /// The failure.
        source: DatabaseError,
    },
    /// Another writer took the lease of the run, because this one did not renew it in time. Nothing was written.
    #[error("the lease of run {run} was taken over by {holder}; nothing was written")]
    Fenced {
        /// The run.
        run: RunId,
        /// The present holder of the lease.
        holder: Holder,
    },
    /// The stored journal changed although this writer holds the lease. Nothing was written.
    #[error("journal of run {run} has {found} bytes, this writer left {expected}: something else changed it")]
    ModifiedExternally {
        /// The run.
        run: RunId,
        /// The length this writer left.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// After an earlier failure the end of the journal is unknown. Open the run again.
    #[error("writer of run {run} is poisoned by an earlier failure: {cause}")]
    Poisoned {
        /// The run.
        run: RunId,
        /// The earlier failure.
        #[source]
        cause: Arc<AppendError>,
    },
}

/// A failed operation on a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {reason}")]
pub struct DatabaseError {
    /// The address of the database, without its password.
    pub location: String,
    /// The kind of the failure.
    pub kind: DatabaseErrorKind,
    /// The failure: what was tried, what was expected, what was found.
    pub reason: String,
}

/// The kind of a failed operation on a database. Each kind has advice of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseErrorKind {
    /// The address cannot be read.
    InvalidAddress,
    /// No server answers at the address, or the connection was lost.
    Unreachable,
    /// The server refused the name or the password.
    AccessDenied,
    /// The server is older than the oldest version that is supported.
    ServerTooOld,
    /// The tables are missing, or older than this version expects.
    NotMigrated,
    /// The tables were made by a newer version.
    NewerThanProgram,
    /// The role may not write.
    ReadOnly,
    /// No space is left.
    Full,
    /// Stored rows contradict each other.
    Damaged,
    /// Any other failure.
    Other,
}

/// A failed operation on a file or folder.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {action} {path}: {kind}")]
pub struct DiskError {
    /// The operation.
    pub action: Action,
    /// The file or folder.
    pub path: PathBuf,
    /// The kind of the failure.
    pub kind: DiskErrorKind,
    /// The error of the operating system.
    #[source]
    pub source: Arc<io::Error>,
}

/// An operation on a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each name says itself")]
pub enum Action {
    Create,
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Rename,
    Remove,
    List,
    Lock,
}

impl std::fmt::Display for Action {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "shorten",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::List => "list",
            Self::Lock => "lock",
        })
    }
}

/// The kind of a failed operation on a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiskErrorKind {
    /// No space is left, or the quota is used up.
    #[error("no space left")]
    Full,
    /// The file system is mounted read-only.
    #[error("the file system is read-only")]
    ReadOnly,
    /// The user lacks the permission.
    #[error("permission denied")]
    PermissionDenied,
    /// The file or folder does not exist.
    #[error("it does not exist")]
    Missing,
    /// The file or folder exists already.
    #[error("it exists already")]
    Exists,
    /// A folder was expected.
    #[error("expected a folder, found a file")]
    NotAFolder,
    /// A file was expected.
    #[error("expected a file, found a folder")]
    NotAFile,
    /// A link, a pipe or a device is where a store has a file or a folder.
    #[error("{0}")]
    NotPlain(String),
    /// The file holds something else than its place in the store says.
    #[error("{0}")]
    Altered(String),
    /// The file system does not support the operation.
    #[error("the file system does not support it")]
    Unsupported,
    /// Any other failure.
    #[error("{0}")]
    Other(String),
}

impl DiskError {
    /// Classifies the failure of an operation on `path`.
    pub(crate) fn new(action: Action, path: &Path, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let kind = match source.kind() {
            Kind::StorageFull | Kind::QuotaExceeded => DiskErrorKind::Full,
            Kind::ReadOnlyFilesystem => DiskErrorKind::ReadOnly,
            Kind::PermissionDenied => DiskErrorKind::PermissionDenied,
            Kind::NotFound => DiskErrorKind::Missing,
            Kind::AlreadyExists | Kind::DirectoryNotEmpty => DiskErrorKind::Exists,
            Kind::NotADirectory => DiskErrorKind::NotAFolder,
            Kind::IsADirectory => DiskErrorKind::NotAFile,
            Kind::Unsupported => DiskErrorKind::Unsupported,
            _ if source.get_ref().is_some_and(|inner| inner.is::<crate::file::NotPlain>()) => {
                DiskErrorKind::NotPlain(source.to_string())
            }
            _ => DiskErrorKind::Other(source.to_string()),
        };
        Self { action, path: path.to_owned(), kind, source: Arc::new(source) }
    }
}
