//! Two runs side by side: the first divergence, then each path, the records around it, the last states.

use hence_engine::{Engine, changes};
use hence_journal::{Chained, Lines, RecordIndex};
use hence_server::Window;

use super::Views;
use super::opened::Opened;
use super::shown::{Budget, List, Shown};
use super::state::ChangeRow;
use super::summary::wall_ms;
use crate::commands::diff::{DiffReport, Place};
use crate::commands::log::LogRow;
use crate::commands::runs;
use crate::kind::{self, Purpose, whole_records, with_blobs};
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::target::Journal;
use crate::usage::UsageReport;

/// The records around the first divergence that are shown side by side.
const ROWS_BEFORE: u64 = 5;
const ROWS_MAX: u64 = 100;

/// The differences of the last states that are shown.
const STATE_MAX: usize = 100;

/// One of the two runs.
#[derive(Serialize, JsonSchema)]
struct Side {
    run: String,
    records: u64,
    status: String,
    usage: Option<UsageReport>,
    wall_ms: Option<u64>,
}

/// A path at which the runs differ.
#[derive(Serialize, JsonSchema)]
struct PlaceRow {
    /// The record.
    line: u64,
    /// The step, if it is the same in both runs.
    step: Option<String>,
    /// The path inside the record.
    path: String,
    left: Option<Shown>,
    right: Option<Shown>,
}

/// A record of one run next to that of the other.
#[derive(Serialize, JsonSchema)]
struct PairRow {
    line: u64,
    left: Option<LogRow>,
    right: Option<LogRow>,
    /// Whether the lines are equal.
    same: bool,
}

/// Two runs side by side.
#[derive(Serialize, JsonSchema)]
pub(super) struct CompareReport {
    left: Side,
    right: Side,
    /// Whether every byte is equal.
    equal: bool,
    /// The first record at which they differ.
    first: Option<u64>,
    #[serde(flatten)]
    list: List<PlaceRow>,
    /// The records around the first divergence.
    rows: Vec<PairRow>,
    /// The differences of the last states, the first of them; null where a state cannot be made.
    state: Option<Vec<ChangeRow>>,
}

impl Views {
    pub(super) fn compare(&self, left: &str, right: &str, window: Window) -> Result<CompareReport, CliError> {
        let (left, right) = (Opened::find(self, left)?, Opened::find(self, right)?);
        let journals = (left.whole()?, right.whole()?);
        let report = DiffReport::of(&journals.0, &journals.1);
        let list = List::of_slice(window, &report.places, place_row);
        let mut budget = Budget::of(window);
        list.items.iter().for_each(|item| {
            budget.take(item);
        });
        let rows = pairs_of(&journals, report.first_line);
        let state = last_states(&journals).map(|found| found.iter().map(ChangeRow::of).collect::<Vec<_>>());
        Ok(CompareReport {
            left: self.side(&left, &journals.0, report.records[0]),
            right: self.side(&right, &journals.1, report.records[1]),
            equal: report.equal,
            first: report.first_line,
            list,
            rows: rows.into_iter().take_while(|row| budget.take(row)).collect(),
            state: state
                .map(|rows| rows.into_iter().take(STATE_MAX).take_while(|row| budget.take(row)).collect()),
        })
    }

    fn side(&self, run: &Opened, journal: &Journal, records: u64) -> Side {
        let usage = kind::open(journal, &[], Purpose::Read).ok().map(|open| open.usage(journal));
        Side {
            run: run.name().to_owned(),
            records,
            status: runs::fresh_row(&self.context, &run.store, &run.summary).status,
            usage,
            wall_ms: wall_ms(&RunTimes::of(journal).totals()),
        }
    }
}

fn place_row(place: &Place) -> PlaceRow {
    let shown = |data: &Option<Data>| data.as_ref().map(|data| Shown::of(&data.0));
    PlaceRow {
        line: place.line,
        step: place.step.clone(),
        path: place.path.clone(),
        left: shown(&place.left),
        right: shown(&place.right),
    }
}

fn pairs_of(journals: &(Journal, Journal), first: Option<u64>) -> Vec<PairRow> {
    let (left, right) = (Lines::of(&journals.0.bytes), Lines::of(&journals.1.bytes));
    let from = first.unwrap_or(0).saturating_sub(ROWS_BEFORE);
    let until = left.count().get().max(right.count().get()).min(from + ROWS_MAX);
    let row = |journal: &Journal, lines: &Lines<'_>, at: u64| {
        let line = lines.get(RecordIndex::new(at))?;
        let read = match at {
            0 => Chained::decode_header(line).map(|(header, _)| header),
            _ => Chained::decode(line, &journal.profile()),
        };
        Some(with_blobs(journal, |blobs| LogRow::of(journal.kind, blobs, at, read)))
    };
    let pair = |at: u64| PairRow {
        line: at,
        left: row(&journals.0, &left, at),
        right: row(&journals.1, &right, at),
        same: left.get(RecordIndex::new(at)) == right.get(RecordIndex::new(at)),
    };
    (from..until).map(pair).collect()
}

fn last_states(journals: &(Journal, Journal)) -> Option<Vec<hence_engine::Change>> {
    let state = |journal: &Journal| {
        let problem = journal.required_problem().ok()?;
        Engine::new().state_at(whole_records(&journal.bytes), problem, None).ok()
    };
    let (left, right) = (state(&journals.0)?, state(&journals.1)?);
    Some(changes(left.canonical().value(), right.canonical().value()))
}
