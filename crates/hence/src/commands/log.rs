//! `hence log`: the records of a run, one line each.

use hence_engine::RunKind;
use hence_journal::{Chained, Control, Lines, ReadError, Record, RecordIndex};

use crate::args::LogArgs;
use crate::kind::with_blobs;
use crate::measured::{MeasuredRow, NOT_MEASURED, RunTimes};
use crate::prelude::*;
use crate::standing;
use crate::target::Journal;

/// The records of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogReport {
    /// The run's id.
    run: String,
    /// The number of records of the run.
    total: u64,
    /// The selected records.
    records: Vec<LogRow>,
    /// The times in records of variables are those that the caller stated.
    #[serde(skip)]
    #[schemars(skip)]
    kind: RunKind,
}

/// One record.
#[derive(Serialize, JsonSchema)]
struct LogRow {
    /// Its index.
    index: u64,
    /// `header`, `step`, `control` or `unreadable`.
    kind: &'static str,
    /// The step's name, the control record, or the defect of the line.
    what: String,
    /// The status of the step: `success`, `partial` (parts of it failed), `failed`, `skipped`, `degraded` or `blocked`.
    status: Option<&'static str>,
    /// The time of the record by its logical clock, which counts and does not measure.
    logical_at: Option<String>,
    /// The measured times; null when the record was not measured.
    measured: Option<MeasuredRow>,
    /// The record's hash.
    hash: Option<String>,
}

impl Text for LogReport {
    fn text(&self) -> String {
        let mut rows = vec![
            ["INDEX", "KIND", "WHAT", "STATUS", "HASH", "RECORDED (MEASURED)", "TOOK"].map(str::to_owned),
        ];
        for record in &self.records {
            rows.push([
                record.index.to_string(),
                record.kind.to_owned(),
                escape(&record.what),
                record.status.unwrap_or("").to_owned(),
                record.hash.as_deref().unwrap_or_default().chars().take(12).collect(),
                match (&record.measured, &record.logical_at) {
                    (Some(measured), _) => measured.recorded_at().to_owned(),
                    (None, Some(at)) if self.kind == RunKind::Variables => format!("{at}, as stated"),
                    (None, _) => NOT_MEASURED.to_owned(),
                },
                record.measured.as_ref().map(MeasuredRow::took).unwrap_or_default(),
            ]);
        }
        let Some(last) = self.records.last().map(|record| record.index + 1) else {
            return format!("no record there; the run has {}", self.total);
        };
        let mut text = columns(&rows);
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
    let journal = Journal::of_run(context, &args.run)?;
    let profile = journal.profile();
    let times = RunTimes::of(&journal);
    times.say(context, &journal.name);
    let lines = Lines::of(&journal.bytes);
    let total = lines.count().get();
    let limit = if args.limit == 0 { u64::MAX } else { args.limit as u64 };
    let until = args.from.saturating_add(limit).min(total);
    // Reading continues after an unreadable line: a damaged record hides only itself.
    let rows = (args.from..until).map(|index| {
        let line = lines.get(RecordIndex::new(index)).unwrap_or_default();
        let read = if index == 0 {
            Chained::decode_header(line).map(|(header, _)| header)
        } else {
            Chained::decode(line, &profile)
        };
        let row =
            row(&journal, index, read.map_err(|error| ReadError { index: RecordIndex::new(index), error }));
        LogRow { measured: times.row(index), ..row }
    });
    let records = rows.collect();
    context.print(&LogReport { run: journal.name.clone(), total, records, kind: journal.kind })?;
    Ok(Exit::Yes)
}

fn row(journal: &Journal, index: u64, read: Result<Chained, ReadError>) -> LogRow {
    let chained = match read {
        Ok(chained) => chained,
        Err(error) => {
            let what = error.error.to_string();
            return LogRow {
                index,
                kind: "unreadable",
                what,
                status: None,
                logical_at: None,
                measured: None,
                hash: None,
            };
        }
    };
    let (kind, what, status, at) = match &chained.record {
        Record::Header(header) => ("header", header.profile.to_string(), None, Some(&header.created_at)),
        Record::Step(step) => (
            "step",
            step.result.step().to_string(),
            Some(with_blobs(journal, |blobs| standing::of_step(journal.kind, &step.result, blobs))),
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
    LogRow { index, kind, what, status, logical_at, measured: None, hash }
}
