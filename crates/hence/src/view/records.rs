//! Records in windows, one record, and the search for a text.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hence_engine::{CallTimes, MeasuredTimes, RunKind, TimedRecord, attempt};
use hence_journal::{Chained, Control, DecodeError, Record, RecordIndex};
use hence_server::Window;
use hence_skills::recorded_outcome;
use hence_state::Profile;

use super::Views;
use super::index::Lines;
use super::opened::Opened;
use super::shown::{List, Shown};
use super::solved;
use super::times::times_of;
use crate::commands::log::LogRow;
use crate::commands::show::Described;
use crate::exchanges::ExchangeRow;
use crate::measured::{CallTimesRow, MeasuredRow, WaitTimesRow};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::DecisionRow;

/// The longest line that a list gives as text.
const LINE_SHOWN_BYTES_MAX: usize = 64 * 1024;

/// The most bytes of lines that one response reads.
const WINDOW_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most bytes that one request searches.
const SEARCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The characters before and after a text that was found.
const EXCERPT_BYTES: usize = 80;

/// One record in a list.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecordRow {
    #[serde(flatten)]
    pub(super) row: LogRow,
    /// The place of its line in the journal.
    offset: u64,
    /// The length of its line, without the line feed.
    bytes: usize,
    /// The line; null where it was not asked for, is not text, or is very long.
    line: Option<String>,
}

/// A line of a journal that was read and decoded.
pub(crate) struct ReadLine {
    pub(crate) index: u64,
    pub(super) offset: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) record: Result<Chained, DecodeError>,
}

/// Reads the records of a window, fewer where they are very long.
pub(super) fn read_lines(run: &Opened, window: Window) -> Result<(u64, Vec<ReadLine>), CliError> {
    match read_window(run, &run.lines()?, window)? {
        Some(read) => Ok(read),
        // Records that do not declare their places are found by counting.
        None => Ok(read_window(run, &run.counted_lines()?, window)?.unwrap_or_default()),
    }
}

/// Reads a window of lines; nothing where records do not stand at the places that they declare.
fn read_window(
    run: &Opened,
    journal: &Lines<'_>,
    window: Window,
) -> Result<Option<(u64, Vec<ReadLine>)>, CliError> {
    let profile = run.profile();
    let mut lines: Vec<ReadLine> = Vec::new();
    let until = window.from.saturating_add(window.limit);
    let mut read = 0;
    if window.from >= journal.count() {
        return Ok(Some((journal.count(), lines)));
    }
    let is_found = journal.visit(window.from, |line| {
        read += line.bytes.len();
        let is_full = window != Window::WHOLE && read > WINDOW_BYTES_MAX && !lines.is_empty();
        if line.index >= until || is_full {
            return Ok(ControlFlow::Break(()));
        }
        let record = decode(line.index, line.bytes, &profile);
        let bytes = line.bytes.to_vec();
        lines.push(ReadLine { index: line.index, offset: line.offset, bytes, record });
        Ok(ControlFlow::Continue(()))
    })?;
    let stands = |line: &ReadLine| line.record.as_ref().is_ok_and(|found| found.index.get() == line.index);
    let is_regular = is_found && (!journal.are_declared() || lines.iter().all(stands));
    Ok(is_regular.then(|| (journal.count(), lines)))
}

fn decode(index: u64, line: &[u8], profile: &Profile) -> Result<Chained, DecodeError> {
    match index {
        0 => Chained::decode_header(line).map(|(header, _)| header),
        _ => Chained::decode(line, profile),
    }
}

/// Reads the measured times of lines.
pub(super) fn times_of_lines(run: &Opened, lines: &[ReadLine]) -> Result<MeasuredTimes, CliError> {
    let timed = |line: &ReadLine| {
        let chained = line.record.as_ref().ok()?;
        let is_rollback = matches!(chained.record, Record::Control(Control::Rollback(_)));
        Some((line.index, TimedRecord { hash: chained.hash, is_rollback }))
    };
    let known: BTreeMap<u64, TimedRecord> = lines.iter().filter_map(timed).collect();
    times_of(run, &known)
}

