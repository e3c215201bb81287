//! A scratch folder for commands, removed afterwards.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use super::pipeline::Places;
use crate::code::Code;
use crate::error::CliError;

/// The maximum size of a copy into a scratch folder: enough for a checkout, not for a disk.
pub(super) const COPIED_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The maximum number of copied files.
pub(super) const COPIED_FILES_MAX: usize = 100_000;

/// The number of names to try when one is taken.
const NAMES_TRIED: u32 = 1000;

/// A scratch folder: the working folder and the home folder of commands.
pub(super) struct Scratch {
    root: PathBuf,
}

/// The remaining part of the limits.
struct Room {
    bytes: u64,
    files: usize,
}

impl Scratch {
    /// Makes a scratch folder that only its owner may read, with a copy of a folder in it.
    pub(super) fn new(with: Option<&Path>) -> Result<Self, CliError> {
        let scratch = Self { root: fresh()? };
        for name in ["work", "home"] {
            let path = scratch.root.join(name);
            fs::create_dir(&path).map_err(|error| failed("make", &path, error))?;
        }
        if let Some(source) = with {
            let source = fs::canonicalize(source).map_err(|error| CliError::file("open", source, error))?;
            if !source.is_dir() {
                let message = format!("expected a folder, found a file: {}", source.display());
                return Err(CliError::new(Code::File, message));
            }
            let mut room = Room { bytes: COPIED_BYTES_MAX, files: COPIED_FILES_MAX };
            copy(&source, &scratch.root.join("work"), &scratch.root, &mut room)?;
        }
        Ok(scratch)
    }

    /// Returns the folders of commands, as the system names them.
    pub(super) fn places(&self) -> Places {
        let root = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        Places { home: root.join("home"), root }
    }

    /// Returns a folder inside the scratch folder; a path that leads out of it is refused.
    pub(super) fn inside(&self, relative: Option<&str>) -> Result<PathBuf, String> {
        let mut path = self.root.join("work");
        for part in Path::new(relative.unwrap_or(".")).components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => path.push(name),
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err("its working directory lies outside the scratch folder".to_owned());
                }
            }
        }
        // No links were copied, but an earlier command may have made one.
        let real = fs::canonicalize(&path).ok().filter(|real| real.is_dir());
        let root = fs::canonicalize(self.root.join("work")).ok();
        match (real, root) {
            (Some(real), Some(root)) if real.starts_with(&root) => Ok(real),
            _ => Err("its working directory is not in the scratch folder; --with copies a folder".to_owned()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that cannot be removed stay in the folder for temporary files; the caller's files are not affected.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn fresh() -> Result<PathBuf, CliError> {
    let base = std::env::temp_dir();
    let mut last = None;
    for number in 0..NAMES_TRIED {
        let path = base.join(format!("hence-scratch-{}-{number}", std::process::id()));
        // Creating fails when the name is in use: a folder that another user prepared is never used.
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return fs::canonicalize(&path).map_err(|error| failed("open", &path, error)),
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into());
    Err(failed("make", &base, error))
}

/// Copies files and folders; links and devices are left out, because they lead outside.
fn copy(from: &Path, to: &Path, scratch: &Path, room: &mut Room) -> Result<(), CliError> {
    let entries = fs::read_dir(from).map_err(|error| CliError::file("read", from, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| CliError::file("read", from, error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| CliError::file("read", &source, error))?;
        if kind.is_dir() && source != scratch {
            fs::create_dir(&target).map_err(|error| failed("make", &target, error))?;
            copy(&source, &target, scratch, room)?;
        } else if kind.is_file() {
            let bytes = entry.metadata().map_err(|error| CliError::file("read", &source, error))?.len();
            room.take(bytes)?;
            fs::copy(&source, &target).map_err(|error| failed("copy", &source, error))?;
        }
    }
    Ok(())
}

impl Room {
    fn take(&mut self, bytes: u64) -> Result<(), CliError> {
        let full = |message: String| CliError::new(Code::Scratch, message);
        self.files = self.files.checked_sub(1).ok_or_else(|| {
            full(format!("the folder has more than {COPIED_FILES_MAX} files, the limit of a copy"))
        })?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| {
            full(format!("the folder has more than {COPIED_BYTES_MAX} bytes, the limit of a copy"))
        })?;
        Ok(())
    }
}

fn failed(action: &str, path: &Path, error: std::io::Error) -> CliError {
    CliError::at(Code::Scratch, format_args!("cannot {action} {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_ends_at_its_limits() {
        let mut room = Room { bytes: 10, files: 2 };
        assert!(room.take(10).is_ok());
        assert!(room.take(1).is_err());
        let mut room = Room { bytes: 10, files: 1 };
        assert!(room.take(1).is_ok() && room.take(1).is_err());
    }

    #[test]
    fn a_scratch_folder_holds_a_copy_without_links_and_is_removed() {
        let source = tempfile::tempdir().unwrap();
        fs::create_dir(source.path().join("sub")).unwrap();
        fs::write(source.path().join("sub/a"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", source.path().join("etc")).unwrap();
        let scratch = Scratch::new(Some(source.path())).unwrap();
        let inside = scratch.inside(Some("./sub")).unwrap();
        assert_eq!(fs::read_to_string(inside.join("a")).unwrap(), "x");
        assert!(!scratch.root.join("work/etc").exists());
        for outside in ["..", "/etc", "sub/../../x", "nowhere"] {
            assert!(scratch.inside(Some(outside)).is_err(), "{outside}");
        }
        std::os::unix::fs::symlink("/etc", scratch.root.join("work/later")).unwrap();
        assert!(scratch.inside(Some("later")).is_err());
        let root = scratch.root.clone();
        drop(scratch);
        assert!(!root.exists());
    }
}
