//! Runs of variables as a store has them: read from a snapshot and what follows it, or else from the whole journal.

use std::io::Read as _;

use hence_canon::Lenient;
use hence_engine::{ResumeError, VariablesRun, VariablesSnapshot};
use hence_journal::RecordIndex;
use hence_store::{AttachmentName, Durability, RunId, RunWriter, StoreHandle};

use super::whole_lines;
use crate::error::CliError;
use crate::hint;
use crate::journal_end::header_line;
use crate::sink::StoreBlobs;

/// The attachment with the snapshot of a run of variables. It is a cache: not part of the run, nor of a bundle.
pub(crate) const SNAPSHOT: &str = "snapshot";

/// The number of records after which a new snapshot is worth writing.
const RECORDS_MIN: u64 = 64;

/// The bytes of a snapshot that cost as much to read as one record.
const BYTES_PER_RECORD: u64 = 1024;

/// The snapshot that a run was read from.
#[derive(Clone, Copy, Default)]
pub(crate) struct SnapshotUsed {
    /// The number of records it covers.
    records: u64,
    /// Its size.
    bytes: u64,
    /// The byte of the journal at which its last record begins.
    last_line_at: u64,
}

/// Returns the name of the snapshot's attachment.
pub(crate) fn snapshot_name() -> AttachmentName {
    AttachmentName::new(SNAPSHOT).expect("the name is plain")
}

/// Reads a run of variables, from its snapshot if that is one of this journal.
pub(crate) fn load(
    store: &StoreHandle,
    run: &RunId,
    problem: &Lenient,
) -> Result<(VariablesRun, SnapshotUsed), CliError> {
    if let Some(loaded) = load_from_snapshot(store, run, problem)? {
        return Ok(loaded);
    }
    let journal = whole_lines(store.journal_bytes(run)?);
    let loaded = VariablesRun::load(&journal, problem, &StoreBlobs(store));
    let loaded = loaded.map_err(|error| not_loaded(run, error))?;
    Ok((loaded, SnapshotUsed::default()))
}

/// Reports a run that cannot be read as one of variables.
pub(super) fn not_loaded(run: &RunId, error: ResumeError) -> CliError {
    let not_interactive = matches!(error, ResumeError::Refused(_));
    let error = CliError::resume(run.as_str(), error);
    if not_interactive { error.with_hint(hint::NOT_AN_INTERACTIVE_RUN) } else { error }
}

fn load_from_snapshot(
    store: &StoreHandle,
    run: &RunId,
    problem: &Lenient,
) -> Result<Option<(VariablesRun, SnapshotUsed)>, CliError> {
    let Ok(bytes) = store.attachment(run, &snapshot_name()) else { return Ok(None) };
    let Some(snapshot) = VariablesSnapshot::decode(&bytes) else { return Ok(None) };
    let used = SnapshotUsed {
        records: snapshot.head().records.get(),
        bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        last_line_at: snapshot.last_line_at(),
    };
    let header = header_line(store, run)?;
    let lines = lines_from(store, run, used.last_line_at)?;
    let loaded = VariablesRun::load_from_snapshot(snapshot, &header, &lines, problem, &StoreBlobs(store));
    // A run that does not follow from its snapshot is read whole, which also finds the record that is wrong.
    Ok(loaded.ok().flatten().map(|loaded| (loaded, used)))
}

/// Reads the lines after the first `known` records. They are counted from the last record of the snapshot.
pub(super) fn lines_after(
    store: &StoreHandle,
    run: &RunId,
    used: SnapshotUsed,
    known: u64,
) -> Result<Vec<u8>, CliError> {
    let lines = lines_from(store, run, used.last_line_at)?;
    let skipped = known.saturating_sub(used.records.saturating_sub(1));
    let skipped =
        lines.split_inclusive(|byte| *byte == b'\n').take(usize::try_from(skipped).unwrap_or(usize::MAX));
    let start = skipped.map(<[u8]>::len).sum();
    Ok(lines.get(start..).unwrap_or_default().to_vec())
}

/// Compares the snapshot of a run with its journal: what differs, or `None`. A snapshot that is torn or of another version
/// is never used, so it differs from nothing.
pub(crate) fn check_snapshot(store: &StoreHandle, run: &RunId, problem: &Lenient) -> Option<String> {
    let bytes = store.attachment(run, &snapshot_name()).ok()?;
    let snapshot = VariablesSnapshot::decode(&bytes)?;
    let journal = whole_lines(store.journal_bytes(run).ok()?);
    let last = snapshot.head().records.get().checked_sub(1).map(RecordIndex::new)?;
    let differs = |reason: &str| Some(format!("the snapshot at {} {reason}", snapshot.head()));
    let Ok(mut then) = VariablesRun::load_until(&journal, problem, &StoreBlobs(store), last) else {
        return differs("cannot be compared: the journal does not hold up to there");
    };
    if then.head() != snapshot.head() {
        return differs("is not one of this journal");
    }
    match then.snapshot(snapshot.last_line_at()) {
        Some(expected) if expected == bytes => None,
        _ => differs("is not what the journal says; delete it, it is a cache"),
    }
}

/// Writes a new snapshot when so much follows the last one that reading both costs twice a snapshot.
pub(super) fn save(
    store: &StoreHandle,
    writer: &mut dyn RunWriter,
    run: &mut VariablesRun,
    used: &mut SnapshotUsed,
) {
    let new = run.head().records.get().saturating_sub(used.records);
    if new < RECORDS_MIN.max(used.bytes / BYTES_PER_RECORD) {
        return;
    }
    let id = writer.run().clone();
    // A cache that cannot be written is not an error: the journal has everything.
    let Ok(lines) = lines_from(store, &id, used.last_line_at) else { return };
    let Some(end) = lines.len().checked_sub(1) else { return };
    let before_last = lines.get(..end).unwrap_or_default();
    let last = before_last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last_line_at = used.last_line_at.saturating_add(u64::try_from(last).unwrap_or(u64::MAX));
    let Some(bytes) = run.snapshot(last_line_at) else { return };
    if writer.attach(&snapshot_name(), &bytes, Durability::Buffered).is_ok() {
        let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        *used = SnapshotUsed { records: run.head().records.get(), bytes, last_line_at };
    }
}

/// Reads the whole lines of a journal from a byte on.
fn lines_from(store: &StoreHandle, run: &RunId, offset: u64) -> Result<Vec<u8>, CliError> {
    let mut lines = Vec::new();
    let mut reader = store.read_journal_at(run, offset)?;
    reader
        .read_to_end(&mut lines)
        .map_err(|error| CliError::file("read", store.journal_location(run).as_ref(), error))?;
    Ok(whole_lines(lines))
}
