//! The list of runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hence_canon::Digest;

use super::FileStore;
use super::folder_name::{self, Decoded};
use super::index::{self, Cached};
use super::layout::RunFolder;
use super::{journal_end, temporary};
use crate::summary::header_of;
use crate::{
    Condition, Damage, DiskError, Durability, RunId, RunSummary, SUMMARY_HEADER_BYTES_MAX, StoreError,
};

/// The most bytes of a file `id`.
const ID_BYTES_MAX: u64 = 4096;

/// The runs in a folder, in the order of their ids, and everything else next to them.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) runs: Vec<(RunId, RunFolder)>,
    pub(super) strays: Vec<PathBuf>,
}

impl FileStore {
    /// Lists the runs by the names of their folders, without looking into journals.
    pub(super) fn catalog(&self) -> Result<Catalog, StoreError> {
        let mut catalog = Catalog::default();
        let runs = self.layout.runs();
        if !self.disk.has_folder(&runs)? {
            return Ok(catalog);
        }
        for entry in self.disk.list(&runs)? {
            let path = runs.join(&entry.name);
            let folder = RunFolder(path.clone());
            let run = match folder_name::decode(&entry.name) {
                Some(Decoded::Plain(run)) if entry.is_folder => Some(run),
                Some(Decoded::Hashed(digest)) if entry.is_folder => self.long_id(&folder, &digest),
                _ => None,
            };
            match run {
                Some(run) => catalog.runs.push((run, folder)),
                None => catalog.strays.push(path),
            }
        }
        catalog.runs.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(catalog)
    }

    /// Reads the id of a run whose folder is named by digest, if it matches.
    fn long_id(&self, folder: &RunFolder, digest: &Digest) -> Option<RunId> {
        let bytes = self.disk.read_within(&folder.id(), ID_BYTES_MAX).ok()?;
        let run = RunId::new(str::from_utf8(&bytes).ok()?).ok()?;
        (Digest::of(&bytes) == *digest).then_some(run)
    }

    /// Lists the runs, using index entries that are still valid, and rewrites the index when some are not.
    pub(super) fn list_runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let known = index::read(&self.disk, &self.layout).unwrap_or_default();
        let (summaries, current) = self.summarize_all(&known)?;
        if current != known && self.heals_index {
            // The list is complete even if the index cannot be written, as on a read-only disk.
            let _ = self.write_index(&current);
        }
        Ok(summaries)
    }

    /// Summarizes every run, using the entries of `known` that are still valid, and returns the entries of a new index.
    pub(super) fn summarize_all(
        &self,
        known: &BTreeMap<RunId, Cached>,
    ) -> Result<(Vec<RunSummary>, BTreeMap<RunId, Cached>), StoreError> {
        let mut summaries = Vec::new();
        let mut current = BTreeMap::new();
        for (run, folder) in self.catalog()?.runs {
            let stamp = self.disk.stamp(&folder.journal()).ok();
            if let (Some(stamp), Some(cached)) = (stamp, known.get(&run))
                && cached.stamp == stamp
            {
                summaries.push(cached.summary(&run));
                current.insert(run, cached.clone());
                continue;
            }
            let summary = self.summarize(&run, &folder);
            if let (Some(stamp), Condition::Whole { head }) = (stamp, &summary.condition)
                && stamp.bytes == summary.journal_bytes
            {
                let header = summary.header.clone();
                current.insert(run, Cached { stamp, head: *head, header, view: None });
            }
            summaries.push(summary);
        }
        Ok((summaries, current))
    }

    /// Summarizes a run from its journal. A journal that cannot be read counts as damaged, so that it does not hide the others.
    pub(super) fn summarize(&self, run: &RunId, folder: &RunFolder) -> RunSummary {
        let damage = match self.summarize_readable(run, folder) {
            Ok(summary) => return summary,
            Err(StoreError::Damaged { reason, .. }) => reason,
            Err(error) if error.is_refused_by_the_system() => Damage::Refused(error.to_string()),
            Err(error) => Damage::Unreadable(error.to_string()),
        };
        RunSummary { run: run.clone(), condition: Condition::Damaged(damage), journal_bytes: 0, header: None }
    }

    fn summarize_readable(&self, run: &RunId, folder: &RunFolder) -> Result<RunSummary, StoreError> {
        let journal = self.journal_file(run, folder)?;
        let start = u64::try_from(SUMMARY_HEADER_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let header = header_of(&journal.read_range(0, start)?);
        let found = journal_end::find(&journal, journal_end::read_notes(&self.disk, folder, &journal)?)?;
        let (condition, journal_bytes) = match found {
            Ok(end) => (end.condition(), end.file_bytes),
            Err(damage) => (Condition::Damaged(damage), journal.stamp()?.bytes),
        };
        Ok(RunSummary { run: run.clone(), condition, journal_bytes, header })
    }

    pub(super) fn write_index(&self, entries: &BTreeMap<RunId, Cached>) -> Result<(), DiskError> {
        let bytes = index::encode(entries);
        temporary::replace(&self.disk, &self.layout, &self.layout.index(), &bytes, Durability::Buffered)
    }
}