fn row_of(run: &Opened, line: ReadLine, times: &MeasuredTimes, with_line: bool) -> RecordRow {
    let ReadLine { index, offset, bytes, record } = line;
    let row = LogRow::of(run.kind(), &StoreBlobs(&run.store), index, record);
    let measured = times.of(RecordIndex::new(index)).map(MeasuredRow::of);
    let count = bytes.len();
    let line = (with_line && count <= LINE_SHOWN_BYTES_MAX).then(|| String::from_utf8(bytes).ok()).flatten();
    RecordRow { row: LogRow { measured, ..row }, offset, bytes: count, line }
}

/// One record with everything about it.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecordDetail {
    /// The run's id.
    run: String,
    /// The record's index.
    pub(super) index: u64,
    /// The place of its line in the journal.
    offset: u64,
    /// The length of its line.
    bytes: usize,
    /// The line; null where it is not text, or very long.
    line: Option<String>,
    /// `header`, `step`, `control` or `unreadable`.
    kind: &'static str,
    /// The step's name, the control record, or the defect of the line.
    pub(super) what: String,
    /// The status of the step.
    pub(super) status: Option<&'static str>,
    /// The time of the record by its logical clock.
    logical_at: Option<String>,
    /// The record's hash.
    pub(super) hash: Option<String>,
    /// The record as it is hashed; null where the line is not JSON.
    record: Option<Shown>,
    /// The input of the step, where the record has it.
    pub(super) input: Option<Shown>,
    /// The output, also where it is stored outside the journal.
    pub(super) output: Option<Shown>,
    /// The reason why the output is not there although the record refers to it.
    missing: Option<String>,
    /// The values that the step read.
    reads: Vec<Place>,
    /// The values that the step wrote.
    writes: Vec<Place>,
    /// The measured times; null when the record was not measured.
    measured: Option<MeasuredRow>,
    /// The measured times of its calls.
    pub(super) calls: Vec<CallTimesRow>,
    /// The measured waits for people.
    waits: Vec<WaitTimesRow>,
    /// The approvals and rejections in it.
    pub(super) decisions: Vec<DecisionRow>,
    /// The exchanges with language models.
    pub(super) exchanges: Vec<ExchangeShown>,
    /// The ids of the actions that the record became, where the run can be shown as a trace.
    actions: Vec<i64>,
}

/// A place that a step read or wrote.
#[derive(Serialize, JsonSchema)]
pub(super) struct Place {
    /// The place, as mappings of a skill name it; of a block of `hence solve` a part of its input, or a variable.
    pub(super) place: String,
    /// The value there, where the record has it.
    pub(super) value: Option<Shown>,
}

/// The most bytes of exchanges that are given in one response.
const EXCHANGE_BYTES_MAX: usize = 128 * 1024;

/// An exchange with a language model, cut where it is very long.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExchangeShown {
    #[serde(flatten)]
    row: ExchangeRow,
    /// Whether the exchange is too long to be given here; its blob has it.
    cut: bool,
}

/// Returns exchanges until they are too long for one response; the rest without their content.
fn shown_exchanges(rows: Vec<ExchangeRow>) -> Vec<ExchangeShown> {
    let mut left = EXCHANGE_BYTES_MAX;
    let mut one = |row: ExchangeRow| {
        let bytes = row.exchange.as_ref().map_or(0, |exchange| exchange.0.to_string().len());
        let cut = bytes > left;
        left -= if cut { 0 } else { bytes };
        let row = if cut { ExchangeRow { exchange: None, ..row } } else { row };
        ExchangeShown { row, cut }
    };
    rows.into_iter().map(&mut one).collect()
}

/// A record that contains a text.
#[derive(Serialize, JsonSchema)]
pub(super) struct FoundRow {
    /// Its index.
    index: u64,
    /// `header`, `step`, `control` or `unreadable`.
    kind: &'static str,
    /// The step's name, the control record, or the defect of the line.
    what: String,
    /// The status of the step.
    status: Option<&'static str>,
    /// The text with what is around it.
    excerpt: String,
}

