//! How this crate reads files it never opens itself, and hands over files it never writes.

use std::sync::Arc;

use hence_canon::Digest;

use crate::StorePath;

/// Reads files below the store's root. Implemented by whoever owns the disk.
pub trait Files {
    /// Returns the bytes of the file at `path`, read fresh.
    ///
    /// # Errors
    /// [`ReadFault`]; in particular an implementation must not follow a symbolic link out of the root and reports
    /// [`ReadFault::Escapes`] instead.
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault>;
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    /// There is no such file.
    #[error("no such file")]
    Missing,
    /// A symbolic link on the way leads out of the root.
    #[error("a symbolic link leads out of the store")]
    Escapes,
    /// Its bytes are not those that were written.
    #[error("{0}")]
    Corrupt(String),
    /// The disk or its permissions.
    #[error("{0}")]
    Unreadable(String),
}

/// No files at all: for states that hold no references and no large values.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

/// A large value on its way to disk. It must be durable before the event that refers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpillFile {
    /// Where it belongs.
    pub path: StorePath,
    /// The digest of its bytes, which its name carries.
    pub sha256: Digest,
    /// What to write.
    pub content: SpillContent,
}

/// The bytes of a large value; a text is shared with the value it came from, never copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SpillContent {
    /// A string, as it is.
    Text(Arc<str>),
    /// Canonical JSON of a list or an object.
    Json(Arc<[u8]>),
}

impl SpillContent {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Json(bytes) => bytes,
        }
    }

    pub(crate) fn extension(&self) -> &'static str {
        match self {
            Self::Text(_) => "txt",
            Self::Json(_) => "json",
        }
    }
}
