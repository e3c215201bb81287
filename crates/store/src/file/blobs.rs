//! Blobs by SHA-256.
//!
//! | the process dies | on disk |
//! |---|---|
//! | before the rename | no blob; an unlocked file under `tmp/` |
//! | after it, before the folder is synced | the blob; after a power loss the blob or none |
//! | later | the blob |
//!
//! A buffered blob may be empty or partial after a power loss. Reading it fails, and storing it again repairs it.

use hence_canon::Digest;

use super::disk::Access;
use super::{FileStore, temporary};
use crate::{BLOB_BYTES_MAX, DiskErrorKind, Durability, StoreError};

impl FileStore {
    pub(super) fn store_blob(&self, bytes: &[u8], durability: Durability) -> Result<Digest, StoreError> {
        crate::store::check_blob_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX), BLOB_BYTES_MAX)?;
        let digest = Digest::of(bytes);
        let (folder, path) = self.layout.blob(&digest);
        match self.read_blob(&digest) {
            Ok(_) => {
                // It may have been stored without a sync before; syncing a durable file again costs little.
                if durability == Durability::Synced {
                    self.disk.open(&path, Access::Write)?.sync()?;
                    self.disk.sync_folder(&folder)?;
                    self.disk.sync_folder(&self.layout.blobs())?;
                }
                return Ok(digest);
            }
            Err(StoreError::NoSuchBlob { .. } | StoreError::BlobCorrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        if !self.disk.has_folder(&folder)? {
            self.disk.ensure_folder(&self.layout.blobs())?;
            self.disk.ensure_folder(&folder)?;
        } else if durability == Durability::Synced {
            // Another process may have created the folder a moment ago.
            self.disk.sync_folder(&self.layout.blobs())?;
        }
        temporary::replace(&self.disk, &self.layout, &path, bytes, durability)?;
        Ok(digest)
    }

    pub(super) fn read_blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let bytes = match self.disk.read(&self.layout.blob(digest).1) {
            Err(error) if error.kind == DiskErrorKind::Missing => {
                return Err(StoreError::NoSuchBlob { digest: *digest });
            }
            outcome => outcome?,
        };
        crate::store::check_blob_content(digest, &bytes)?;
        Ok(bytes)
    }
}
