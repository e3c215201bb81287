//! The file system of the machine.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::disk::{Access, Disk, DiskFile, Entry, Kind, LockOutcome, Stamp};

/// The extended attribute that holds a file's mark.
#[cfg(target_os = "linux")]
const MARK: &str = "user.hence.batch";

/// Longest mark. Short ones are stored in the inode itself.
#[cfg(target_os = "linux")]
const MARK_BYTES_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(Some(Kind::Folder)),
            Ok(found) if found.is_file() => Ok(Some(Kind::File)),
            Ok(_) => Ok(Some(Kind::Other)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        fs::metadata(path).map(|found| stamp_of(&found))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = fs::read_dir(folder)?
            .map(|entry| {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                Ok(Entry { name, is_folder: entry.file_type()?.is_dir() })
            })
            .collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        Ok(entries)
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.read(true).write(true),
            Access::WriteOrCreate => options.read(true).write(true).create(true).truncate(false),
            Access::CreateNew => options.read(true).write(true).create_new(true),
        };
        let file = options.open(path)?;
        // A folder opens for reading on some systems and fails only when it is read.
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Arc::new(RealFile(file)))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    #[cfg(unix)]
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    // Elsewhere a folder cannot be opened, and the file system orders names by itself.
    #[cfg(not(unix))]
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(path)?)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_filesystem(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn holder_name(&self) -> String {
        format!("process {}", std::process::id())
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn stamp(&self) -> io::Result<Stamp> {
        self.0.metadata().map(|found| stamp_of(&found))
    }

    // The store never shares an open file between threads that read or write it, so moving its position is safe.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.0).seek(SeekFrom::Start(offset))?;
        loop {
            match (&self.0).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    #[cfg(not(unix))]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write;
        (&self.0).seek(SeekFrom::Start(offset))?;
        (&self.0).write_all(bytes)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        use rustix::io::Errno;
        let mut mark = vec![0; MARK_BYTES_MAX];
        match rustix::fs::fgetxattr(&self.0, MARK, mark.as_mut_slice()) {
            Ok(length) => {
                mark.truncate(length);
                Ok(Some(mark))
            }
            // A longer one is not ours.
            Err(Errno::NODATA | Errno::RANGE | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(target_os = "linux")]
    fn set_mark(&self, mark: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::fsetxattr(&self.0, MARK, mark, rustix::fs::XattrFlags::empty())?)
    }

    #[cfg(not(target_os = "linux"))]
    fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    #[cfg(not(target_os = "linux"))]
    fn set_mark(&self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn try_lock(&self) -> io::Result<LockOutcome> {
        match self.0.try_lock() {
            Ok(()) => Ok(LockOutcome::Taken),
            Err(TryLockError::WouldBlock) => Ok(LockOutcome::HeldElsewhere),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn stamp_of(found: &Metadata) -> Stamp {
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    Stamp { bytes: found.len(), modified }
}
