//! `hence diff`: the first line at which two journals differ, then the differences by step and path. Records of the same step are
//! compared, wherever they stand.

use hence_canon::parse;
use hence_engine::changes;
use hence_journal::{Lines, RecordIndex, verify};

use crate::args::DiffArgs;
use crate::layout::display_width;
use crate::prelude::*;
use crate::target::Journal;
use crate::terminal;

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
    /// The line of the first journal, from 0; of the second one, if only that has the record.
    pub(crate) line: u64,
    /// The line of the second journal, where records before it put it at another place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) right_line: Option<u64>,
    /// The step, unless the records are of different steps.
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

/// The fewest characters of a value on a narrow terminal.
const VALUE_CHARACTERS_MIN: usize = 20;

impl Place {
    /// Returns the path and both values: in one line, or below one another where that is wider than the terminal.
    fn text(&self, width: Option<usize>) -> String {
        let show = |data: &Option<Data>, limit: usize| {
            data.as_ref().map_or("nothing".to_owned(), |data| one_line(&data.0.to_string(), limit))
        };
        let path = if self.path.is_empty() { "whole record".to_owned() } else { escape(&self.path) };
        let (left, right) = (show(&self.left, VALUE_CHARACTERS), show(&self.right, VALUE_CHARACTERS));
        let line = format!("  {path}  {left} | {right}\n");
        let Some(width) = width.filter(|width| display_width(line.trim_end()) > *width) else { return line };
        // The indentation, the sign and the `…` of a value that is cut.
        let limit = width.saturating_sub(7).clamp(VALUE_CHARACTERS_MIN, VALUE_CHARACTERS);
        format!("  {path}\n      {}\n    | {}\n", show(&self.left, limit), show(&self.right, limit))
    }
}

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
        let differs_anyway = |place: &&Place| IDS_AND_TIMES.iter().any(|end| place.path.ends_with(end));
        let anyway = self.places.iter().filter(differs_anyway).count();
        if self.places.len() == self.total && self.total > 0 && anyway == self.total {
            text.push_str("  in ids and times alone\n");
        }
        let mut heading = None;
        for place in self.places.iter().filter(|place| !differs_anyway(place)) {
            if heading != Some((place.line, place.right_line)) {
                heading = Some((place.line, place.right_line));
                let step =
                    place.step.as_deref().map(|step| format!(" ({})", escape(step))).unwrap_or_default();
                let other = place.right_line.map(|line| format!(" and {line}")).unwrap_or_default();
                let noun = if other.is_empty() { "record" } else { "records" };
                text.push_str(&format!("{noun} {}{other}{step}\n", place.line));
            }
            text.push_str(&place.text(terminal::width()));
        }
        if self.total == 0 {
            text.push_str("  the values are the same, spelled otherwise\n");
        }
        if anyway > 0 {
            let noun = if anyway == 1 { "id or time differs" } else { "ids and times differ" };
            text.push_str(&format!("{anyway} {noun} as in any two runs; --json lists them\n"));
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
            for (left, right) in aligned(first, &left_lines, &right_lines) {
                compare_lines((left, &left_lines), (right, &right_lines), &mut places);
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
                right_line: None,
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

/// The records after one that are searched for its counterpart.
const SEARCHED_RECORDS: usize = 64;

/// Pairs the records of two journals from a line on: records of the same step or of the same kind of control belong together, and
/// one that has no counterpart nearby stands alone.
fn aligned(first: u64, left: &Lines<'_>, right: &Lines<'_>) -> Vec<(Option<u64>, Option<u64>)> {
    let subjects = |lines: &Lines<'_>| -> Vec<Option<Subject>> {
        let texts = (first..lines.count().get()).filter_map(|line| lines.get(RecordIndex::new(line)));
        texts.map(|text| parse(text).ok().and_then(|record| Subject::of(&record))).collect()
    };
    let (left, right) = (subjects(left), subjects(right));
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    let line = |place: usize| Some(first + place as u64);
    while let (Some(one), Some(other)) = (left.get(i), right.get(j)) {
        let position = |subjects: &[Option<Subject>], subject: &Option<Subject>| {
            subject.as_ref()?;
            subjects.iter().take(SEARCHED_RECORDS).position(|known| known == subject)
        };
        let after_left = position(left.get(i..).unwrap_or_default(), other);
        let after_right = position(right.get(j..).unwrap_or_default(), one);
        match (after_left, after_right) {
            _ if one == other => {
                pairs.push((line(i), line(j)));
                (i, j) = (i + 1, j + 1);
            }
            (Some(skipped), found) if found.is_none_or(|found| skipped <= found) => {
                pairs.extend((i..i + skipped).map(|place| (line(place), None)));
                i += skipped;
            }
            (_, Some(skipped)) => {
                pairs.extend((j..j + skipped).map(|place| (None, line(place))));
                j += skipped;
            }
            _ => {
                pairs.push((line(i), line(j)));
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    pairs.extend((i..left.len()).map(|place| (line(place), None)));
    pairs.extend((j..right.len()).map(|place| (None, line(place))));
    pairs
}

/// The subject of a record, by which records of two journals are paired.
#[derive(PartialEq)]
enum Subject {
    /// The step whose result it is.
    Step(String),
    /// The type and the action of a control record.
    Control(String, String),
}

impl Subject {
    fn of(record: &hence_canon::Value) -> Option<Self> {
        let word = |member: &str| record.get(member).and_then(hence_canon::Value::as_str).map(str::to_owned);
        let control = || Some(Self::Control(word("control_type")?, word("action")?));
        step_of(record).map(Self::Step).or_else(control)
    }
}

fn step_of(record: &hence_canon::Value) -> Option<String> {
    record.get("result")?.get("step")?.as_str().map(str::to_owned)
}

fn compare_lines(
    (left_line, left): (Option<u64>, &Lines<'_>),
    (right_line, right): (Option<u64>, &Lines<'_>),
    places: &mut Vec<Place>,
) {
    // A line that is not JSON is compared as text.
    let as_text = |text: &[u8]| hence_canon::Value::from(String::from_utf8_lossy(text).as_ref());
    let read = |lines: &Lines<'_>, line: Option<u64>| {
        lines.get(RecordIndex::new(line?)).map(|text| parse(text).unwrap_or_else(|_| as_text(text)))
    };
    let (left, right) = (read(left, left_line), read(right, right_line));
    let Some(line) = left_line.or(right_line) else { return };
    let right_line = right_line.filter(|right| *right != line);
    let (Some(left), Some(right)) = (&left, &right) else {
        let step = left.as_ref().or(right.as_ref()).and_then(step_of);
        let (left, right) = (left.map(Data), right.map(Data));
        places.push(Place { line, right_line, step, path: String::new(), left, right });
        return;
    };
    let common = step_of(left).filter(|name| step_of(right).as_ref() == Some(name));
    for change in changes(left, right) {
        let path = change.pointer.to_string();
        // Numbers of records that stand at different places differ because of what stands before them.
        let follows = right_line.is_some() && ["/index", "/step_index"].contains(&path.as_str());
        if !follows && !HASHES.contains(&path.as_str()) {
            let (left, right) = (change.left.map(Data), change.right.map(Data));
            places.push(Place { line, right_line, step: common.clone(), path, left, right });
        }
    }
}
