//! The measured times of a run, as views show them.

use hence_canon::time::Instant;
use hence_canon::{Object, Value};
use hence_engine::{CallTimes, Measured, MeasuredTimes, RecordTimes, Span, TimedRecord, WaitTimes};
use hence_journal::{Chained, Control, Lines, Record, RecordIndex};
use hence_store::{AttachmentName, RunId, RunSummary, StoreError, StoreHandle};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::escape::escape;
use crate::report::counted;
use crate::target::Journal;
use crate::time_log::{times_elsewhere_name, times_name};

/// The bytes of a time log that are read. A run of 100 000 steps has fewer.
const TIMES_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The bytes at the end of a time log that hold the line of the last record.
const LAST_LINES_BYTES: u64 = 64 * 1024;

/// The bytes that the lines about one record of a time log have at most as a rule. Where they have more, the log is read on.
const LINE_BYTES_USUAL: u64 = 1024;

/// The text for a time that was not measured.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// The maximum number of calls that a text shows.
const CALLS_SHOWN_MAX: usize = 10;

/// The measured times of a run, and what is wrong with its time log.
#[derive(Default)]
pub(crate) struct RunTimes {
    pub(crate) times: MeasuredTimes,
    /// The defect in a sentence. Nothing else depends on a time log.
    pub(crate) remarks: Vec<String>,
}

/// The measured times of a record. They are kept next to the journal; no hash covers them.
#[derive(Serialize, JsonSchema, Clone)]
pub(crate) struct MeasuredRow {
    /// The time at which the record was appended.
    pub(crate) recorded_at: String,
    /// The start of the execution that gave the step its outcome.
    pub(crate) started_at: Option<String>,
    /// The end of that execution.
    pub(crate) ended_at: Option<String>,
    /// Its duration.
    pub(crate) duration_ms: Option<u64>,
    /// Whether another store measured it, before the run was imported.
    pub(crate) elsewhere: bool,
    /// The number of its calls that were measured.
    #[serde(skip)]
    #[schemars(skip)]
    calls: u64,
    /// The number of calls that its outcome counts and nobody measured: a process made them that ended before the step did.
    #[serde(skip)]
    #[schemars(skip)]
    unmeasured_calls: u64,
}

/// The measured time of a call.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CallTimesRow {
    /// The key of the call: step, iteration and item, purpose, capability, attempt.
    pub(crate) key: String,
    pub(crate) started_at: String,
    pub(crate) ended_at: String,
    pub(crate) duration_ms: u64,
}

/// The measured time of a wait for a person.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitTimesRow {
    /// The key of the call that waits.
    pub(crate) key: String,
    pub(crate) asked_at: Option<String>,
    pub(crate) answered_at: Option<String>,
    /// The difference of the two; null while nobody has answered, or when the clock was set back.
    pub(crate) duration_ms: Option<u64>,
}

/// Measured times of a whole run.
#[derive(Serialize, JsonSchema, Default)]
pub(crate) struct MeasuredTotals {
    /// The number of records that were measured.
    pub(crate) records: u64,
    /// The time of the first measured record.
    pub(crate) first_at: Option<String>,
    /// The time of the last measured record.
    pub(crate) last_at: Option<String>,
    /// The sum of the durations of measured steps. Steps that ran side by side count each.
    pub(crate) steps_ms: u64,
    /// The number of measured steps.
    pub(crate) steps: u64,
    /// The sum of the durations of measured calls.
    pub(crate) calls_ms: u64,
    /// The number of measured calls.
    pub(crate) calls: u64,
    /// The sum of the waits for people that have ended.
    pub(crate) waits_ms: u64,
    /// The number of those waits.
    pub(crate) waits: u64,
    /// Whether some of it was measured by another store, before the run was imported.
    pub(crate) elsewhere: bool,
}

impl RunTimes {
    /// Reads the measured times of a journal's run.
    pub(crate) fn of(journal: &Journal) -> Self {
        match (&journal.store, RunId::new(&journal.name)) {
            (Some(store), Ok(run)) => Self::of_run(store, &run, &journal.bytes),
            _ => Self::default(),
        }
    }

