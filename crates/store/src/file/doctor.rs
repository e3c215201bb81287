//! Checking a folder and repairing it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hence_canon::Digest;

use super::disk::{Access, Kind, LockOutcome};
use super::layout::RunFolder;
use super::{FileStore, index, journal_end, lease};
use crate::doctor::References;
use crate::{
    AttachmentName, DiskError, DiskErrorKind, Doctor, Finding, Lease, Repair, Repaired, Report, RunId, Store,
    StoreError,
};

/// The files of a run's folder that are not attachments.
const OWN_FILES: [&str; 4] = ["trace.ndjson", "lock", "id", "batch"];

/// The bytes read at once in search of references.
const CHUNK_BYTES: usize = 256 * 1024;

impl Doctor for FileStore {
    fn check(&self) -> Result<Report, StoreError> {
        let mut report = Report::default();
        let mut references = References::default();
        let catalog = self.catalog()?;
        for (run, folder) in &catalog.runs {
            report.runs += 1;
            let finding = self.check_run(run, folder).unwrap_or_else(|error| Some(unreadable(&error)));
            report.findings.extend(finding);
            report.findings.extend(self.check_run_files(folder, &mut references));
        }
        report.findings.extend(catalog.strays.into_iter().map(|path| Finding::Stray { path }));
        self.check_blobs(&references, &mut report)?;
        let orphans = self.orphans()?.into_iter();
        report.findings.extend(orphans.map(|path| Finding::OrphanTemporary { path }));
        report.findings.extend(self.check_index()?);
        Ok(report)
    }

    fn repair(&self) -> Result<Repaired, StoreError> {
        let mut repaired = Repaired::default();
        for finding in self.check()?.findings {
            match finding {
                Finding::UnfinishedAppend { run, .. } => match self.open(&run) {
                    Ok(opened) => repaired.done.extend(opened.cut.map(|cut| Repair::Cut { run, cut })),
                    // Another process opened the run in the meantime, and has cut it.
                    Err(StoreError::Leased { run, holder }) => {
                        repaired.left.push(Finding::RunInUse { run, holder });
                    }
                    Err(error) => return Err(error),
                },
                Finding::OrphanTemporary { path } => {
                    self.remove_orphan(&path)?;
                    repaired.done.push(Repair::Removed { path });
                }
                // Rebuilt below, after the other repairs.
                Finding::StaleIndex { .. } => {}
                left => repaired.left.push(left),
            }
        }
        let (summaries, current) = self.summarize_all(&BTreeMap::new())?;
        self.write_index(&current)?;
        repaired.done.push(Repair::IndexRebuilt { runs: u64::try_from(summaries.len()).unwrap_or(u64::MAX) });
        Ok(repaired)
    }
}

impl FileStore {
    /// Checks the end of a run's journal, unless the run is being written.
    fn check_run(&self, run: &RunId, folder: &RunFolder) -> Result<Option<Finding>, DiskError> {
        let run = run.clone();
        if let Lease::Held(holder) = lease::probe(&self.disk, folder)? {
            return Ok(Some(Finding::RunInUse { run, holder }));
        }
        let journal = match self.disk.open(&folder.journal(), Access::Read) {
            Err(error) if error.kind == DiskErrorKind::Missing => {
                return Ok(Some(Finding::DamagedRun { run, reason: crate::Damage::NoJournal }));
            }
            outcome => outcome?,
        };
        Ok(match journal_end::find(&journal, journal_end::read_notes(&self.disk, folder, &journal)?)? {
            Ok(end) => end.cut().map(|cut| Finding::UnfinishedAppend { run, cut }),
            Err(reason) => Some(Finding::DamagedRun { run, reason }),
        })
    }

    /// Searches a run's files for references and for files that do not belong there.
    fn check_run_files(&self, folder: &RunFolder, references: &mut References) -> Vec<Finding> {
        let entries = match self.disk.list(folder.path()) {
            Ok(entries) => entries,
            Err(error) => return vec![unreadable(&error)],
        };
        let mut findings = Vec::new();
        for entry in entries {
            let path = folder.path().join(&entry.name);
            let is_own = OWN_FILES.contains(&entry.name.as_str());
            if entry.is_folder || !is_own && AttachmentName::new(&entry.name).is_err() {
                findings.push(Finding::Stray { path });
            } else if !is_own || path == folder.journal() {
                findings
                    .extend(self.collect_references(&path, references).err().map(|error| unreadable(&error)));
            }
        }
        findings
    }

