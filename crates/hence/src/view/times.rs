//! The measured times of a window of records, read without the rest of the time log.

use std::collections::BTreeMap;

use hence_engine::{Measured, MeasuredTimes, TimedRecord};
use hence_journal::RecordIndex;
use hence_store::{AttachmentName, StoreError};

use super::opened::Opened;
use crate::prelude::*;
use crate::time_log::{times_elsewhere_name, times_name};

/// The bytes of the log that are looked at in one step of the search: several lines.
const PROBE_BYTES: u64 = 8 * 1024;

/// The bytes that are read whole, once the search has come so near.
const NEAR_BYTES: u64 = 64 * 1024;

/// The bytes before the first record of the window that are read, for what belongs to it and was noted before.
const LEAD_BYTES: u64 = 64 * 1024;

/// The most bytes of the log that are read for one window.
const WINDOW_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads the times of the records that `known` lists.
pub(super) fn times_of(run: &Opened, known: &BTreeMap<u64, TimedRecord>) -> Result<MeasuredTimes, CliError> {
    let mut times = MeasuredTimes::default();
    let (Some((first, _)), Some((last, _))) = (known.first_key_value(), known.last_key_value()) else {
        return Ok(times);
    };
    for (name, is_elsewhere) in [(times_elsewhere_name(), true), (times_name(), false)] {
        let log = TimeLog { run, name: &name };
        let Some(size) = log.size()? else { continue };
        let start = log.place_of(*first, size)?.saturating_sub(LEAD_BYTES);
        let end = log.place_of(last.saturating_add(1), size)?.saturating_add(2 * NEAR_BYTES);
        let bytes = log.read(start, end.min(start.saturating_add(WINDOW_BYTES_MAX)))?;
        let find = |index: RecordIndex| known.get(&index.get()).copied();
        times.read(whole_lines(&bytes, start), is_elsewhere, find);
    }
    Ok(times)
}

/// Returns bytes from the first line on that begins in them.
fn whole_lines(bytes: &[u8], start: u64) -> &[u8] {
    if start == 0 {
        return bytes;
    }
    let begin = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |line_feed| line_feed + 1);
    bytes.get(begin..).unwrap_or_default()
}

struct TimeLog<'a> {
    run: &'a Opened,
    name: &'a AttachmentName,
}

impl TimeLog<'_> {
    fn size(&self) -> Result<Option<u64>, CliError> {
        match self.run.store.attachment_range(&self.run.id, self.name, 0, 0) {
            Ok((_, size)) => Ok(Some(size)),
            Err(StoreError::NoSuchAttachment { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&self, start: u64, end: u64) -> Result<Vec<u8>, CliError> {
        Ok(self.run.store.attachment_range(&self.run.id, self.name, start, end)?.0)
    }

    /// Returns a place before the line of a record, near it: records are noted in their order.
    fn place_of(&self, record: u64, size: u64) -> Result<u64, CliError> {
        let (mut low, mut high) = (0, size);
        while high - low > NEAR_BYTES {
            let middle = low + (high - low) / 2;
            let probe = self.read(middle, middle.saturating_add(PROBE_BYTES))?;
            let lines = whole_lines(&probe, middle).split(|byte| *byte == b'\n');
            let found = lines.filter_map(Measured::of_line).find_map(|measured| match measured {
                Measured::Record { index, .. } => Some(index.get()),
                _ => None,
            });
            match found {
                Some(found) if found < record => low = middle,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}
