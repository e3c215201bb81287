//! The note that a run was made here.
//!
//! Whoever sends a store, in an archive or a checkout, chooses everything that is in its files. So the note names what no
//! archive brings along: the number and the time of creation that the file system gave the journal. A copy of the journal
//! has others, and a run that was copied counts as made elsewhere.

use super::FileStore;
use super::checked_disk::OpenFile;
use super::disk::Identity;
use super::layout::RunFolder;
use crate::{DiskError, DiskErrorKind, RunId, StoreError};

/// The most bytes of a note.
pub(super) const NOTE_BYTES_MAX: u64 = 128;

/// The origin of a run that is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeBy {
    /// This store: its program writes the first records.
    ThisStore,
    /// Somebody else: its records came from elsewhere.
    Another,
}

impl FileStore {
    /// Returns whether the note next to the journal is the one about this very journal.
    pub(super) fn has_note_of_making(&self, run: &RunId) -> Result<bool, StoreError> {
        let folder = self.existing(run)?;
        let note = match self.disk.read_within(&folder.made(), NOTE_BYTES_MAX) {
            Err(error) if error.kind == DiskErrorKind::Missing => return Ok(false),
            outcome => outcome?,
        };
        Ok(self.journal_file(run, &folder)?.identity()?.is_some_and(|identity| note == text(identity)))
    }

    /// Writes the note about a journal, where the file system can tell it from its copies.
    pub(super) fn note_made(
        journal: &OpenFile,
        folder: &RunFolder,
        write: impl FnOnce(&std::path::Path, &[u8]) -> Result<OpenFile, DiskError>,
    ) -> Result<Option<OpenFile>, DiskError> {
        let Some(identity) = journal.identity()? else { return Ok(None) };
        write(&folder.made(), &text(identity)).map(Some)
    }
}

/// Returns whether bytes have the form of a note, of whatever run.
pub(super) fn is_note(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n'));
    let words: Vec<&str> = text.map(|text| text.split(' ').collect()).unwrap_or_default();
    let is_number = |word: &str| {
        let digits = word.strip_prefix('-').unwrap_or(word);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    matches!(words.as_slice(), ["hence-made", "1", number, created] if is_number(number) && is_number(created))
}

fn text(Identity { number, created }: Identity) -> Vec<u8> {
    format!("hence-made 1 {number} {created}\n").into_bytes()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::testing::journal;
    use crate::{FileStore, NewRun, RunId, Store as _};

    #[test]
    fn a_run_was_made_here_only_if_this_journal_was_created_here() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open_or_create(folder.path().join("store")).unwrap();
        let id = |name: &str| RunId::new(name).unwrap();
        let new = |name: &str| NewRun { id: id(name), attachments: Vec::new(), lines: journal(2) };
        drop(store.create(new("own")).unwrap());
        drop(store.create_foreign(new("foreign")).unwrap());
        assert!(store.was_made_here(&id("own")).unwrap());
        assert!(!store.was_made_here(&id("foreign")).unwrap());
        assert!(store.was_made_here(&id("none")).is_err());
        // Opening, appending and moving the folder change nothing about it.
        drop(store.open(&id("own")).unwrap());
        let moved = folder.path().join("moved");
        std::fs::rename(folder.path().join("store"), &moved).unwrap();
        let store = FileStore::open(&moved).unwrap();
        assert!(store.was_made_here(&id("own")).unwrap());
        // Neither the note of another run nor a copy of everything makes a run one of this store.
        std::fs::copy(moved.join("runs/own/made"), moved.join("runs/foreign/made")).unwrap();
        assert!(!store.was_made_here(&id("foreign")).unwrap());
        let copy = moved.join("runs/copy");
        std::fs::create_dir(&copy).unwrap();
        for name in ["trace.ndjson", "made"] {
            std::fs::copy(moved.join("runs/own").join(name), copy.join(name)).unwrap();
        }
        assert!(!store.was_made_here(&id("copy")).unwrap());
        std::fs::remove_file(moved.join("runs/own/made")).unwrap();
        assert!(!store.was_made_here(&id("own")).unwrap());
    }
}
