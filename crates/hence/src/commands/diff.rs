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
    left: String,
    /// The second journal.
    right: String,
    /// Whether every byte is equal.
    equal: bool,
    /// The first line at which they differ, from 0.
    first_line: Option<u64>,
    /// The number of records of each journal.
    records: [u64; 2],
    /// The number of paths that differ.
    total: usize,
    /// The paths that differ, without hashes, which follow from the rest.
    places: Vec<Place>,
}

/// One path at which two journals differ.
#[derive(Serialize, JsonSchema)]
struct Place {
    /// The line, from 0.
    line: u64,
    /// The step, if it is the same in both journals.
    step: Option<String>,
    /// The path inside the record.
    path: String,
    /// The value in the first journal.
    left: Option<Data>,
    /// The value in the second journal.
    right: Option<Data>,
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
    let first_line = verify::first_difference(&left.bytes, &right.bytes);
    let (left_lines, right_lines) = (Lines::of(&left.bytes), Lines::of(&right.bytes));
    let records = [left_lines.count().get(), right_lines.count().get()];
    let mut places = Vec::new();
    if let Some(first) = first_line {
        for line in first..records[0].max(records[1]) {
            compare_line(line, &left_lines, &right_lines, &mut places);
        }
    }
    let total = places.len();
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    places.truncate(limit);
    let equal = first_line.is_none();
    context.print(&DiffReport {
        left: left.name,
        right: right.name,
        equal,
        first_line,
        records,
        total,
        places,
    })?;
    Ok(if equal { Exit::Yes } else { Exit::No })
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
