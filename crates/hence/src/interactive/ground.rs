//! The files of variables: large values are blobs of the store, references are files below a root.

use std::path::Path;
use std::sync::Arc;

use hence_engine::{SinkError, VariableFiles};
use hence_store::{BLOB_BYTES_MAX, ConfinedError, Durability, StoreError, StoreHandle, read_confined};
use hence_variables::{Event, Files, ReadFault, SpillFile, StorePath, Workspace};

use super::SharedScopes;

/// Reads a file below `.aiwg/rlm` in `folder`. A link must not lead out of `.aiwg/rlm`, and `.aiwg/rlm` not out of the
/// folder.
pub(crate) fn read_below(folder: &Path, path: &StorePath) -> Result<Vec<u8>, ConfinedError> {
    let (root, rest) = path.from_root();
    let whole = |path: &Path| match path.canonicalize() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ConfinedError::Missing),
        outcome => Ok(outcome?),
    };
    let root = whole(&folder.join(root))?;
    if !root.starts_with(whole(folder)?) {
        return Err(ConfinedError::Escapes);
    }
    read_confined(&root, Path::new(rest), BLOB_BYTES_MAX)
}

/// The files of variables in a store and below a root.
pub(crate) struct StoreVariableFiles<'a> {
    pub(crate) store: &'a StoreHandle,
    pub(crate) root: &'a Path,
    /// The shared scopes that are leased for writing, if any.
    pub(crate) shared_scopes: Option<&'a mut SharedScopes>,
}

impl Files for StoreVariableFiles<'_> {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        if let Some(digest) = path.spill_digest() {
            match self.store.blob(&digest) {
                Ok(bytes) => return Ok(bytes.into()),
                Err(StoreError::NoSuchBlob { .. }) => {}
                Err(error @ StoreError::BlobCorrupt { .. }) => {
                    return Err(ReadFault::Corrupt(error.to_string()));
                }
                Err(error) => return Err(ReadFault::Unreadable(error.to_string())),
            }
        }
        match read_below(self.root, path) {
            Ok(bytes) => Ok(bytes.into()),
            Err(ConfinedError::Missing) => Err(ReadFault::Missing),
            Err(ConfinedError::Escapes) => Err(ReadFault::Escapes),
            Err(error) => Err(ReadFault::Unreadable(error.to_string())),
        }
    }
}

impl VariableFiles for StoreVariableFiles<'_> {
    fn publish(&mut self, workspace: &Workspace, event: &Event) -> Result<(), SinkError> {
        match &mut self.shared_scopes {
            Some(shared_scopes) => shared_scopes.publish(workspace, event),
            None => Ok(()),
        }
    }

    fn store(&mut self, spill: &SpillFile) -> Result<(), SinkError> {
        self.store.put_blob(spill.content.bytes(), Durability::Synced)?;
        Ok(())
    }
}
