//! `hence store copy`: copies the runs of a store to another one, of the same kind or another.
//!
//! | the process dies | in the target |
//! |---|---|
//! | while large values are stored | large values that no run refers to yet |
//! | before a run is created | nothing of the run |
//! | after it, before its last records are appended | the run with a beginning of its journal, which is a valid chain |
//! | later | the whole run |
//!
//! The same command continues: it appends what is missing and leaves what is there.

use std::collections::BTreeSet;

use hence_canon::Digest;
use hence_store::{
    AttachmentName, Condition, Durability, Lease, NewRun, RunId, RunSummary, RunWriter, StoreError,
    StoreHandle, named_blobs,
};

use crate::args::store::StoreCopyArgs;
use crate::bundle::is_local;
use crate::commands::review::REVIEWS;
use crate::interactive::SCOPES;
use crate::kind::whole_records;
use crate::measured::state_creation;
use crate::prelude::*;
use crate::progress::Progress;

/// The most bytes of a journal that are appended at once.
const PART_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A copied store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CopyReport {
    /// The store that was copied.
    from: String,
    /// The store it was copied to.
    to: String,
    /// Whether everything of the first store is in the second.
    complete: bool,
    /// The runs that were copied as a whole or in part; reviews and shared scopes count as runs.
    copied: u64,
    /// The runs that were there already with the same bytes.
    already_there: u64,
    /// The large values that were copied.
    blobs: u64,
    /// The tombstones of removed runs that are there now.
    tombstones: u64,
    /// The records of the copied runs.
    records: u64,
    /// The runs that were left out, each with the reason.
    left_out: Vec<LeftOut>,
}

/// A run that was left out.
#[derive(Serialize, JsonSchema)]
struct LeftOut {
    /// The run, with the section it is in, if it is in one.
    run: String,
    /// The reason.
    reason: String,
}

