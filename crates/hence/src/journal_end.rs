//! The first and the last records of a journal, read without those between.

use std::io::{BufRead as _, BufReader, Read as _};

use hence_journal::{Chained, Control, Record};
use hence_state::Profile;
use hence_store::{Condition, RunId, RunSummary, StoreError, StoreHandle};

use crate::error::CliError;

/// The bytes that are read first. A record is about 1 KiB; a long one is found by reading further back.
const WINDOW_BYTES: u64 = 16 * 1024;

/// The longest header that is read apart from its journal. A header is about 600 bytes.
const HEADER_BYTES_MAX: u64 = 64 * 1024;

/// Returns the first line of a journal; nothing when it has none of a usual length.
pub(crate) fn header_line(store: &StoreHandle, run: &RunId) -> Result<Vec<u8>, StoreError> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(store.read_journal_at(run, 0)?.take(HEADER_BYTES_MAX));
    // What cannot be read is reported where the whole journal is read.
    let read = reader.read_until(b'\n', &mut line).is_ok();
    Ok(if read && line.ends_with(b"\n") { line } else { Vec::new() })
}

/// Returns the first lines of a journal, at most so many. The bytes of an unfinished append are left out.
pub(crate) fn first_lines(store: &StoreHandle, run: &RunId, count: u64) -> Result<Vec<u8>, CliError> {
    let mut lines = Vec::new();
    let mut reader = BufReader::new(store.read_journal_at(run, 0)?);
    for _ in 0..count {
        let whole = lines.len();
        let read = reader.read_until(b'\n', &mut lines);
        read.map_err(|error| CliError::file("read", store.journal_location(run).as_ref(), error))?;
        if lines.len() == whole || !lines.ends_with(b"\n") {
            lines.truncate(whole);
            break;
        }
    }
    Ok(lines)
}

/// Reads the last record that is not a checkpoint; the header when there is no other. `None` when it cannot be read.
pub(crate) fn last_change(
    store: &StoreHandle,
    summary: &RunSummary,
    profile: Option<Profile>,
) -> Option<Chained> {
    let torn = match summary.condition {
        Condition::Torn { bytes, .. } => bytes,
        Condition::Whole { .. } => 0,
        Condition::Damaged(_) => return None,
    };
    let end = summary.journal_bytes.checked_sub(torn)?;
    let mut window = WINDOW_BYTES;
    loop {
        let start = end.saturating_sub(window);
        let mut bytes = Vec::new();
        let mut reader = store.read_journal_at(&summary.run, start).ok()?.take(end - start);
        reader.read_to_end(&mut bytes).ok()?;
        let mut lines: Vec<&[u8]> =
            bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        // A window that begins inside a journal begins inside a line.
        let first = if lines.is_empty() { return None } else { lines.remove(0) };
        for line in lines.into_iter().rev() {
            let chained = Chained::decode(line, &profile?).ok()?;
            if !matches!(chained.record, Record::Control(Control::Checkpoint(_))) {
                return Some(chained);
            }
        }
        if start == 0 {
            return Chained::decode_header(first).ok().map(|(header, _)| header);
        }
        window = window.saturating_mul(8);
    }
}