impl Views {
    pub(super) fn records(
        &self,
        run: &Opened,
        window: Window,
        with_lines: bool,
    ) -> Result<List<RecordRow>, CliError> {
        let (total, lines) = read_lines(run, window)?;
        let times = times_of_lines(run, &lines)?;
        let read = window.from + lines.len() as u64;
        let mut lines = lines.into_iter();
        let bounded = Window { limit: (read - window.from).max(1), ..window };
        let bounded = if window == Window::WHOLE { window } else { bounded };
        Ok(List::of(bounded, total, |_| Some(row_of(run, lines.next()?, &times, with_lines))))
    }

    /// Finds a record by its index, or the last execution of a step by its name.
    pub(super) fn place_of(&self, run: &Opened, name: &str) -> Result<u64, CliError> {
        match name.parse::<u64>() {
            Ok(index) => Ok(index),
            Err(_) => Ok(crate::commands::find_record(&run.whole()?, name)?.get()),
        }
    }

    pub(super) fn line_at(&self, run: &Opened, index: u64) -> Result<ReadLine, CliError> {
        let (total, lines) = read_lines(run, Window { from: index, limit: 1 })?;
        lines.into_iter().next().ok_or_else(|| {
            let message = format!("run {}: expected a record below {total}, found {index}", run.id);
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::records(run.name()))
        })
    }

    pub(super) fn record(&self, run: &Opened, index: u64) -> Result<RecordDetail, CliError> {
        let line = self.line_at(run, index)?;
        let described = Described::of_line(&line.bytes, run.kind(), &run.profile(), Some(&run.store)).ok();
        let lines = [line];
        let times = solved::times_of_window(run, &lines)?;
        let [line] = lines;
        let entry = solved::entry_of(run, &line);
        let conversation = entry.as_ref().and_then(|entry| solved::exchange_of(run, &line, entry));
        let (offset, bytes) = (line.offset, line.bytes.len());
        let row = row_of(run, line, &times, true);
        let measured = times.of(RecordIndex::new(index));
        let uses = described.as_ref().and_then(|described| described.uses.as_ref());
        let of_block = || {
            let (reads, writes) = entry.as_ref().map(solved::places_of).unwrap_or_default();
            (None, reads, writes)
        };
        let (input, reads, writes) = uses.map_or_else(of_block, |uses| {
            let value = |name: &str| uses.input.get(name).map(Shown::of);
            let read = |place: &String| Place { place: place.clone(), value: value(place) };
            let written = |place: &String| Place { place: place.clone(), value: None };
            let (reads, writes) = (uses.reads.iter().map(read), uses.writes.iter().map(written));
            (Some(Shown::of(&uses.input)), reads.collect(), writes.collect())
        });
        let actions = match run.summary.journal_bytes <= DETAIL_TRACE_BYTES_MAX {
            true => self.projected(run).map(|trace| trace.actions_of(index)).unwrap_or_default(),
            false => Vec::new(),
        };
        let (record, output, missing, decisions, exchanges) = match described {
            None => (None, None, None, Vec::new(), Vec::new()),
            Some(found) => (
                Some(Shown::of(&found.record)),
                found.output.as_ref().map(Shown::of),
                found.missing.map(|error| error.message),
                found.decisions,
                found.exchanges.into_iter().chain(conversation).collect(),
            ),
        };
        let own_calls: Vec<&CallTimes> = match run.kind() {
            RunKind::Solve => solved::calls_by_record(&times).get(&index).copied().into_iter().collect(),
            _ => measured.iter().flat_map(|times| &times.calls).collect(),
        };
        Ok(RecordDetail {
            run: run.name().to_owned(),
            index,
            offset,
            bytes,
            line: row.line,
            kind: row.row.kind,
            what: row.row.what,
            status: row.row.status,
            logical_at: row.row.logical_at,
            hash: row.row.hash,
            record,
            input,
            output,
            missing,
            reads,
            writes,
            measured: row.row.measured,
            calls: own_calls.into_iter().map(CallTimesRow::of).collect(),
            waits: measured.iter().flat_map(|times| &times.waits).map(WaitTimesRow::of).collect(),
            decisions,
            exchanges: shown_exchanges(exchanges),
            actions,
        })
    }

    pub(super) fn search(
        &self,
        run: &Opened,
        text: &str,
        window: Window,
    ) -> Result<List<FoundRow>, CliError> {
        let (wanted, profile) = (text.to_lowercase(), run.profile());
        let mut items: Vec<FoundRow> = Vec::new();
        let mut next = None;
        let mut search = |journal: &Lines<'_>| {
            let mut read = 0;
            if wanted.is_empty() || window.from >= journal.count() {
                return Ok(true);
            }
            journal.visit(window.from, |line| {
                if items.len() as u64 >= window.limit || read > SEARCH_BYTES_MAX {
                    next = Some(line.index);
                    return Ok(ControlFlow::Break(()));
                }
                read += line.bytes.len();
                if let Some(excerpt) = excerpt(line.bytes, &wanted) {
                    let read = decode(line.index, line.bytes, &profile);
                    let row = LogRow::of(run.kind(), &StoreBlobs(&run.store), line.index, read);
                    let LogRow { index, kind, what, status, .. } = row;
                    items.push(FoundRow { index, kind, what, status, excerpt });
                }
                Ok(ControlFlow::Continue(()))
            })
        };
        if !search(&run.lines()?)? {
            search(&run.counted_lines()?)?;
        }
        Ok(List { total: None, from: window.from, next, items })
    }
}

