//! `hence log`: the records of a run, one line each.

use std::time::Duration;

use hence_canon::Value;
use hence_engine::{Blobs, RunKind};
use hence_journal::{Chained, Control, DecodeError, Head, Lines, Record, RecordCount, RecordIndex};
use hence_state::Profile;
use hence_store::Lease;

use super::show::find_record;
use crate::address::Address;
use crate::args::{LogArgs, WatchArgs, WhyArgs};
use crate::chain;
use crate::kind::with_blobs;
use crate::measured::{MeasuredRow, NOT_MEASURED, RunTimes};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::standing;
use crate::table::{FixedColumns, Table};
use crate::target::{self, Journal};
use crate::view::RunWindow;

/// The records of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogReport {
    /// The run's id.
    run: String,
    /// The number of records of the run.
    total: u64,
    /// The selected records.
    records: Vec<LogRow>,
    /// The selected records that are not what their hashes, or the hashes before them, name.
    broken: Vec<BrokenRow>,
    /// The times in records of variables are those that the caller stated.
    #[serde(skip)]
    #[schemars(skip)]
    kind: RunKind,
}

/// A record that is not what was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BrokenRow {
    /// Its index.
    index: u64,
    /// The reasons, in the words of `hence verify`.
    reason: String,
}

/// One record.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogRow {
    /// Its index.
    pub(crate) index: u64,
    /// `header`, `step`, `control` or `unreadable`.
    pub(crate) kind: &'static str,
    /// The step's name, the control record, or the defect of the line.
    pub(crate) what: String,
    /// The status of the step: `success`, `partial` (parts of it failed), `failed`, `skipped`, `degraded` or `blocked`.
    pub(crate) status: Option<&'static str>,
    /// The time of the record by its logical clock, which counts and does not measure.
    pub(crate) logical_at: Option<String>,
    /// The measured times; null when the record was not measured.
    pub(crate) measured: Option<MeasuredRow>,
    /// The record's hash.
    pub(crate) hash: Option<String>,
    /// The output of the step, which counts its calls.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) output: Option<Value>,
}

/// The columns that a narrow terminal does without, one after the other.
const LEAST_USEFUL_FIRST: [&str; 4] = ["HASH", "RECORDED (MEASURED)", "KIND", "TOOK"];

/// The titles of the columns.
const HEADING: [&str; 7] = ["INDEX", "KIND", "WHAT", "STATUS", "HASH", "RECORDED (MEASURED)", "TOOK"];

/// Cells as wide as those that most runs will have: columns that are fixed before the records exist have room for them.
const EXPECTED: [&str; 7] = [
    "1000",
    "control",
    "loop 10: continue",
    "completed",
    "0123456789ab",
    "2026-02-02T00:00:00.000Z",
    "1000 ms",
];

impl LogReport {
    /// Lays out the records.
    fn table(&self) -> Table {
        let mut rows = vec![HEADING.map(str::to_owned)];
        rows.extend(self.rows());
        table(&rows, &LEAST_USEFUL_FIRST)
    }

    /// Fixes the columns for these records and for later ones.
    fn columns(&self) -> FixedColumns {
        let mut rows = vec![HEADING.map(str::to_owned), EXPECTED.map(str::to_owned)];
        rows.extend(self.rows());
        FixedColumns::of(&rows, &LEAST_USEFUL_FIRST)
    }

    /// Returns the cells of the records.
    fn rows(&self) -> Vec<[String; 7]> {
        let mut rows = Vec::new();
        for record in &self.records {
            rows.push([
                record.index.to_string(),
                record.kind.to_owned(),
                escape(&record.what),
                match self.broken.iter().any(|broken| broken.index == record.index) {
                    true => "altered".to_owned(),
                    false => record.status.unwrap_or("").to_owned(),
                },
                record.hash.as_deref().unwrap_or_default().chars().take(12).collect(),
                match (&record.measured, &record.logical_at) {
                    (Some(measured), _) => measured.recorded_at().to_owned(),
                    (None, Some(at)) if self.kind == RunKind::Variables => format!("{at}, as stated"),
                    (None, _) => NOT_MEASURED.to_owned(),
                },
                record.measured.as_ref().map(MeasuredRow::took).unwrap_or_default(),
            ]);
        }
        rows
    }
}