    /// Reads the measured times of a run. A time log that cannot be read measures nothing.
    pub(crate) fn of_run(store: &StoreHandle, run: &RunId, journal: &[u8]) -> Self {
        let mut found = Self::default();
        let records = timed_records(journal);
        let find = |index: RecordIndex| *records.get(usize::try_from(index.get()).ok()?)?;
        for (name, is_elsewhere) in [(times_elsewhere_name(), true), (times_name(), false)] {
            match store.attachment_start(run, &name, TIMES_BYTES_MAX) {
                Ok(bytes) => {
                    let ignored = found.times.ignored();
                    found.times.read(&bytes, is_elsewhere, find);
                    found.remark(&name, bytes.len() as u64, found.times.ignored() - ignored);
                }
                Err(StoreError::NoSuchAttachment { .. }) => {}
                Err(error) => found.remarks.push(format!("{name} is not read: {error}")),
            }
        }
        found
    }

    /// Reads the measured times of the first records of a long run. `journal` ends one record after `last`. The rest of the time
    /// log is neither read nor judged.
    pub(crate) fn of_first_records(
        store: &StoreHandle,
        run: &RunId,
        journal: &[u8],
        last: RecordIndex,
    ) -> Self {
        let mut found = Self::default();
        let records = timed_records(journal);
        let find = |index: RecordIndex| *records.get(usize::try_from(index.get()).ok()?)?;
        let window = LINE_BYTES_USUAL.saturating_mul(last.get().saturating_add(1)).max(LAST_LINES_BYTES);
        for (name, is_elsewhere) in [(times_elsewhere_name(), true), (times_name(), false)] {
            // Lines follow the order of the records: the times of the last one that is asked for are behind all others.
            for bytes_max in [window.min(TIMES_BYTES_MAX), TIMES_BYTES_MAX] {
                let Ok(bytes) = store.attachment_start(run, &name, bytes_max) else { break };
                found.times.read(&bytes, is_elsewhere, find);
                if found.times.of(last).is_some() || (bytes.len() as u64) < bytes_max {
                    break;
                }
            }
        }
        found
    }

    /// Reads when the last record of a run was appended, and nothing else: the journal and its time log may be long.
    pub(crate) fn of_last(store: &StoreHandle, run: &RunId, last: &Chained) -> Self {
        let mut found = Self::default();
        let timed = TimedRecord { hash: last.hash, is_rollback: false };
        let find = |index: RecordIndex| (index == last.index).then_some(timed);
        for (name, is_elsewhere) in [(times_elsewhere_name(), true), (times_name(), false)] {
            let Ok(end) = store.attachment_end(run, &name, LAST_LINES_BYTES) else { continue };
            found.times.read(&end, is_elsewhere, find);
        }
        found
    }

    fn remark(&mut self, name: &AttachmentName, bytes: u64, ignored: u64) {
        if bytes >= TIMES_BYTES_MAX {
            self.remarks.push(format!("only the first {TIMES_BYTES_MAX} bytes of {name} are read"));
        }
        if ignored > 0 {
            let lines = if ignored == 1 { "line of" } else { "lines of" };
            let why = "not a measurement of a record that this journal has";
            self.remarks.push(format!("{ignored} {lines} {name} ignored: {why}"));
        }
    }

    /// Prints what is wrong with the time log.
    pub(crate) fn say(&self, context: &Context, run: &str) {
        say(context, run, &self.remarks);
    }

    /// Returns the times of a record.
    pub(crate) fn row(&self, index: u64) -> Option<MeasuredRow> {
        self.times.of(RecordIndex::new(index)).map(MeasuredRow::of)
    }

    /// Returns the calls and waits of a record.
    pub(crate) fn parts(&self, index: u64) -> (Vec<CallTimesRow>, Vec<WaitTimesRow>) {
        let Some(times) = self.times.of(RecordIndex::new(index)) else { return Default::default() };
        (
            times.calls.iter().map(CallTimesRow::of).collect(),
            times.waits.iter().map(WaitTimesRow::of).collect(),
        )
    }

