//! Opening a run for writing: taking its lease and cutting its journal back to the last finished append.
//!
//! | the process dies | on disk |
//! |---|---|
//! | before the journal is cut | the journal as it was found |
//! | after it, before it is synced | the cut journal; after a power loss perhaps still the uncut one |
//! | before the note of the batch is cleared | the cut journal and a note that begins at its end, which has no effect |

use std::sync::Arc;

use super::FileStore;
use super::disk::Access;
use super::journal_end::{self, BatchNote, CLEARED};
use super::lease;
use super::writer::FileWriter;
use crate::{Damage, DiskErrorKind, Opened, RunId, StoreError};

impl FileStore {
    pub(super) fn open_run(&self, run: &RunId) -> Result<Opened, StoreError> {
        let folder = self.existing(run)?;
        let lease = lease::take(&self.disk, &folder)?
            .map_err(|holder| StoreError::Leased { run: run.clone(), holder })?;
        let damaged = |reason| StoreError::Damaged { run: run.clone(), reason };
        let journal = match self.disk.open(&folder.journal(), Access::Write) {
            Err(error) if error.kind == DiskErrorKind::Missing => return Err(damaged(Damage::NoJournal)),
            outcome => outcome?,
        };
        let notes = journal_end::read_notes(&self.disk, &folder, &journal)?;
        let end = journal_end::find(&journal, notes)?.map_err(damaged)?;
        let cut = end.cut();
        if cut.is_some() {
            journal.truncate(end.finished_bytes)?;
            journal.sync()?;
        }
        if is_obsolete(notes.mark, end.finished_bytes) {
            // The mark is removed before the file grows again: see `set_mark`.
            journal.set_mark(&[])?;
        }
        if is_obsolete(notes.file, end.finished_bytes) {
            let file = self.disk.open(&folder.batch(), Access::Write)?;
            file.write_at(0, &CLEARED)?;
            file.sync()?;
        }
        let writer = Box::new(FileWriter {
            run: run.clone(),
            disk: self.disk.clone(),
            layout: self.layout.clone(),
            folder,
            committer: self.committer.clone(),
            journal,
            journal_bytes: end.finished_bytes,
            head: end.head,
            batch: None,
            poison: None,
            lease: Arc::new(lease),
        });
        Ok(Opened { writer, cut })
    }
}

/// Returns whether a note reaches beyond the journal.
///
/// Its batch was cut and never comes back; a note that stayed would later count other records as part of it.
fn is_obsolete(note: Option<BatchNote>, journal_bytes: u64) -> bool {
    note.is_some_and(|note| note.end > journal_bytes)
}
