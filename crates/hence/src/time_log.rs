//! The time log of a run: what a clock measured, in lines next to the journal.
//!
//! | the process dies | in the time log |
//! |---|---|
//! | while a step is executed | nothing about the step and its calls; the step is not recorded either |
//! | after a record, before its line is written | nothing about the record: it is shown as not measured |
//! | later | everything up to the last record or pause; power loss may undo about a second of it |
//!
//! Lines are written after the record they are about, and synced at most once a second and when the command ends, so that
//! measuring a step costs no sync. A log that cannot be written loses measurements, never a run.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hence_engine::{Measured, Meter, Moment, Watched};
use hence_journal::{Chained, Lines, RecordIndex, Sealed};
use hence_store::{AttachmentName, Durability, RunWriter, SideLog};

use crate::clock::Clock;
use crate::live::LiveLine;

/// The attachment that holds the time log.
pub(crate) const TIMES: &str = "times.ndjson";

/// The attachment that holds the time logs of an imported run, as another store measured it.
pub(crate) const TIMES_ELSEWHERE: &str = "times-elsewhere.ndjson";

/// The longest time that measurements are written and not synced, as long as records are appended.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the name of the attachment.
pub(crate) fn times_name() -> AttachmentName {
    AttachmentName::new(TIMES).expect("the name is plain")
}

/// Returns the name of the attachment with times that another store measured.
pub(crate) fn times_elsewhere_name() -> AttachmentName {
    AttachmentName::new(TIMES_ELSEWHERE).expect("the name is plain")
}

/// A time log that is being written.
pub(crate) struct TimeLog {
    clock: Box<dyn Clock>,
    written: Mutex<Written>,
    /// The line of the terminal that shows what happens, if somebody watches.
    live: OnceLock<LiveLine>,
}

struct Written {
    /// The file; `None` after it could not be opened or written.
    file: Option<Box<dyn SideLog>>,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    synced: Duration,
    failure: Option<String>,
}

