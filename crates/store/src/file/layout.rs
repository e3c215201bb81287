//! Where things lie in the folder of a store.

use std::path::{Path, PathBuf};

use hence_canon::Digest;

use super::folder_name;
use crate::{AttachmentName, RunId};

/// Paths of a store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.root.join("format")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub(crate) fn run(&self, run: &RunId) -> RunFolder {
        RunFolder(self.runs().join(folder_name::encode(run)))
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The folder of a blob and its path.
    pub(crate) fn blob(&self, digest: &Digest) -> (PathBuf, PathBuf) {
        let hex = digest.to_string();
        let (shelf, name) = hex.split_at(2);
        let folder = self.blobs().join(shelf);
        let path = folder.join(name);
        (folder, path)
    }
}

/// Paths of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder(pub(crate) PathBuf);

impl RunFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("trace.ndjson")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    pub(crate) fn id(&self) -> PathBuf {
        self.0.join("id")
    }

    pub(crate) fn batch(&self) -> PathBuf {
        self.0.join("batch")
    }

    pub(crate) fn attachment(&self, name: &AttachmentName) -> PathBuf {
        self.0.join(name.as_str())
    }
}
