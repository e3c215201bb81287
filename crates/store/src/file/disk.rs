//! The operations of a file system that a file store uses.
//!
//! The store uses a disk only through these traits, so that tests can fail, tear or lose every single operation.

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) use crate::view::Stamp;

/// The kind of an existing path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Other,
}

/// The properties that tell a file from every other one, also from its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The number of the file on its file system, or 0 where there is none.
    pub(crate) number: u64,
    /// The time of its creation in nanoseconds, or 0 where the file system has none.
    pub(crate) created: u64,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The name; other than UTF-8 is shown with replacement characters and matches nothing the store writes.
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// The mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Write, creating the file when it is missing.
    WriteOrCreate,
    /// Write, refusing a file that exists.
    CreateNew,
}

/// Whether a lock was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockOutcome {
    Taken,
    HeldElsewhere,
}

/// A file system.
pub(crate) trait Disk: Send + Sync + std::fmt::Debug {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>>;
    fn stamp(&self, path: &Path) -> io::Result<Stamp>;
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn DiskFile>>;
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes everything on the file system of `path` durable, or fails with `Unsupported`.
    fn sync_filesystem(&self, path: &Path) -> io::Result<()>;
    /// Returns a name of this process, for others to read.
    fn holder_name(&self) -> String;
}

/// One open file.
pub(crate) trait DiskFile: Send + Sync + std::fmt::Debug {
    fn stamp(&self) -> io::Result<Stamp>;
    /// Returns what tells the file from its copies, if the file system says.
    fn identity(&self) -> io::Result<Option<Identity>>;
    /// Reads up to `buffer` bytes; 0 at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, bytes: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    /// Reads the mark that was last set on the file, if any.
    fn mark(&self) -> io::Result<Option<Vec<u8>>>;
    /// Sets a mark of a few bytes on the file, or fails with `Unsupported`.
    ///
    /// Marks and lengths of one file are stored in the order in which they were changed: after a crash, a file that
    /// has grown has the mark that was set before.
    fn set_mark(&self, mark: &[u8]) -> io::Result<()>;
    /// Takes an exclusive lock that ends when the file is closed or the process dies.
    fn try_lock(&self) -> io::Result<LockOutcome>;
}
