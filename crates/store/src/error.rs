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
    /// The store's medium did not do what was asked.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The folder holds something else than a store.
    #[error("{path} is not a store: expected a file `format`, found {found}")]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// What is there instead.
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
    /// There is no such run.
    #[error("no run {run}")]
    NoSuchRun {
        /// The run asked for.
        run: RunId,
    },
    /// The run to create is there already, made from the same bytes. Opening it is what the caller wants.
    #[error("run {run} exists already with the same content, at head {head}")]
    AlreadyCreated {
        /// The run.
        run: RunId,
        /// Where its journal ends.
        head: Head,
    },
    /// The run to create is there already, made from other bytes. Nothing was changed.
    #[error("run {run} exists already with different content: {differs} differs")]
    RunConflict {
        /// The run.
        run: RunId,
        /// The first thing that differs: `journal` or an attachment.
        differs: String,
    },
    /// Somebody else writes this run.
    #[error("run {run} is being written by {holder}")]
    Leased {
        /// The run.
        run: RunId,
        /// Who holds the lease.
        holder: Holder,
    },
    /// The journal's end is no record. It can be read, and nobody may append to it.
    #[error("run {run} is damaged: {reason}")]
    Damaged {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        reason: Damage,
    },
    /// The lines that should begin a run are not acceptable.
    #[error("run {run} cannot begin with these lines: {reason}")]
    InvalidLines {
        /// The run.
        run: RunId,
        /// What is wrong with them.
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
    /// An attachment is given twice.
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
        /// How many runs match.
        matches: usize,
        /// The first of them in order, at most [`CANDIDATES_MAX`].
        candidates: Vec<RunId>,
    },
    /// There is no such blob.
    #[error("no blob {digest}")]
    NoSuchBlob {
        /// The blob asked for.
        digest: Digest,
    },
    /// A blob's bytes are not those it is named after.
    #[error("blob {digest} is damaged: its {bytes} bytes have the digest {found}")]
    BlobCorrupt {
        /// The blob asked for.
        digest: Digest,
        /// The digest of what is stored.
        found: Digest,
        /// How many bytes are stored.
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
    /// A folder among the runs does not carry a run's name.
    #[error("{path} does not name a run: {reason}")]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

fn list_candidates(candidates: &[RunId], matches: usize) -> String {
    let mut text = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if matches > candidates.len() {
        text.push_str(", …");
    }
    text
}

/// What is wrong with a journal that cannot be appended to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The run has no journal.
    #[error("it has no journal")]
    NoJournal,
    /// The end of the journal is no record.
    #[error("{0}")]
    Tail(#[from] TailError),
    /// The journal cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// An append that a run refused or could not finish.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The journal does not end where the caller believes. Nothing was written.
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
    /// The medium failed during this write. Whether the lines are there is known only after opening the run again.
    #[error("append to run {run} not confirmed: {source}")]
    Failed {
        /// The run.
        run: RunId,
        /// What failed.
        source: DiskError,
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
    /// An earlier failure left it unknown where the journal ends. Open the run again.
    #[error("writer of run {run} is poisoned by an earlier failure: {cause}")]
    Poisoned {
        /// The run.
        run: RunId,
        /// The earlier failure.
        #[source]
        cause: Arc<AppendError>,
    },
}

/// A failed operation on a file or folder: what was tried, where, and why it did not work.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {action} {path}: {kind}")]
pub struct DiskError {
    /// What was tried.
    pub action: Action,
    /// Where.
    pub path: PathBuf,
    /// What stood in the way.
    pub kind: DiskErrorKind,
    /// What the system said.
    #[source]
    pub source: Arc<io::Error>,
}

/// What was tried on a file or folder.
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

/// What stood in the way of an operation on a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiskErrorKind {
    /// No space is left, or the quota is used up.
    #[error("no space left")]
    Full,
    /// The file system is mounted read-only.
    #[error("the file system is read-only")]
    ReadOnly,
    /// This user may not.
    #[error("permission denied")]
    PermissionDenied,
    /// It is not there.
    #[error("it does not exist")]
    Missing,
    /// It is there already.
    #[error("it exists already")]
    Exists,
    /// A folder was expected.
    #[error("expected a folder, found a file")]
    NotAFolder,
    /// A file was expected.
    #[error("expected a file, found a folder")]
    NotAFile,
    /// The file system does not do this.
    #[error("the file system does not support it")]
    Unsupported,
    /// Something else.
    #[error("{0}")]
    Other(String),
}

impl DiskError {
    /// Names what happened to `path`.
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
            _ => DiskErrorKind::Other(source.to_string()),
        };
        Self { action, path: path.to_owned(), kind, source: Arc::new(source) }
    }
}
