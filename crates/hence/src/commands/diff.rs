//! `hence diff`: the first line at which two journals differ, then the differences by step and path.

use hence_canon::parse;
use hence_engine::changes;
use hence_journal::{Lines, RecordIndex, verify};

use crate::args::DiffArgs;
use crate::prelude::*;
use crate::target::Journal;

/// The differences between two journals.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiffReport {
    /// The first journal.
    pub(crate) left: String,
    /// The second journal.
    pub(crate) right: String,
    /// Whether every byte is equal.
    pub(crate) equal: bool,
    /// The first line at which they differ, from 0.
    pub(crate) first_line: Option<u64>,
    /// The number of records of each journal.
    pub(crate) records: [u64; 2],
    /// The number of paths that differ.
    pub(crate) total: usize,
    /// The paths that differ, without hashes, which follow from the rest.
    pub(crate) places: Vec<Place>,
}

/// One path at which two journals differ.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Place {
    /// The line, from 0.
    pub(crate) line: u64,
    /// The step, if it is the same in both journals.
    pub(crate) step: Option<String>,
    /// The path inside the record, or below `/problem` inside the problem that the header binds.
    pub(crate) path: String,
    /// The value in the first journal.
    pub(crate) left: Option<Data>,
    /// The value in the second journal.
    pub(crate) right: Option<Data>,
}

/// Members that are hashes of other members: they differ whenever another member does, and explain nothing.
const HASHES: [&str; 9] = [
    "/record_hash",
    "/prev_hash",
    "/state_before_hash",
    "/state_after_hash",
    "/state_hash",
    "/problem_spec_hash",
    "/initial_state_hash",
    "/result/input_hash",
    "/result/output_hash",
];

/// The beginning of a path in the problem of a run.
const PROBLEM: &str = "/problem";

/// The ends of paths that differ between any two runs.
const IDS_AND_TIMES: [&str; 5] = ["/trace_id", "/created_at", "/started_at", "/finished_at", "/at"];

/// The number of characters of a value in a line of text.
const VALUE_CHARACTERS: usize = 60;

impl Text for DiffReport {
    fn text(&self) -> String {
        let Some(first) = self.first_line else {
            let (left, right) = (escape(&self.left), escape(&self.right));
            return format!("{left} and {right} are equal, {}", counted(self.records[0], "record"));
        };
        let mut text =
            format!("{} and {} differ from record {first} on\n", escape(&self.left), escape(&self.right));
        if self.records[0] != self.records[1] {
            text.push_str(&format!("  records: {} and {}\n", self.records[0], self.records[1]));
        }
        let differs_anyway = |place: &Place| IDS_AND_TIMES.iter().any(|end| place.path.ends_with(end));
        if self.places.len() == self.total && self.total > 0 && self.places.iter().all(differs_anyway) {
            text.push_str("  in ids and times alone\n");
        }
        let mut heading = None;
        for place in &self.places {
            if heading != Some(place.line) {
                heading = Some(place.line);
                let step =
                    place.step.as_deref().map(|step| format!(" ({})", escape(step))).unwrap_or_default();
                text.push_str(&format!("record {}{step}\n", place.line));
            }
            let show = |data: &Option<Data>| {
                data.as_ref()
                    .map_or("nothing".to_owned(), |data| one_line(&data.0.to_string(), VALUE_CHARACTERS))
            };
            let path = if place.path.is_empty() { "whole record".to_owned() } else { escape(&place.path) };
            text.push_str(&format!("  {path}  {} | {}\n", show(&place.left), show(&place.right)));
        }
        if self.total == 0 {
            text.push_str("  the values are the same, spelled otherwise\n");
        }
        if self.places.len() < self.total {
            text.push_str(&format!("{} more places; --limit 0 shows all\n", self.total - self.places.len()));
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &DiffArgs) -> Result<Exit, CliError> {
    let left = Journal::of_target(context, &args.left)?;
    let right = Journal::of_target(context, &args.right)?;
    let mut report = DiffReport::of(&left, &right);
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    report.places.truncate(limit);
    context.print(&report)?;
    Ok(if report.equal { Exit::Yes } else { Exit::No })
}

impl DiffReport {
    /// Compares two journals, with every place at which they differ.
    pub(crate) fn of(left: &Journal, right: &Journal) -> Self {
        let first_line = verify::first_difference(&left.bytes, &right.bytes);
        let (left_lines, right_lines) = (Lines::of(&left.bytes), Lines::of(&right.bytes));
        let records = [left_lines.count().get(), right_lines.count().get()];
        let mut places = Vec::new();
        if let Some(first) = first_line {
            for line in first..records[0].max(records[1]) {
                compare_line(line, &left_lines, &right_lines, &mut places);
            }
        }
        // The hash of the problem is in the header; what differs in it is next to the journal.
        if let (Ok(Some(left)), Ok(Some(right))) = (left.parsed_problem(), right.parsed_problem()) {
            let own = changes(&left.value, &right.value).into_iter();
            // The header has these itself.
            let own =
                own.filter(|change| !["/id", "/created_at"].contains(&change.pointer.to_string().as_str()));
            let own = own.map(|change| Place {
                line: 0,
                step: None,
                path: format!("{PROBLEM}{}", change.pointer),
                left: change.left.map(Data),
                right: change.right.map(Data),
            });
            // They come with the header, before the other records.
            let at = places.iter().take_while(|place| place.line == 0).count();
            places.splice(at..at, own);
        }
        let (left, right) = (left.name.clone(), right.name.clone());
        let (equal, total) = (first_line.is_none(), places.len());
        Self { left, right, equal, first_line, records, total, places }
    }
}

fn compare_line(line: u64, left: &Lines<'_>, right: &Lines<'_>, places: &mut Vec<Place>) {
    // A line that is not JSON is compared as text.
    let as_text = |text: &[u8]| hence_canon::Value::from(String::from_utf8_lossy(text).as_ref());
    let read = |lines: &Lines<'_>| {
        lines.get(RecordIndex::new(line)).map(|text| parse(text).unwrap_or_else(|_| as_text(text)))
    };
    let (left, right) = (read(left), read(right));
    let (Some(left), Some(right)) = (&left, &right) else {
        let whole = |value: Option<hence_canon::Value>| value.map(Data);
        places.push(Place { line, step: None, path: String::new(), left: whole(left), right: whole(right) });
        return;
    };
    let step = |record: &hence_canon::Value| record.get("result")?.get("step")?.as_str().map(str::to_owned);
    let common = step(left).filter(|name| step(right).as_ref() == Some(name));
    for change in changes(left, right) {
        let path = change.pointer.to_string();
        if !HASHES.contains(&path.as_str()) {
            let (left, right) = (change.left.map(Data), change.right.map(Data));
            places.push(Place { line, step: common.clone(), path, left, right });
        }
    }
}
