//! Reading files below a folder that others can write to, never outside it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path};

/// The reasons why a file below a root cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfinedError {
    /// The file does not exist.
    #[error("no such file")]
    Missing,
    /// The path, or a symbolic link on it, leads out of the root.
    #[error("it leads out of the root")]
    Escapes,
    /// The path names a folder, a pipe or a device.
    #[error("it is not a plain file")]
    NotAFile,
    /// The file is too large.
    #[error("it has more than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read.
        limit: u64,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// Reads the file at `relative` below `root`, at most `limit` bytes of it.
///
/// The path must be relative and without `..`. A symbolic link may lead elsewhere below the root and nowhere else; on
/// Linux the kernel checks that in one call, so that no link can be swapped in between.
///
/// # Errors
/// [`ConfinedError`].
pub fn read_confined(root: &Path, relative: &Path, limit: u64) -> Result<Vec<u8>, ConfinedError> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(ConfinedError::Escapes);
    }
    let file = open(root, relative)?;
    if !file.metadata()?.is_file() {
        return Err(ConfinedError::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ConfinedError::TooLarge { limit });
    }
    Ok(bytes)
}

#[cfg(target_os = "linux")]
fn open(root: &Path, relative: &Path) -> Result<File, ConfinedError> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    let folder = match File::open(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ConfinedError::Missing),
        outcome => outcome?,
    };
    // A pipe without a writer must not hold the reader up.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(&folder, relative, flags, Mode::empty(), within) {
        Ok(file) => Ok(file.into()),
        Err(rustix::io::Errno::NOSYS) => open_checked(root, relative),
        Err(rustix::io::Errno::XDEV | rustix::io::Errno::LOOP) => Err(ConfinedError::Escapes),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Err(ConfinedError::Missing),
        Err(error) => Err(ConfinedError::Disk(error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn open(root: &Path, relative: &Path) -> Result<File, ConfinedError> {
    open_checked(root, relative)
}

/// Opens a file whose path, with all links followed, is below the root.
fn open_checked(root: &Path, relative: &Path) -> Result<File, ConfinedError> {
    let whole = |path: &Path| match path.canonicalize() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(ConfinedError::Missing)
        }
        outcome => Ok(outcome?),
    };
    let (root, path) = (whole(root)?, whole(&root.join(relative))?);
    if !path.starts_with(&root) {
        return Err(ConfinedError::Escapes);
    }
    if !path.symlink_metadata()?.is_file() {
        return Err(ConfinedError::NotAFile);
    }
    Ok(File::open(path)?)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_outside_the_root_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::fs::write(root.join("a/plain"), "p").unwrap();
        symlink("../../secret", root.join("a/out")).unwrap();
        symlink(folder.path().join("secret"), root.join("a/absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("plain", root.join("a/inner")).unwrap();
        for open in [open, open_checked] {
            let read = |path: &str| open(&root, Path::new(path)).map(|_| ());
            for outside in ["a/out", "a/absolute", "up/secret"] {
                assert!(matches!(read(outside), Err(ConfinedError::Escapes)), "{outside}");
            }
            assert!(matches!(read("a/none"), Err(ConfinedError::Missing)));
            assert!(read("a/plain").is_ok() && read("a/inner").is_ok());
        }
        let read = |path: &str, limit| read_confined(&root, Path::new(path), limit);
        for outside in ["../secret", "/etc/passwd", "a/../../secret"] {
            assert!(matches!(read(outside, 9), Err(ConfinedError::Escapes)), "{outside}");
        }
        assert!(matches!(read("a", 9), Err(ConfinedError::NotAFile)));
        assert_eq!(read("a/plain", 1).unwrap(), b"p");
        assert!(matches!(read("a/plain", 0), Err(ConfinedError::TooLarge { limit: 0 })));
    }
}