impl TimeLog {
    /// Opens the time log of a run. One that cannot be opened measures nothing.
    pub(crate) fn open(writer: &mut dyn RunWriter, clock: Box<dyn Clock>) -> Arc<Self> {
        let (file, failure) = match writer.side_log(&times_name()) {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let synced = clock.now().map(|now| now.monotonic).unwrap_or_default();
        let written = Written { file, lines: Vec::new(), synced, failure };
        Arc::new(Self { clock, written: Mutex::new(written), live: OnceLock::new() })
    }

    /// Makes a time log whose lines stay in memory, and returns it with its lines.
    pub(crate) fn in_memory(clock: Box<dyn Clock>) -> (Arc<Self>, Arc<MemoryLines>) {
        let lines = Arc::new(MemoryLines::default());
        let file: Option<Box<dyn SideLog>> = Some(Box::new(SharedLines(lines.clone())));
        let written = Written { file, lines: Vec::new(), synced: Duration::ZERO, failure: None };
        (Arc::new(Self { clock, written: Mutex::new(written), live: OnceLock::new() }), lines)
    }

    /// Shows what happens in a line of the terminal, from now on.
    pub(crate) fn show_in(&self, live: LiveLine) {
        let _ = self.live.set(live);
    }

    /// Notes that a record was appended, and writes what was measured up to it.
    pub(crate) fn recorded(&self, record: &Sealed) {
        let head = record.head();
        let index = RecordIndex::new(head.records.get().saturating_sub(1));
        self.note_record(index, head.hash, record.step().cloned());
    }

    /// Notes that the first record of a journal was appended just now.
    pub(crate) fn created(&self, journal: &[u8]) {
        let header =
            Lines::of(journal).get(RecordIndex::HEADER).and_then(|line| Chained::decode_header(line).ok());
        if let Some((header, _)) = header {
            self.note_record(RecordIndex::HEADER, header.hash, None);
        }
    }

    /// Notes that all records of a journal were appended just now, with the run.
    pub(crate) fn created_whole(&self, journal: &[u8]) {
        self.created(journal);
        let lines = Lines::of(journal);
        let header = lines.get(RecordIndex::HEADER).and_then(|line| Chained::decode_header(line).ok());
        let Some((_, profile)) = header else { return };
        for index in (1..lines.count().get()).map(RecordIndex::new) {
            if let Some(Ok(record)) = lines.get(index).map(|line| Chained::decode(line, &profile)) {
                self.note_record(index, record.hash, None);
            }
        }
    }

    fn note_record(&self, index: RecordIndex, hash: hence_canon::Digest, step: Option<Arc<str>>) {
        let Some(now) = self.now() else { return };
        let mut written = self.lock();
        written.lines.extend(Measured::Record { index, hash, step, at: now.wall }.line());
        let is_due = now.monotonic.saturating_sub(written.synced) >= SYNC_INTERVAL;
        let durability = if is_due { Durability::Synced } else { Durability::Buffered };
        written.flush(durability);
        if is_due {
            written.synced = now.monotonic;
        }
    }

    /// Writes and syncs everything, and returns why measurements were lost, if they were.
    pub(crate) fn finish(&self) -> Option<String> {
        if let Some(live) = self.live.get() {
            live.end();
        }
        let mut written = self.lock();
        written.flush(Durability::Synced);
        written.failure.clone()
    }

    /// Takes a lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lines of a time log in memory.
#[derive(Default)]
pub(crate) struct MemoryLines(Mutex<Vec<u8>>);

impl MemoryLines {
    /// Returns the lines so far and forgets them.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct SharedLines(Arc<MemoryLines>);

impl SideLog for SharedLines {
    fn append(&self, lines: &[u8], _: Durability) -> Result<(), hence_store::StoreError> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(lines);
        Ok(())
    }
}

impl Written {
    fn flush(&mut self, durability: Durability) {
        let lines = std::mem::take(&mut self.lines);
        let Some(file) = &self.file else { return };
        if let Err(error) = file.append(&lines, durability) {
            self.failure = Some(error.to_string());
            self.file = None;
        }
    }
}

impl Meter for TimeLog {
    fn now(&self) -> Option<Moment> {
        self.clock.now()
    }

    fn note(&self, measured: Measured) {
        self.lock().lines.extend(measured.line());
    }

    fn watch(&self, watched: Watched<'_>) {
        if let Some(live) = self.live.get() {
            live.hear(&watched);
        }
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::Digest;
    use hence_canon::time::Instant;
    use hence_engine::{MeasuredTimes, Span, TimedRecord};
    use hence_store::{MemoryStore, NewRun, RunId, Store as _};

    use super::*;
    use crate::clock::FakeClock;

    const HEADER: &str =
        r#"{"index":0,"record_hash":"0000000000000000000000000000000000000000000000000000000000000000"}"#;

    fn store() -> (MemoryStore, RunId, Box<dyn RunWriter>) {
        let (store, id) = (MemoryStore::new(), RunId::new("r").unwrap());
        let lines = format!("{HEADER}\n").into_bytes();
        let writer = store.create(NewRun { id: id.clone(), attachments: Vec::new(), lines }).unwrap();
        (store, id, writer)
    }

    fn read(store: &MemoryStore, id: &RunId, hash: Digest) -> MeasuredTimes {
        let mut times = MeasuredTimes::default();
        let bytes = store.attachment(id, &times_name()).unwrap();
        times.read(&bytes, false, |_| Some(TimedRecord { hash, is_rollback: false }));
        times
    }

    #[test]
    fn a_step_of_three_seconds_is_measured_as_three_seconds() {
        let (store, id, mut writer) = store();
        let clock = FakeClock::at(1_782_000_000_000);
        let log = TimeLog::open(&mut *writer, Box::new(clock.clone()));
        let began = log.now().unwrap();
        clock.advance(3_000);
        let span = Span::between(began, log.now().unwrap());
        log.note(Measured::Step { step: "slow".into(), span });
        let hash = Digest::of(b"one");
        log.note_record(RecordIndex::new(1), hash, Some("slow".into()));
        let times = read(&store, &id, hash);
        let found = times.of(RecordIndex::new(1)).unwrap();
        assert_eq!(found.span.unwrap().duration_ms, 3000);
        assert_eq!(found.recorded_at, Instant::from_millis(1_782_000_003_000).unwrap());
    }

    #[test]
    fn a_clock_that_was_set_back_changes_no_duration() {
        let (_, _, mut writer) = store();
        let clock = FakeClock::at(1_782_000_000_000);
        let log = TimeLog::open(&mut *writer, Box::new(clock.clone()));
        let began = log.now().unwrap();
        clock.advance(50);
        clock.set_back(3_600_000);
        let span = Span::between(began, log.now().unwrap());
        assert_eq!(span.duration_ms, 50);
        assert!(span.ended_at < span.started_at);
    }

    #[test]
    fn what_was_not_written_before_a_kill_is_lost_and_nothing_else() {
        let (store, id, mut writer) = store();
        let clock = FakeClock::at(1_782_000_000_000);
        let log = TimeLog::open(&mut *writer, Box::new(clock.clone()));
        let hash = Digest::of(b"one");
        log.note_record(RecordIndex::new(1), hash, Some("a".into()));
        let began = log.now().unwrap();
        log.note(Measured::Step { step: "b".into(), span: Span::between(began, began) });
        drop(log);
        let times = read(&store, &id, hash);
        assert!(times.of(RecordIndex::new(1)).is_some());
        assert_eq!(times.of(RecordIndex::new(2)), None);
    }

    #[test]
    fn a_clock_without_a_time_measures_nothing() {
        let (store, id, mut writer) = store();
        let log = TimeLog::open(&mut *writer, Box::new(FakeClock::broken()));
        log.note_record(RecordIndex::new(1), Digest::of(b"one"), None);
        assert_eq!(log.finish(), None);
        assert_eq!(store.attachment(&id, &times_name()).unwrap(), b"");
    }
}
