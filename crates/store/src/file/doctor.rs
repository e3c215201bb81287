//! Checking a folder and repairing it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hence_canon::Digest;
use hence_journal::LINE_BYTES_MAX;

use super::checked_disk::FILE_BYTES_MAX;
use super::disk::{Access, Kind, LockOutcome};
use super::layout::RunFolder;
use super::{FileStore, index, journal_end, lease, made};
use crate::doctor::References;
use crate::{
    AttachmentName, DiskError, DiskErrorKind, Doctor, Finding, Gravity, Lease, Repair, Repaired, Report,
    RunId, Store, StoreError,
};

/// The files of a run's folder that are not attachments.
const OWN_FILES: [&str; 5] = ["trace.ndjson", "lock", "id", "batch", "made"];

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
        report.findings.extend(catalog.strays.into_iter().map(|path| self.stray_run(path)));
        report.findings.extend(self.strange_entries()?);
        report.findings.extend(self.check_tombstones()?);
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
                Finding::StaleIndex { .. } | Finding::ForgedIndex => {}
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
            if let Some(misplaced) = self.misplaced_file(&path, entry.is_folder && is_file_name(&entry.name))
            {
                findings.push(misplaced);
            } else if entry.is_folder || !is_own && AttachmentName::new(&entry.name).is_err() {
                findings.push(Finding::Stray { path });
            } else if let Some(wrong) = self.wrong_note(folder, &path) {
                findings.push(wrong);
            } else if !is_own || path == folder.journal() {
                findings
                    .extend(self.collect_references(&path, references).err().map(|error| unreadable(&error)));
            }
        }
        findings
    }

    /// Judges the notes of the store next to a journal: where the run was made, and its id if that is long.
    fn wrong_note(&self, folder: &RunFolder, path: &Path) -> Option<Finding> {
        let path = path.to_owned();
        if path == folder.made() {
            return match self.disk.read_within(&path, made::NOTE_BYTES_MAX) {
                Ok(note) if made::is_note(&note) => None,
                Err(error) if error.kind == DiskErrorKind::Missing => None,
                _ => {
                    let reason =
                        "it is no note of a run that was made here, so the run counts as made elsewhere";
                    Some(Finding::WrongNote { path, reason: reason.to_owned() })
                }
            };
        }
        let has_long_id =
            folder.path().file_name().is_some_and(|name| name.to_string_lossy().starts_with("%%"));
        let is_needless = path == folder.id() && !has_long_id;
        is_needless.then_some(Finding::Stray { path })
    }

    /// Finds what no list of runs shows: journals under names that are not those of runs, and links, pipes and devices.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the folder cannot be listed.
    pub(super) fn misplaced_entries(&self) -> Result<Vec<Finding>, StoreError> {
        let strays = self.catalog()?.strays.into_iter().map(|path| self.stray_run(path));
        let found = strays.chain(self.strange_entries()?).chain(self.check_tombstones()?);
        let found = found.chain(self.wrong_tombstones()?);
        Ok(found.filter(|finding| finding.gravity() == Gravity::Damage).collect())
    }

    /// Finds what a run's folder cannot hold: links, pipes, devices, folders in place of files, files that are too large.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Disk`].
    pub(super) fn misplaced_entries_of(&self, run: &RunId) -> Result<Vec<Finding>, StoreError> {
        let folder = self.existing(run)?;
        let mut findings = Vec::new();
        for entry in self.disk.list(folder.path())? {
            let is_for_file = entry.is_folder && is_file_name(&entry.name);
            findings.extend(self.misplaced_file(&folder.path().join(&entry.name), is_for_file));
        }
        Ok(findings)
    }

    /// Judges an entry of a run's folder by its kind and size alone.
    pub(super) fn misplaced_file(&self, path: &Path, is_folder_for_file: bool) -> Option<Finding> {
        if is_folder_for_file {
            return self.disk.has_file(path).err().map(|error| unreadable(&error));
        }
        let is_journal = path.file_name().is_some_and(|name| name == OWN_FILES[0]);
        match self.disk.stamp(path) {
            Err(error) if error.kind == DiskErrorKind::Missing => None,
            Err(error) => Some(unreadable(&error)),
            Ok(stamp) if stamp.bytes > FILE_BYTES_MAX && !is_journal => {
                let reason = format!("it has {} bytes, the limit is {FILE_BYTES_MAX}", stamp.bytes);
                Some(Finding::Unreadable { path: path.to_owned(), reason })
            }
            Ok(_) => None,
        }
    }

    /// Judges an entry among the runs whose name is not that of a run. A run under such a name is found by nobody.
    fn stray_run(&self, path: PathBuf) -> Finding {
        if let Some(strange) = self.strange(&path) {
            return strange;
        }
        let holds_journal = self.disk.kind(&RunFolder(path.clone()).journal()).ok().flatten().is_some();
        if holds_journal {
            let reason = "it holds a journal, and its name is not that of a run".to_owned();
            return Finding::Unreadable { path, reason };
        }
        Finding::Stray { path }
    }

    /// Returns the finding about a link, a pipe or a device.
    fn strange(&self, path: &Path) -> Option<Finding> {
        let is_strange = matches!(self.disk.kind(path), Ok(Some(Kind::Other)));
        is_strange.then(|| self.disk.stamp(path).err()).flatten().map(|error| unreadable(&error))
    }

    /// Finds links, pipes and devices in the folder of the store itself, and a file in the place of the tombstones' folder.
    fn strange_entries(&self) -> Result<Vec<Finding>, StoreError> {
        let root = self.layout.root();
        let entries = self.disk.list(root)?;
        let strange = entries.iter().filter_map(|entry| self.strange(&root.join(&entry.name)));
        // The other folders of a store are read anyway, which reports what is wrong with them.
        let removed = self.layout.removed();
        let is_file = self.disk.kind(&removed)? == Some(Kind::File);
        let misplaced = is_file.then(|| self.disk.has_folder(&removed).err()).flatten();
        Ok(strange.chain(misplaced.map(|error| unreadable(&error))).collect())
    }

    fn collect_references(&self, path: &Path, references: &mut References) -> Result<(), DiskError> {
        let file = self.disk.open(path, Access::Read)?;
        // A journal may have any size, but no line of it may: what follows such a line belongs to no record.
        let is_journal = path.file_name().is_some_and(|name| name == OWN_FILES[0]);
        if !is_journal {
            file.check_size(FILE_BYTES_MAX)?;
        }
        let mut chunk = vec![0; CHUNK_BYTES];
        let (mut offset, mut line_bytes) = (0, 0);
        loop {
            let read = if line_bytes > LINE_BYTES_MAX { 0 } else { file.read_at(offset, &mut chunk)? };
            let line_feed = memchr::memrchr(b'\n', chunk.get(..read).unwrap_or_default());
            line_bytes = line_feed.map_or(line_bytes + read, |at| read - at - 1);
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
            if let Some(strange) = self.strange(&folder) {
                report.findings.push(strange);
                continue;
            }
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

    /// Compares the index with the journals. One that is out of date says so by the stamps in it; one whose stamps fit and
    /// whose heads do not was written by somebody else.
    fn check_index(&self) -> Result<Option<Finding>, StoreError> {
        let (_, current) = self.summarize_all(&BTreeMap::new())?;
        // Cached views are opaque to the store; `wrong_views` checks them.
        let known = index::read(&self.disk, &self.layout).map(index::without_views);
        let reason = match known {
            Ok(known) if known == current => return Ok(None),
            // A store that was never listed has no index.
            Err(_) if self.disk.kind(&self.layout.index())?.is_none() => {
                return Ok(None);
            }
            Ok(known) => {
                let is_wrong = |(run, cached): (&RunId, &index::Cached)| {
                    current.get(run).is_some_and(|now| now.stamp == cached.stamp && now != cached)
                };
                if known.iter().any(is_wrong) {
                    return Ok(Some(Finding::ForgedIndex));
                }
                "it does not match the journals".to_owned()
            }
            Err(reason) => reason,
        };
        Ok(Some(Finding::StaleIndex { reason }))
    }
}

/// Returns whether a name in a run's folder is that of a file: one of the store's own, a cached view, a document or a log.
fn is_file_name(name: &str) -> bool {
    OWN_FILES.contains(&name)
        || name == super::stored_view::VIEW_FILE
        || [".json", ".ndjson"].iter().any(|end| name.ends_with(end))
}

fn unreadable(error: &DiskError) -> Finding {
    Finding::Unreadable { path: error.path.clone(), reason: error.to_string() }
}