impl Text for CopyReport {
    fn text(&self) -> String {
        let mut rows = vec![
            ("from", escape(&self.from)),
            ("to", escape(&self.to)),
            ("copied", format!("{} ({})", counted(self.copied, "run"), counted(self.records, "record"))),
            ("there", counted(self.already_there, "run")),
            ("values", counted(self.blobs, "large value")),
        ];
        rows.extend((self.tombstones > 0).then(|| ("removed", counted(self.tombstones, "tombstone"))));
        rows.extend(
            self.left_out.iter().map(|left| ("left out", escape(&format!("{}: {}", left.run, left.reason)))),
        );
        let end = if self.complete {
            "everything is there; each run was compared byte for byte"
        } else {
            "not everything is there"
        };
        rows.push(("result", end.to_owned()));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &StoreCopyArgs) -> Result<Exit, CliError> {
    let from = args.from.open()?.only_looked_at();
    if args.from == args.to {
        let message = format!("{} would be copied onto itself", args.from);
        return Err(CliError::new(Code::Argument, message).with_hint(hint::OTHER_STORE));
    }
    let to = args.to.open_or_create()?;
    let mut report = CopyReport {
        from: args.from.to_string(),
        to: args.to.to_string(),
        complete: true,
        copied: 0,
        already_there: 0,
        blobs: 0,
        tombstones: 0,
        records: 0,
        left_out: Vec::new(),
    };
    copy_section(context, &from, &to, "", &mut report)?;
    for section in [SCOPES, REVIEWS] {
        if let Some(from) = from.within(section)? {
            copy_section(context, &from, &to.within_or_new(section)?, section, &mut report)?;
        }
    }
    report.complete = report.left_out.is_empty();
    context.print(&report)?;
    Ok(if report.complete { Exit::Yes } else { Exit::Partial })
}

/// Copies the runs and tombstones of one section.
fn copy_section(
    context: &Context,
    from: &StoreHandle,
    to: &StoreHandle,
    section: &str,
    report: &mut CopyReport,
) -> Result<(), CliError> {
    let runs = from.list()?;
    let mut progress = Progress::new(context, "runs copied", runs.len());
    for summary in runs {
        let name = match section {
            "" => summary.run.as_str().to_owned(),
            section => format!("{section}/{}", summary.run),
        };
        match copy_run(from, to, &summary, report)? {
            Copied::Now(records) => {
                report.copied += 1;
                report.records += records;
            }
            Copied::Before => report.already_there += 1,
            Copied::Not(reason) => report.left_out.push(LeftOut { run: name, reason }),
        }
        progress.step();
    }
    for run in from.tombstones()? {
        if let Some(stone) = from.tombstone(&run)? {
            to.keep_tombstone(&run, &stone)?;
            report.tombstones += 1;
        }
    }
    Ok(())
}

/// The end of copying one run.
enum Copied {
    /// It was copied, wholly or the records that were missing.
    Now(u64),
    /// It was there.
    Before,
    /// It was left out, for this reason.
    Not(String),
}

/// One run in the memory of this process.
struct Source {
    journal: Vec<u8>,
    attachments: Vec<(AttachmentName, Vec<u8>)>,
}

fn copy_run(
    from: &StoreHandle,
    to: &StoreHandle,
    summary: &RunSummary,
    report: &mut CopyReport,
) -> Result<Copied, CliError> {
    let run = &summary.run;
    // A list may know less than a look at the run itself, which compares what the store says about it with its last record.
    let head = match from.summary(run)?.condition {
        Condition::Damaged(reason) => return Ok(Copied::Not(format!("it is damaged: {reason}"))),
        Condition::Whole { head } | Condition::Torn { head, .. } => head,
    };
    if let Lease::Held(holder) = from.lease(run)? {
        return Ok(Copied::Not(format!("it is being written by {holder}")));
    }
    let source = Source::read(from, run)?;
    let records = source.journal.iter().filter(|byte| **byte == b'\n').count() as u64;
    if records < head.records.get() {
        let reason =
            format!("it is damaged: its head counts {} records, found {records}", head.records.get());
        return Ok(Copied::Not(reason));
    }
    let there = match to.journal_bytes(run) {
        Ok(journal) => Some(journal),
        Err(StoreError::NoSuchRun { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let missing_from = match &there {
        None => 0,
        Some(there) => {
            let there = whole_records(there);
            if source.journal.starts_with(there) {
                there.len()
            } else if there.starts_with(&source.journal) {
                return Ok(Copied::Not("the target has more records of it".to_owned()));
            } else {
                return Ok(Copied::Not("the target has a run of that id with other records".to_owned()));
            }
        }
    };
    if there.is_some() && missing_from == source.journal.len() && source.has_arrived(to, run)? {
        copy_blobs(from, to, &source, report)?;
        return Ok(Copied::Before);
    }
    // Large values come first: a run must not exist without what its records refer to.
    copy_blobs(from, to, &source, report)?;
    match there {
        None => source.create(from, to, run)?,
        Some(_) => {
            let mut writer = to.open(run)?.writer;
            source.append_rest(&mut *writer, missing_from)?;
            source.replace_attachments(to, run, &mut *writer)?;
        }
    }
    if !source.has_arrived(to, run)? {
        let message = format!("run {run}: what {} holds of it is not what was copied", to.location());
        return Err(CliError::new(Code::Damaged, message));
    }
    Ok(Copied::Now(records))
}

impl Source {
    fn read(from: &StoreHandle, run: &RunId) -> Result<Self, CliError> {
        let mut journal = from.journal_bytes(run)?;
        // An unfinished append was never acknowledged.
        journal.truncate(whole_records(&journal).len());
        let mut attachments = Vec::new();
        for name in from.attachments(run)?.into_iter().filter(|name| !is_local(name)) {
            let bytes = from.attachment(run, &name)?;
            attachments.push((name, bytes));
        }
        Ok(Self { journal, attachments })
    }

    /// Creates the run with a first part of its journal, and appends the rest.
    fn create(&self, from: &StoreHandle, to: &StoreHandle, run: &RunId) -> Result<(), CliError> {
        let first = part(&self.journal);
        let new = NewRun { id: run.clone(), attachments: self.attachments.clone(), lines: first.to_vec() };
        // A run that a stranger sent stays a stranger's.
        let mut writer = if from.was_made_here(run)? { to.create(new)? } else { to.create_foreign(new)? };
        self.append_rest(&mut *writer, first.len())?;
        drop(writer);
        state_creation(to, run)
    }

    fn append_rest(&self, writer: &mut dyn RunWriter, start: usize) -> Result<(), CliError> {
        let mut rest = self.journal.get(start..).unwrap_or_default();
        while !rest.is_empty() {
            let next = part(rest);
            let head = writer.head();
            writer.append(head, next, Durability::Synced)?;
            rest = rest.get(next.len()..).unwrap_or_default();
        }
        Ok(())
    }

    /// Makes the attachments of a run in the target those of the source.
    fn replace_attachments(
        &self,
        to: &StoreHandle,
        run: &RunId,
        writer: &mut dyn RunWriter,
    ) -> Result<(), CliError> {
        for (name, bytes) in &self.attachments {
            writer.attach(name, bytes, Durability::Synced)?;
        }
        for name in to.attachments(run)?.into_iter().filter(|name| !is_local(name)) {
            if !self.attachments.iter().any(|(known, _)| *known == name) {
                writer.detach(&name)?;
            }
        }
        Ok(())
    }

    /// Returns whether the target holds exactly this.
    fn has_arrived(&self, to: &StoreHandle, run: &RunId) -> Result<bool, CliError> {
        if to.journal_bytes(run)? != self.journal {
            return Ok(false);
        }
        let names = to.attachments(run)?.into_iter().filter(|name| !is_local(name));
        if names.count() != self.attachments.len() {
            return Ok(false);
        }
        for (name, bytes) in &self.attachments {
            match to.attachment(run, name) {
                Ok(found) if found == *bytes => {}
                Ok(_) | Err(StoreError::NoSuchAttachment { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

/// Returns the first records of `lines`, about [`PART_BYTES_MAX`] and at least one.
fn part(lines: &[u8]) -> &[u8] {
    let Some(start) = lines.get(..PART_BYTES_MAX) else { return lines };
    let end = match start.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        // A longer record is a part of its own.
        None => lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |end| end + 1),
    };
    lines.get(..end).unwrap_or(lines)
}

/// Copies the large values that a run names, and those that they name. A value that the source does not have is for `verify` to name.
fn copy_blobs(
    from: &StoreHandle,
    to: &StoreHandle,
    source: &Source,
    report: &mut CopyReport,
) -> Result<(), CliError> {
    let texts = source.attachments.iter().map(|(_, bytes)| &**bytes).chain([&*source.journal]);
    let mut left: Vec<Digest> = texts.flat_map(named_blobs).collect();
    let mut seen = BTreeSet::new();
    while let Some(digest) = left.pop() {
        if !seen.insert(digest) || !from.has_blob(&digest)? {
            continue;
        }
        let bytes = from.blob(&digest)?;
        if !to.has_blob(&digest)? {
            to.put_blob(&bytes, Durability::Synced)?;
            report.blobs += 1;
        }
        left.extend(named_blobs(&bytes));
    }
    Ok(())
}
