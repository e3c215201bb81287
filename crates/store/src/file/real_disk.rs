//! The file system of the machine.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::disk::{Access, Disk, DiskFile, Entry, Identity, Kind, LockOutcome, Stamp};

/// The extended attribute that holds a file's mark.
#[cfg(target_os = "linux")]
const MARK: &str = "user.hence.batch";

/// Longest mark. Short ones are stored in the inode itself.
#[cfg(target_os = "linux")]
const MARK_BYTES_MAX: usize = 64;

/// The file system below one folder.
///
/// Links, pipes and devices below the folder are refused: a store may come from an archive, and a link in it would let
/// its author choose which files of the reader are read, overwritten or removed. The folder itself may be a link.
#[derive(Debug)]
pub(crate) struct RealDisk {
    root: PathBuf,
}

/// A thing below the root that is neither a plain file nor a folder.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}, which a store never holds")]
pub(crate) struct NotPlain(&'static str);

impl NotPlain {
    fn error(found: &Metadata) -> io::Error {
        io::Error::other(Self(if found.is_symlink() { "a symbolic link" } else { "a pipe or a device" }))
    }
}

impl RealDisk {
    pub(crate) fn below(root: PathBuf) -> Self {
        Self { root }
    }

    /// Refuses a path that leads through a link below the root.
    fn check_folders(&self, path: &Path) -> io::Result<()> {
        let inner = path.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let mut folder = self.root.clone();
        for name in inner.parent().into_iter().flat_map(Path::components) {
            folder.push(name);
            let found = fs::symlink_metadata(&folder)?;
            if !found.is_dir() && !found.is_file() {
                return Err(NotPlain::error(&found));
            }
        }
        Ok(())
    }

    /// Returns what is at a path, and refuses anything but a plain file or a folder.
    fn look_at(&self, path: &Path) -> io::Result<Metadata> {
        self.check_folders(path)?;
        let found = if path == self.root { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
        if found.is_dir() || found.is_file() { Ok(found) } else { Err(NotPlain::error(&found)) }
    }
}

impl Disk for RealDisk {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        match self.look_at(path) {
            Ok(found) if found.is_dir() => Ok(Some(Kind::Folder)),
            Ok(_) => Ok(Some(Kind::File)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) if self.check_folders(path).is_ok() && fs::symlink_metadata(path).is_ok() => {
                Ok(Some(Kind::Other))
            }
            Err(error) => Err(error),
        }
    }

    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        self.look_at(path).map(|found| stamp_of(&found))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.look_at(folder)?;
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
        match self.look_at(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let mut options = OpenOptions::new();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.read(true).write(true),
            Access::WriteOrCreate => options.read(true).write(true).create(true).truncate(false),
            Access::CreateNew => options.read(true).write(true).create_new(true),
        };
        let file = owner_only(&mut options).open(path)?;
        // A folder opens for reading on some systems and fails only when it is read.
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !found.is_file() {
            return Err(NotPlain::error(&found));
        }
        Ok(Arc::new(RealFile(file)))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.check_folders(path)?;
        let mut builder = fs::DirBuilder::new();
        // Inputs and replies of runs are for their owner, whatever the mask of the shell allows.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check_folders(from)?;
        self.check_folders(to)?;
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.check_folders(path)?;
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.look_at(path)?;
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

/// Makes new files readable by their owner alone, and closes the gap between looking at a path and opening it: a link or
/// a pipe that is put there in between is neither followed nor waited for.
fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::OFlags;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.cast_signed());
    }
    options
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn stamp(&self) -> io::Result<Stamp> {
        self.0.metadata().map(|found| stamp_of(&found))
    }

    fn identity(&self) -> io::Result<Option<Identity>> {
        let found = self.0.metadata()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let number = 0;
        let identity = Identity { number, created: nanoseconds(found.created()) };
        Ok((identity != Identity { number: 0, created: 0 }).then_some(identity))
    }

    // The store never shares an open file between threads that read or write it, so moving its position is safe.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match (&self.0).seek(SeekFrom::Start(offset)) {
            // No file of this disk can be that long, so the place is after the end.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(0),
            outcome => outcome?,
        };
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
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt as _;
        let nanoseconds =
            found.ctime().checked_mul(1_000_000_000).and_then(|at| at.checked_add(found.ctime_nsec()));
        nanoseconds.and_then(|at| u64::try_from(at).ok()).unwrap_or(0)
    };
    #[cfg(not(unix))]
    let changed = 0;
    Stamp { bytes: found.len(), modified: nanoseconds(found.modified()), changed }
}

/// Returns a time of a file in nanoseconds, or 0 where the file system has none.
fn nanoseconds(time: io::Result<SystemTime>) -> u64 {
    let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}