    /// Returns the waits of steps that have no record yet.
    pub(crate) fn open_waits(&self) -> Vec<WaitTimesRow> {
        self.times.open_waits().iter().map(WaitTimesRow::of).collect()
    }

    /// Returns the capability and the duration of each measured call.
    pub(crate) fn call_durations(&self) -> impl Iterator<Item = (&str, u64)> {
        let calls = self.times.records().flat_map(|(_, times)| &times.calls);
        calls.map(|call| (&*call.capability, call.span.duration_ms))
    }

    /// Returns the totals of the run.
    pub(crate) fn totals(&self) -> MeasuredTotals {
        let mut totals = MeasuredTotals::default();
        for (_, times) in self.times.records() {
            totals.note(times);
        }
        totals
    }
}

/// Prints what is wrong with the time log of a run.
pub(crate) fn say(context: &Context, run: &str, remarks: &[String]) {
    for remark in remarks {
        context.say(format_args!("run {run}: {remark}"));
    }
}

/// The bytes at the start of a time log that hold its first line.
const FIRST_LINE_BYTES: u64 = 4096;

/// Returns when a run was created, as this store measured it.
///
/// That is the first line of its time log, except for a nested run: it is stored as a whole, and the calls and steps that were
/// measured before come first.
pub(crate) fn created_at(store: &StoreHandle, summary: &RunSummary) -> Option<String> {
    let (header, _) = Chained::decode_header(summary.header.as_deref()?.as_bytes()).ok()?;
    let created = |log: &[u8]| {
        let mut lines = log.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        lines.find_map(|line| match Measured::of_line(line.strip_suffix(b"\n")?)? {
            Measured::Record { index: RecordIndex::HEADER, hash, at, .. } if hash == header.hash => {
                Some(text(at))
            }
            _ => None,
        })
    };
    let start = store.attachment_start(&summary.run, &times_name(), FIRST_LINE_BYTES).ok()?;
    let first = start.split(|byte| *byte == b'\n').next().and_then(Measured::of_line);
    match first {
        Some(Measured::Record { .. }) | None => created(&start),
        Some(_) => created(&store.attachment_start(&summary.run, &times_name(), TIMES_BYTES_MAX).ok()?),
    }
}

/// Tells a store when a run that came from elsewhere was created, so that lists have it in the same place as where it came from:
/// at its measured time, or else at the one that its problem states.
pub(crate) fn state_creation(store: &StoreHandle, run: &RunId) -> Result<(), CliError> {
    let summary = store.summary(run)?;
    let stated = || {
        let (header, _) = Chained::decode_header(summary.header.as_deref()?.as_bytes()).ok()?;
        match header.record {
            Record::Header(header) => Some(header.created_at.to_string()),
            _ => None,
        }
    };
    let created = created_at(store, &summary).or_else(stated);
    if let Some(created) = created.and_then(|created| created.parse::<Instant>().ok()) {
        store.set_created(run, created)?;
    }
    Ok(())
}

/// Returns the hash of each record; nothing for a line that is none.
fn timed_records(journal: &[u8]) -> Vec<Option<TimedRecord>> {
    let lines = Lines::of(journal);
    let first = lines.get(RecordIndex::HEADER).and_then(|line| Chained::decode_header(line).ok());
    let Some((header, profile)) = first else { return Vec::new() };
    let timed = |chained: &Chained| TimedRecord {
        hash: chained.hash,
        is_rollback: matches!(chained.record, Record::Control(Control::Rollback(_))),
    };
    let rest = (1..lines.count().get()).map(|index| {
        let line = lines.get(RecordIndex::new(index))?;
        Chained::decode(line, &profile).ok().as_ref().map(timed)
    });
    std::iter::once(Some(timed(&header))).chain(rest).collect()
}

fn text(at: Instant) -> String {
    at.to_millis_text()
}

