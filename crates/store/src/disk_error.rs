//! A failed operation on a file or folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