impl Text for LogReport {
    fn text(&self) -> String {
        let Some(last) = self.records.last().map(|record| record.index + 1) else {
            return format!("no record there; the run has {}", self.total);
        };
        let mut text = self.table().with_note();
        if last < self.total {
            text.push_str(&format!(
                "{} more; --from {last} continues, --limit 0 shows all\n",
                self.total - last
            ));
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &LogArgs) -> Result<Exit, CliError> {
    let address = Address::find(context, &args.run)?;
    if let Some(exit) = window_of_long_run(context, args, &address)? {
        return Ok(exit);
    }
    let journal = Journal::of_run(context, &address.run)?;
    let from = match &address.at {
        Some(at) => find_record(&journal, at)?.get(),
        None => args.from,
    };
    let times = RunTimes::of(&journal);
    times.say(context, &journal.name);
    let report = listed(&journal, &times, from, args.limit);
    if args.follow {
        follow(context, &report, from)?;
    } else {
        context.print_paged(&report)?;
    }
    Ok(chain::report_break(context, &journal))
}

/// Lists some records of a long run, which is not read for it. Returns nothing if the whole run is to be read.
fn window_of_long_run(
    context: &Context,
    args: &LogArgs,
    address: &Address,
) -> Result<Option<Exit>, CliError> {
    let from = match &address.at {
        Some(at) => at.parse::<u64>().ok(),
        None => Some(args.from),
    };
    let Some(from) = from.filter(|_| args.limit > 0 && !args.follow) else { return Ok(None) };
    let store = context.store()?;
    let id = target::find_run(&store, &address.run)?;
    let Some(window) = RunWindow::read(store, id, from, args.limit as u64)? else { return Ok(None) };
    // A record that is asked for by its index, and is not there, is an error.
    if address.at.is_some() && from >= window.total {
        return Ok(None);
    }
    let (mut records, mut broken) = (Vec::new(), Vec::new());
    for (line, reason) in window.records() {
        let blobs = StoreBlobs(window.store());
        // A line that cannot be read is described once more from its bytes.
        let read = decoded(line.index, &line.bytes, &window.profile());
        let row = LogRow::of(window.kind(), &blobs, line.index, read);
        records.push(row.measured_by(&window.times));
        broken.extend(reason.map(|reason| BrokenRow { index: line.index, reason }));
    }
    let (run, kind) = (window.name().to_owned(), window.kind());
    let report = LogReport { run, total: window.total, records, broken, kind };
    context.print_paged(&report)?;
    let exit = match report.broken.first() {
        Some(BrokenRow { index, reason }) => {
            let found = format!("its chain is broken at record {index}: {reason}");
            chain::report_broken(context, &report.run, &found)
        }
        None => Exit::Yes,
    };
    Ok(Some(exit))
}

fn decoded(index: u64, line: &[u8], profile: &Profile) -> Result<Chained, DecodeError> {
    match index {
        0 => Chained::decode_header(line).map(|(header, _)| header),
        _ => Chained::decode(line, profile),
    }
}

/// Lists records from one on, at most so many; 0 lists all.
fn listed(journal: &Journal, times: &RunTimes, from: u64, limit: usize) -> LogReport {
    let profile = journal.profile();
    let lines = Lines::of(&journal.bytes);
    let total = lines.count().get();
    let limit = if limit == 0 { u64::MAX } else { limit as u64 };
    let until = from.saturating_add(limit).min(total);
    let line_of = |index: u64| lines.get(RecordIndex::new(index)).unwrap_or_default();
    let hash_of = |index: u64| decoded(index, line_of(index), &profile).ok().map(|chained| chained.hash);
    let mut before = from.checked_sub(1).and_then(hash_of);
    let (mut records, mut broken) = (Vec::new(), Vec::new());
    // Reading continues after an unreadable line: a damaged record hides only itself.
    for index in from..until {
        let read = decoded(index, line_of(index), &profile);
        let head = before.map(|hash| Head { hash, records: RecordCount::new(index) });
        let reason = chain::line_break(index, line_of(index), head, &profile).filter(|_| read.is_ok());
        broken.extend(reason.map(|reason| BrokenRow { index, reason }));
        before = read.as_ref().ok().map(|chained| chained.hash);
        let row = with_blobs(journal, |blobs| LogRow::of(journal.kind, blobs, index, read));
        records.push(row.measured_by(times));
    }
    LogReport { run: journal.name.clone(), total, records, broken, kind: journal.kind }
}

/// The pause between two looks at a journal that is followed.
const FOLLOW_PAUSE: Duration = Duration::from_millis(200);

/// Prints records, and those after them as they are appended, until nobody writes the run.
fn follow(context: &Context, first: &LogReport, from: u64) -> Result<(), CliError> {
    let run = first.run.as_str();
    let columns = first.columns();
    let mut next = first.records.last().map_or(from, |record| record.index + 1);
    let heading = columns.rows(&[HEADING.map(str::to_owned)]);
    context.print_as_text(&Rows(format!(
        "{}{}{}",
        heading.note(),
        heading.text,
        columns.rows(&first.rows()).text
    )))?;
    let store = context.store()?;
    let id = target::find_run(&store, run)?;
    loop {
        // The lease is read first: what was appended before it ended is then seen.
        let is_written = !matches!(store.lease(&id)?, Lease::Free);
        let length = store.summary(&id)?.journal_bytes;
        let journal = Journal::of_run(context, run)?;
        let report = listed(&journal, &RunTimes::of(&journal), next, 0);
        if let Some(last) = report.records.last() {
            next = last.index + 1;
            context.print_as_text(&Rows(columns.rows(&report.rows()).text))?;
        }
        if !is_written {
            return Ok(());
        }
        while store.summary(&id)?.journal_bytes == length && !matches!(store.lease(&id)?, Lease::Free) {
            // Nothing tells when another process appends, so the length is looked at from time to time.
            std::thread::sleep(FOLLOW_PAUSE);
        }
    }
}

/// Rows that are laid out already.
struct Rows(String);

impl Text for Rows {
    fn text(&self) -> String {
        self.0.clone()
    }
}

/// Shows the records of a run as they are appended, then what it waits for or how it ended.
pub(super) fn watch(context: &Context, args: &WatchArgs) -> Result<Exit, CliError> {
    let Address { run, at } = Address::find(context, &args.run)?;
    if !context.is_json() {
        let journal = Journal::of_run(context, &run)?;
        let from = match &at {
            Some(at) => find_record(&journal, at)?.get(),
            None => 0,
        };
        let report = listed(&journal, &RunTimes::of(&journal), from, 0);
        follow(context, &report, from)?;
    }
    super::why::run(context, &WhyArgs { run: run.as_str().into() })
}

impl LogRow {
    /// Describes a line of a journal, without its measured times.
    pub(crate) fn of(
        kind: RunKind,
        blobs: &dyn Blobs,
        index: u64,
        read: Result<Chained, DecodeError>,
    ) -> Self {
        match read {
            Ok(chained) => of_record(kind, blobs, index, &chained),
            Err(error) => Self {
                index,
                kind: "unreadable",
                what: error.to_string(),
                status: None,
                logical_at: None,
                measured: None,
                hash: None,
                output: None,
            },
        }
    }

    /// Adds the measured times.
    fn measured_by(mut self, times: &RunTimes) -> Self {
        let output = self.output.take();
        self.measured = times.row(self.index).map(|row| row.counting(output.as_ref()));
        self
    }
}

fn of_record(run: RunKind, blobs: &dyn Blobs, index: u64, chained: &Chained) -> LogRow {
    let (kind, what, status, at) = match &chained.record {
        Record::Header(header) => ("header", header.profile.to_string(), None, Some(&header.created_at)),
        Record::Step(step) => (
            "step",
            step.result.step().to_string(),
            Some(standing::of_step(run, &step.result, blobs)),
            Some(step.result.finished_at()),
        ),
        Record::Control(Control::Loop(control)) => (
            "control",
            format!("loop {}: {}", control.loop_iteration, control.action.as_str()),
            None,
            control.at.as_ref(),
        ),
        Record::Control(Control::Complete { at, .. }) => ("control", "complete".to_owned(), None, Some(at)),
        Record::Control(Control::Checkpoint(control)) => {
            ("control", format!("checkpoint {}: after record {}", control.name, control.position), None, None)
        }
        Record::Control(Control::Rollback(control)) => {
            let what = format!("rollback to {}: after record {}", control.name, control.to);
            ("control", what, None, Some(&control.at))
        }
    };
    let (logical_at, hash) = (at.map(ToString::to_string), Some(chained.hash.to_string()));
    let output = match &chained.record {
        Record::Step(step) if run == RunKind::Skill => {
            step.result.outcome().output().map(|output| output.value().clone())
        }
        _ => None,
    };
    LogRow { index, kind, what, status, logical_at, measured: None, hash, output }
}