impl MeasuredRow {
    pub(crate) fn of(times: &RecordTimes) -> Self {
        Self {
            recorded_at: text(times.recorded_at),
            started_at: times.span.map(|span| text(span.started_at)),
            ended_at: times.span.map(|span| text(span.ended_at)),
            duration_ms: times.span.map(|span| span.duration_ms),
            elsewhere: times.is_elsewhere,
            calls: times.calls.len() as u64,
            unmeasured_calls: 0,
        }
    }

    /// Compares the measured calls with those that the output of the step counts. An outcome that is stored outside the
    /// journal counts nothing here.
    #[must_use]
    pub(crate) fn counting(mut self, output: Option<&Value>) -> Self {
        let called = output.and_then(|output| output.get("called")?.as_object());
        let called: u64 =
            called.into_iter().flat_map(|called| called.iter()).filter_map(|(_, count)| count.as_u64()).sum();
        self.unmeasured_calls = called.saturating_sub(self.calls);
        self
    }

    /// Returns the time at which the record was appended.
    pub(crate) fn recorded_at(&self) -> &str {
        &self.recorded_at
    }

    /// Returns the duration of the step for a text.
    pub(crate) fn took(&self) -> String {
        let took = match (self.duration_ms, self.unmeasured_calls, self.calls) {
            (None, ..) => String::new(),
            (Some(duration), 0, _) => format!("{duration} ms"),
            // The time after the last process started is not the time of the step.
            (Some(_), _, 0) => NOT_MEASURED.to_owned(),
            (Some(duration), ..) => format!("{duration} ms, rest {NOT_MEASURED}"),
        };
        match (self.elsewhere, took.is_empty()) {
            (false, _) => took,
            (true, true) => "measured elsewhere".to_owned(),
            (true, false) => format!("{took}, measured elsewhere"),
        }
    }
}

impl CallTimesRow {
    pub(crate) fn of(call: &CallTimes) -> Self {
        let Span { started_at, ended_at, duration_ms } = call.span;
        Self {
            key: call.key.to_string(),
            started_at: text(started_at),
            ended_at: text(ended_at),
            duration_ms,
        }
    }
}

impl WaitTimesRow {
    pub(crate) fn of(wait: &WaitTimes) -> Self {
        Self {
            key: wait.key.to_string(),
            asked_at: wait.asked_at.map(text),
            answered_at: wait.answered_at.map(text),
            duration_ms: wait.duration_ms(),
        }
    }

    /// Returns the row as a value that [`of_value`](Self::of_value) reads.
    pub(crate) fn to_value(&self) -> Value {
        Object::from_iter([
            ("answered_at", Value::from(self.answered_at.clone())),
            ("asked_at", self.asked_at.clone().into()),
            ("duration_ms", self.duration_ms.map_or(Value::Null, Value::from)),
            ("key", self.key.clone().into()),
        ])
        .into()
    }

    /// Reads a row; `None` when it is not one.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            key: text("key")?,
            asked_at: text("asked_at"),
            answered_at: text("answered_at"),
            duration_ms: value.get("duration_ms")?.as_u64(),
        })
    }

    /// Returns the row of a text.
    pub(crate) fn row(&self) -> (&'static str, String) {
        let at = |at: &Option<String>| at.clone().unwrap_or_else(|| NOT_MEASURED.to_owned());
        let asked = format!("{}: asked {}", escape(&self.key), at(&self.asked_at));
        match (&self.answered_at, self.duration_ms) {
            (None, _) => ("asked", asked),
            (Some(answered), None) => ("waited", format!("{asked}, answered {answered}")),
            (Some(answered), Some(waited)) => {
                ("waited", format!("{asked}, answered {answered}, {waited} ms"))
            }
        }
    }
}