    fn collect_references(&self, path: &Path, references: &mut References) -> Result<(), DiskError> {
        let file = self.disk.open(path, Access::Read)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut offset = 0;
        loop {
            let read = file.read_at(offset, &mut chunk)?;
            if read == 0 {
                references.finish();
                return Ok(());
            }
            references.read(chunk.get(..read).unwrap_or_default());
            offset += u64::try_from(read).unwrap_or(u64::MAX);
        }
    }

    /// Reads and hashes every blob.
    fn check_blobs(&self, references: &References, report: &mut Report) -> Result<(), StoreError> {
        let blobs = self.layout.blobs();
        if !self.disk.has_folder(&blobs)? {
            return Ok(());
        }
        // A large record may be a blob itself that references others.
        let (mut nested, mut unnamed) = (References::default(), Vec::new());
        for shelf in self.disk.list(&blobs)? {
            let folder = blobs.join(&shelf.name);
            if !shelf.is_folder {
                report.findings.push(Finding::Stray { path: folder });
                continue;
            }
            for entry in self.disk.list(&folder)? {
                let path = folder.join(&entry.name);
                let digest = Digest::from_hex(format!("{}{}", shelf.name, entry.name).as_bytes());
                let digest = digest.filter(|_| shelf.name.len() == 2 && !entry.is_folder);
                let Some(digest) = digest else {
                    report.findings.push(Finding::Stray { path });
                    continue;
                };
                report.blobs += 1;
                let bytes = match self.read_blob(&digest) {
                    Ok(bytes) => {
                        if references.contains(&digest) {
                            nested.read(&bytes);
                            nested.finish();
                        }
                        bytes.len()
                    }
                    Err(StoreError::BlobCorrupt { digest, found, .. }) => {
                        report.findings.push(Finding::CorruptBlob { digest, found });
                        continue;
                    }
                    Err(error) => {
                        report.findings.push(Finding::Unreadable { path, reason: error.to_string() });
                        continue;
                    }
                };
                if !references.contains(&digest) {
                    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                    unnamed.push((digest, bytes));
                }
            }
        }
        unnamed.retain(|(digest, _)| !nested.contains(digest));
        let unnamed = unnamed.into_iter();
        report.findings.extend(unnamed.map(|(digest, bytes)| Finding::UnreferencedBlob { digest, bytes }));
        Ok(())
    }

    /// Lists the temporary files and folders of interrupted writers.
    fn orphans(&self) -> Result<Vec<PathBuf>, StoreError> {
        let folder = self.layout.temporary();
        if !self.disk.has_folder(&folder)? {
            return Ok(Vec::new());
        }
        let mut orphans = Vec::new();
        for entry in self.disk.list(&folder)? {
            let path = folder.join(&entry.name);
            let lock = if entry.is_folder { RunFolder(path.clone()).lock() } else { path.clone() };
            let is_held = match self.disk.open(&lock, Access::Read) {
                Ok(file) => file.try_lock()? == LockOutcome::HeldElsewhere,
                // A folder without a lock file is an orphan; a file that is gone by now is harmless.
                Err(error) if error.kind == DiskErrorKind::Missing => false,
                // No writer makes a link here; removing it removes nothing else.
                Err(error) if matches!(error.kind, DiskErrorKind::NotPlain(_)) => false,
                Err(error) => return Err(error.into()),
            };
            if !is_held {
                orphans.push(path);
            }
        }
        Ok(orphans)
    }

    fn remove_orphan(&self, path: &Path) -> Result<(), StoreError> {
        match self.disk.kind(path)? {
            None => {}
            Some(Kind::Folder) => self.disk.remove_folder(path)?,
            Some(Kind::File | Kind::Other) => self.disk.remove_file(path)?,
        }
        Ok(())
    }

    /// Compares the index with the journals.
    fn check_index(&self) -> Result<Option<Finding>, StoreError> {
        let (_, current) = self.summarize_all(&BTreeMap::new())?;
        let reason = match index::read(&self.disk, &self.layout) {
            Ok(known) if known == current => return Ok(None),
            // A store that was never listed has no index.
            Err(_) if current.is_empty() && self.disk.kind(&self.layout.index())?.is_none() => {
                return Ok(None);
            }
            Ok(_) => "it does not match the journals".to_owned(),
            Err(reason) => reason,
        };
        Ok(Some(Finding::StaleIndex { reason }))
    }
}

fn unreadable(error: &DiskError) -> Finding {
    Finding::Unreadable { path: error.path.clone(), reason: error.to_string() }
}