impl Views {
    /// Returns the records that say more than their line: exchanges, decisions, values outside the journal.
    pub(super) fn records_with_more(&self, run: &Opened) -> Result<Vec<u64>, CliError> {
        let (kind, profile) = (run.kind(), run.profile());
        let (_, lines) = read_lines(run, Window::WHOLE)?;
        let says_more = |line: &&ReadLine| {
            let is_referring = memchr::memmem::find(&line.bytes, b"\"$blob\"").is_some();
            // The conversation of a turn and the places of a block are made from several records.
            is_referring
                || kind == RunKind::Solve
                || Described::of_line(&line.bytes, kind, &profile, Some(&run.store))
                    .is_ok_and(|found| !found.exchanges.is_empty() || !found.decisions.is_empty())
        };
        let is_step = |line: &&ReadLine| matches!(&line.record, Ok(Chained { record: Record::Step(step), .. }) if !step.result.step().starts_with('$'));
        Ok(lines.iter().filter(is_step).filter(says_more).map(|line| line.index).collect())
    }
}

/// The largest journal whose trace is made only to name the actions of one record.
const DETAIL_TRACE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Returns the outcome of a skill's step.
pub(super) fn outcome_of(run: &Opened, line: &ReadLine) -> Option<hence_cognition::run::StepOutcome> {
    let Ok(Chained { record: Record::Step(step), .. }) = &line.record else { return None };
    if run.kind() != RunKind::Skill || step.result.step().starts_with('$') {
        return None;
    }
    recorded_outcome(&attempt(&step.result), &StoreBlobs(&run.store)).ok()
}

/// Returns a text with what is around it, if a line contains it.
fn excerpt(line: &[u8], wanted: &str) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let lower = line.to_lowercase();
    let at = lower.find(wanted)?;
    // Lower case may have another length, so the place is only nearly the same.
    let near = |place: usize| line.char_indices().map(|(at, _)| at).take_while(|at| *at <= place).last();
    let start = near(at.saturating_sub(EXCERPT_BYTES)).unwrap_or(0);
    let end = near(at.saturating_add(wanted.len() + EXCERPT_BYTES)).unwrap_or(line.len());
    Some(line.get(start..end).unwrap_or_default().to_owned())
}