/// Returns the rows of a text about the times of one record.
pub(crate) fn rows(
    measured: Option<&MeasuredRow>,
    calls: &[CallTimesRow],
    waits: &[WaitTimesRow],
) -> Vec<(&'static str, String)> {
    let Some(measured) = measured else { return vec![("measured", NOT_MEASURED.to_owned())] };
    let what = match (&measured.started_at, &measured.ended_at) {
        (Some(started), Some(ended)) => format!("{started} to {ended}, {}", measured.took()),
        _ => format!("recorded {} {}", measured.recorded_at, measured.took()).trim_end().to_owned(),
    };
    let mut rows = vec![("measured", what)];
    if measured.unmeasured_calls > 0 {
        let calls = measured.calls + measured.unmeasured_calls;
        let text = format!(
            "{} of {} {NOT_MEASURED}: an earlier process made them and ended before the step did",
            measured.unmeasured_calls,
            counted(calls, "call")
        );
        rows.push(("calls", text));
    }
    let shown = calls.iter().take(CALLS_SHOWN_MAX);
    rows.extend(shown.map(|call| {
        (
            "call",
            format!(
                "{}: {} to {}, {} ms",
                escape(&call.key),
                call.started_at,
                call.ended_at,
                call.duration_ms
            ),
        )
    }));
    if calls.len() > CALLS_SHOWN_MAX {
        rows.push(("call", format!("{} more; --json lists all", calls.len() - CALLS_SHOWN_MAX)));
    }
    rows.extend(waits.iter().map(WaitTimesRow::row));
    rows
}

impl MeasuredTotals {
    fn note(&mut self, times: &RecordTimes) {
        let count = |total: &mut u64, more: u64| *total = total.saturating_add(more);
        self.records += 1;
        let at = text(times.recorded_at);
        // The clock may have been set back, so the first is the earliest and not that of the first record.
        if self.first_at.as_ref().is_none_or(|first| *first > at) {
            self.first_at = Some(at.clone());
        }
        if self.last_at.as_ref().is_none_or(|last| *last < at) {
            self.last_at = Some(at);
        }
        if let Some(span) = times.span {
            self.steps += 1;
            count(&mut self.steps_ms, span.duration_ms);
        }
        self.calls += times.calls.len() as u64;
        times.calls.iter().for_each(|call| count(&mut self.calls_ms, call.span.duration_ms));
        for waited in times.waits.iter().filter_map(WaitTimes::duration_ms) {
            self.waits += 1;
            count(&mut self.waits_ms, waited);
        }
        self.elsewhere |= times.is_elsewhere;
    }

    /// Adds the totals of another run.
    pub(crate) fn add(&mut self, other: Self) {
        let earlier = |one: Option<String>, other: Option<String>| one.into_iter().chain(other).min();
        let later = |one: Option<String>, other: Option<String>| one.into_iter().chain(other).max();
        self.first_at = earlier(self.first_at.take(), other.first_at);
        self.last_at = later(self.last_at.take(), other.last_at);
        let sums = [
            (&mut self.records, other.records),
            (&mut self.steps_ms, other.steps_ms),
            (&mut self.steps, other.steps),
            (&mut self.calls_ms, other.calls_ms),
            (&mut self.calls, other.calls),
            (&mut self.waits_ms, other.waits_ms),
            (&mut self.waits, other.waits),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.elsewhere |= other.elsewhere;
    }

    /// Returns the rows of a text, for a run or a store of so many records.
    pub(crate) fn rows(&self, records: u64) -> Vec<(&'static str, String)> {
        let (Some(first), Some(last)) = (&self.first_at, &self.last_at) else {
            return vec![("measured", NOT_MEASURED.to_owned())];
        };
        let elsewhere = if self.elsewhere { ", some elsewhere" } else { "" };
        let of = |count: u64, what: &str, ms: u64| format!("{ms} ms in {}", counted(count, what));
        let parts = [
            (self.steps, "step", self.steps_ms),
            (self.calls, "call", self.calls_ms),
            (self.waits, "wait", self.waits_ms),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, what, ms)| of(*count, what, *ms))
            .collect();
        let mut rows = vec![(
            "measured",
            format!("{first} to {last}, {} of {records} records{elsewhere}", self.records),
        )];
        if !parts.is_empty() {
            rows.push(("took", parts.join(", ")));
        }
        rows
    }
}
