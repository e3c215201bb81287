//! A disk whose errors name the operation and the path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Access, Disk, DiskFile, Entry, Identity, Kind, LockOutcome, Stamp};
use crate::{Action, DiskError, DiskErrorKind};

/// The bytes read from a file at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The largest file that is read into memory, journals excepted. A larger one is not the store's, or a hole.
pub(crate) const FILE_BYTES_MAX: u64 = crate::BLOB_BYTES_MAX;

/// A disk whose errors name the operation and the path.
#[derive(Debug, Clone)]
pub(crate) struct CheckedDisk(pub(crate) Arc<dyn Disk>);

impl CheckedDisk {
    pub(crate) fn kind(&self, path: &Path) -> Result<Option<Kind>, DiskError> {
        self.0.kind(path).map_err(|error| DiskError::new(Action::Read, path, error))
    }

    /// Returns whether `path` is a file; a folder there is an error.
    pub(crate) fn has_file(&self, path: &Path) -> Result<bool, DiskError> {
        match self.kind(path)? {
            None => Ok(false),
            Some(Kind::File) => Ok(true),
            Some(Kind::Folder) => {
                Err(DiskError::new(Action::Open, path, std::io::ErrorKind::IsADirectory.into()))
            }
            Some(Kind::Other) => Err(self.not_plain(path)),
        }
    }

    /// Returns whether `path` is a folder; a file there is an error.
    pub(crate) fn has_folder(&self, path: &Path) -> Result<bool, DiskError> {
        match self.kind(path)? {
            None => Ok(false),
            Some(Kind::Folder) => Ok(true),
            Some(Kind::File) => {
                Err(DiskError::new(Action::Open, path, std::io::ErrorKind::NotADirectory.into()))
            }
            Some(Kind::Other) => Err(self.not_plain(path)),
        }
    }

    fn not_plain(&self, path: &Path) -> DiskError {
        let error = self.0.stamp(path).err().unwrap_or_else(|| std::io::ErrorKind::Other.into());
        DiskError::new(Action::Open, path, error)
    }

    pub(crate) fn stamp(&self, path: &Path) -> Result<Stamp, DiskError> {
        self.0.stamp(path).map_err(|error| DiskError::new(Action::Read, path, error))
    }

    pub(crate) fn list(&self, folder: &Path) -> Result<Vec<Entry>, DiskError> {
        self.0.list(folder).map_err(|error| DiskError::new(Action::List, folder, error))
    }

    pub(crate) fn open(&self, path: &Path, access: Access) -> Result<OpenFile, DiskError> {
        let action = if access == Access::CreateNew { Action::Create } else { Action::Open };
        let file = self.0.open(path, access).map_err(|error| DiskError::new(action, path, error))?;
        Ok(OpenFile { file, path: path.to_owned() })
    }

    pub(crate) fn create_folder(&self, path: &Path) -> Result<(), DiskError> {
        self.0.create_folder(path).map_err(|error| DiskError::new(Action::Create, path, error))
    }

    /// Creates a folder unless it exists, and makes its name durable in either case.
    pub(crate) fn ensure_folder(&self, path: &Path) -> Result<(), DiskError> {
        match self.create_folder(path) {
            Err(error) if error.kind == DiskErrorKind::Exists => {
                self.has_folder(path)?;
            }
            outcome => outcome?,
        }
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.sync_folder(parent),
            _ => self.sync_folder(Path::new(".")),
        }
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.0.rename(from, to).map_err(|error| DiskError::new(Action::Rename, to, error))
    }

    pub(crate) fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        self.0.remove_file(path).map_err(|error| DiskError::new(Action::Remove, path, error))
    }

    pub(crate) fn remove_folder(&self, path: &Path) -> Result<(), DiskError> {
        self.0.remove_folder(path).map_err(|error| DiskError::new(Action::Remove, path, error))
    }

    pub(crate) fn sync_folder(&self, path: &Path) -> Result<(), DiskError> {
        self.0.sync_folder(path).map_err(|error| DiskError::new(Action::Sync, path, error))
    }

    pub(crate) fn sync_filesystem(&self, path: &Path) -> Result<(), DiskError> {
        self.0.sync_filesystem(path).map_err(|error| DiskError::new(Action::Sync, path, error))
    }

    pub(crate) fn holder_name(&self) -> String {
        self.0.holder_name()
    }

    /// Reads a whole file of at most [`FILE_BYTES_MAX`].
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.read_within(path, FILE_BYTES_MAX)
    }

    /// Reads a whole file, and refuses one with more than `limit` bytes.
    pub(crate) fn read_within(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        self.open(path, Access::Read)?.read_within(limit)
    }
}

/// An open file that remembers its path.
#[derive(Debug, Clone)]
pub(crate) struct OpenFile {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
}

impl OpenFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file with its new path after a folder above it was renamed.
    #[must_use]
    pub(crate) fn moved_to(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    pub(crate) fn stamp(&self) -> Result<Stamp, DiskError> {
        self.file.stamp().map_err(|error| self.error(Action::Read, error))
    }

    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(offset, buffer).map_err(|error| self.error(Action::Read, error))
    }

    pub(crate) fn identity(&self) -> Result<Option<Identity>, DiskError> {
        self.file.identity().map_err(|error| self.error(Action::Read, error))
    }

    /// Reads the whole file, and refuses one with more than `limit` bytes.
    pub(crate) fn read_within(&self, limit: u64) -> Result<Vec<u8>, DiskError> {
        let bytes = self.check_size(limit)?;
        self.read_range(0, bytes)
    }

    /// Returns the size of the file, unless it has more than `limit` bytes.
    pub(crate) fn check_size(&self, limit: u64) -> Result<u64, DiskError> {
        let bytes = self.stamp()?.bytes;
        if bytes > limit {
            let error = std::io::Error::other(format!("it has {bytes} bytes, the limit is {limit}"));
            return Err(self.error(Action::Read, error));
        }
        Ok(bytes)
    }

    /// Reads the bytes from `start` to `end`, or to the end of the file if that comes first.
    pub(crate) fn read_range(&self, start: u64, end: u64) -> Result<Vec<u8>, DiskError> {
        let mut bytes = Vec::new();
        let mut offset = start;
        while offset < end {
            let wanted = usize::try_from(end - offset).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            let filled = bytes.len();
            bytes.resize(filled + wanted, 0);
            let read = self.read_at(offset, bytes.get_mut(filled..).unwrap_or_default())?;
            bytes.truncate(filled + read);
            if read == 0 {
                break;
            }
            offset += u64::try_from(read).unwrap_or(u64::MAX);
        }
        Ok(bytes)
    }

    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(offset, bytes).map_err(|error| self.error(Action::Write, error))
    }

    pub(crate) fn truncate(&self, bytes: u64) -> Result<(), DiskError> {
        self.file.truncate(bytes).map_err(|error| self.error(Action::Truncate, error))
    }

    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        self.file.sync().map_err(|error| self.error(Action::Sync, error))
    }

    pub(crate) fn mark(&self) -> Result<Option<Vec<u8>>, DiskError> {
        self.file.mark().map_err(|error| self.error(Action::Read, error))
    }

    pub(crate) fn set_mark(&self, mark: &[u8]) -> Result<(), DiskError> {
        self.file.set_mark(mark).map_err(|error| self.error(Action::Write, error))
    }

    pub(crate) fn try_lock(&self) -> Result<LockOutcome, DiskError> {
        self.file.try_lock().map_err(|error| self.error(Action::Lock, error))
    }

    fn error(&self, action: Action, error: std::io::Error) -> DiskError {
        DiskError::new(action, &self.path, error)
    }
}
