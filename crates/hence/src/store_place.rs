//! The place of a store, as `--store` names it.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hence_fleet::{FolderQueue, JobQueue};
use hence_store::{FileStore, StoreError, StoreHandle};

/// The folder that a store is in unless somebody names another.
pub(crate) const DEFAULT_STORE: &str = ".hence";

/// The folder of the queue inside the folder of a store.
const QUEUE_FOLDER: &str = "queue";

/// The place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StorePlace {
    /// A folder.
    Folder(PathBuf),
}

impl FromStr for StorePlace {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::Folder(PathBuf::from(text)))
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(out),
        }
    }
}

impl StorePlace {
    /// Opens the store, which must exist.
    pub(crate) fn open(&self) -> Result<StoreHandle, StoreError> {
        match self {
            Self::Folder(folder) => FileStore::open(folder).map(StoreHandle::new),
        }
    }

    /// Opens the store, and creates it if there is none.
    pub(crate) fn open_or_create(&self) -> Result<StoreHandle, StoreError> {
        match self {
            Self::Folder(folder) => FileStore::open_or_create(folder).map(StoreHandle::new),
        }
    }

    /// Returns the queue of the store. It is made by its first change.
    pub(crate) fn queue(&self) -> Box<dyn JobQueue> {
        match self {
            Self::Folder(folder) => Box::new(FolderQueue::at(folder.join(QUEUE_FOLDER))),
        }
    }

    /// Returns whether the store is where it is looked for without `--store`.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Folder(folder) if folder == Path::new(DEFAULT_STORE))
    }

    /// Returns whether nothing is there yet.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Folder(folder) => !folder.exists(),
        }
    }
}
