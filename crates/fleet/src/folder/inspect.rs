//! The check of a queue's folder: everything in it that is not what a queue writes.

use std::path::Path;

use super::log_file::LogFile;
use crate::error::QueueError;

/// The files of a queue.
const FILES: [&str; 3] = ["lock", "log", "log.new"];

/// The number of foreign names that are listed. Somebody may have unpacked an archive there.
const NAMES_MAX: usize = 100;

/// Something in the folder of a queue that no queue writes. Displays with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderFinding {
    /// The queue cannot be used: its log, or a file it needs, is not what a queue wrote.
    Damage(String),
    /// A foreign file, which the queue does not read.
    Stray(String),
}

impl std::fmt::Display for FolderFinding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Damage(text) | Self::Stray(text)) = self;
        out.write_str(text)
    }
}

/// Lists what is wrong in the folder of a queue, each finding with its place; nothing is changed and no link is followed.
/// A folder that does not exist is a queue that nobody has used.
pub(super) fn inspect(folder: &Path) -> Vec<FolderFinding> {
    use FolderFinding::{Damage, Stray};
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    match std::fs::symlink_metadata(folder) {
        Ok(meta) if meta.is_dir() => {}
        Ok(meta) => return vec![Damage(format!("{name}: expected a folder, found {}", kind(&meta)))],
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![Damage(format!("{name}: cannot be read: {error}"))],
    }
    let mut found = Vec::new();
    for file in FILES {
        let path = folder.join(file);
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if !meta.is_file() => {
                found.push(Damage(format!("{name}/{file}: expected a plain file, found {}", kind(&meta))));
            }
            Ok(meta) if file == "lock" && meta.len() > 0 => {
                found.push(Stray(format!("{name}/lock: expected an empty file, found {} bytes", meta.len())));
            }
            Ok(_) if file == "log" => {
                let read = (LogFile { folder }).refresh(None);
                found.extend(read.err().map(|error| Damage(format!("{name}/log: {}", reason(&error)))));
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                found.push(Damage(format!("{name}/{file}: cannot be read: {error}")));
            }
            _ => {}
        }
    }
    let mut foreign: Vec<String> = match std::fs::read_dir(folder) {
        Ok(entries) => entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .filter(|entry| !FILES.contains(&entry.as_str()))
            .collect(),
        Err(error) => {
            found.push(Damage(format!("{name}: cannot be read: {error}")));
            Vec::new()
        }
    };
    foreign.sort();
    let more = foreign.len().saturating_sub(NAMES_MAX);
    let stray = |entry: &String| Stray(format!("{name}/{entry}: no queue writes a file of that name"));
    found.extend(foreign.iter().take(NAMES_MAX).map(stray));
    if more > 0 {
        found.push(Stray(format!("{name}: {more} more files that no queue writes")));
    }
    found
}

/// Says what an entry of a folder is that is no plain file.
fn kind(meta: &std::fs::Metadata) -> &'static str {
    let kind = meta.file_type();
    if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_file() {
        "a file"
    } else {
        "a pipe, a socket or a device"
    }
}

/// Says why a log cannot be read, without its path, which the finding names already.
fn reason(error: &QueueError) -> String {
    match error {
        QueueError::Damaged { line, reason, .. } => format!("line {line}: {reason}"),
        other => other.to_string(),
    }
}
