//! Files that a command makes for a person. An existing file is replaced only if the person says so.

use std::io::Write as _;
use std::path::Path;

use crate::prelude::*;

/// The treatment of an existing file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    Refuse,
    Replace,
}

impl Existing {
    /// Reads the option `--force`.
    pub(crate) const fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Refuse }
    }
}

/// Whether a file may be executed as a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Plain,
    Program,
}

/// Refuses if one of the files exists and may not be replaced, before any of them is written.
pub(crate) fn refuse_existing<'a>(
    paths: impl IntoIterator<Item = &'a Path>,
    existing: Existing,
) -> Result<(), CliError> {
    // A link that leads nowhere is there, too.
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let mut found = paths.into_iter().filter(|path| existing == Existing::Refuse && is_there(path));
    match found.next() {
        Some(path) => {
            let message = format!("{} exists already, and nothing was written", path.display());
            Err(CliError::new(Code::File, message).with_hint(hint::FORCE))
        }
        None => Ok(()),
    }
}

/// Writes a whole file, and the folders above it. A crash leaves the old file or the new one, and perhaps a temporary file
/// next to it.
///
/// A pipe or a device takes the bytes as it is: there is nothing to replace.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: Mode, existing: Existing) -> Result<(), CliError> {
    let failed = |error| CliError::file("write", path, error);
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return std::fs::write(path, bytes).map_err(failed);
    }
    // The same command again finds its own result.
    let is_same = |found: std::fs::Metadata| found.is_file() && found.len() == bytes.len() as u64;
    if mode == Mode::Plain
        && path.symlink_metadata().is_ok_and(is_same)
        && std::fs::read(path).is_ok_and(|found| found == bytes)
    {
        return Ok(());
    }
    refuse_existing([path], existing)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| CliError::file("create", folder, error))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = write_synced(&temporary, bytes, mode).and_then(|()| match existing {
        // A link is refused where something has appeared meanwhile; a rename would replace it.
        Existing::Refuse => std::fs::hard_link(&temporary, path),
        Existing::Replace => std::fs::rename(&temporary, path),
    });
    // The rename has moved it away already.
    let _ = std::fs::remove_file(&temporary);
    written.map_err(failed)
}

fn write_synced(path: &Path, bytes: &[u8], mode: Mode) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    set_mode(&file, mode)?;
    file.sync_all()
}

/// Makes a file a program, if it is to be one.
#[cfg(unix)]
fn set_mode(file: &std::fs::File, mode: Mode) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    match mode {
        Mode::Plain => Ok(()),
        Mode::Program => file.set_permissions(std::fs::Permissions::from_mode(0o755)),
    }
}

#[cfg(not(unix))]
fn set_mode(_file: &std::fs::File, _mode: Mode) -> std::io::Result<()> {
    Ok(())
}
