//! `hence show`: one record, with large values in place of their references.

use hence_canon::{JsonPointer, Value, parse};
use hence_engine::RunKind;
use hence_journal::{Chained, Lines, Record, RecordIndex};

use crate::args::ShowArgs;
use crate::exchanges::ExchangeRow;
use crate::measured::{self, CallTimesRow, MeasuredRow, RunTimes, WaitTimesRow};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::DecisionRow;
use crate::standing;
use crate::target::Journal;

/// One record of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShowReport {
    /// The run's id.
    run: String,
    /// The record's index.
    index: u64,
    /// The record as it is hashed.
    record: Data,
    /// The step's output, read from the blobs if it is stored outside the journal; null if it is not available. Of a
    /// failed step, its outcome, where that is stored outside the journal.
    output: Option<Data>,
    /// The status of the step: `success`, `partial` (parts of it failed), `failed`, `skipped`, `degraded` or `blocked`. A
    /// step that failed while its run continued is recorded as `success`, with an outcome that says it failed.
    status: Option<&'static str>,
    /// The measured times of the record; null when it was not measured.
    measured: Option<MeasuredRow>,
    /// The measured times of the calls of its step.
    calls: Vec<CallTimesRow>,
    /// The measured waits of its step for people.
    waits: Vec<WaitTimesRow>,
    /// The approvals and rejections in it.
    decisions: Vec<DecisionRow>,
    /// The exchanges with language models, one entry for each call.
    exchanges: Vec<ExchangeRow>,
}

impl Text for ShowReport {
    fn text(&self) -> String {
        let mut text = escape_json(&hence_canon::pretty(&self.record.0));
        let is_fetched =
            self.output.as_ref().is_some_and(|output| recorded_output(&self.record.0) != Some(&output.0));
        if let Some(output) = self.output.as_ref().filter(|_| is_fetched) {
            text.push_str("\n\noutput, fetched by its digest:\n");
            text.push_str(&escape_json(&hence_canon::pretty(&output.0)));
        }
        let mut rows: Vec<_> = self.decisions.iter().map(DecisionRow::row).collect();
        let recorded = self.record.0.get("result").and_then(|result| result.get("status")?.as_str());
        if let (Some(status), Some(recorded)) = (self.status, recorded)
            && status != recorded
        {
            rows.push(("status", format!("{status}, recorded as {recorded}")));
        }
        rows.extend(measured::rows(self.measured.as_ref(), &self.calls, &self.waits));
        text.push_str(&format!("\n\n{}", pairs(&rows)));
        for exchange in &self.exchanges {
            text.push_str(&format!("\n\n{}", exchange.text()));
        }
        text
    }
}

fn recorded_output(record: &Value) -> Option<&Value> {
    let at = |key: &str| record.pointer(&["result", key].into_iter().collect::<JsonPointer>());
    // A failed step has no output; its outcome may be stored outside the journal, too.
    at("output").or_else(|| at("outcome").filter(|outcome| hence_engine::referenced(outcome).is_some()))
}

pub(super) fn run(context: &Context, args: &ShowArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    let index = find_record(&journal, &args.step)?;
    let lines = Lines::of(&journal.bytes);
    let line = lines.get(index).unwrap_or_default();
    let record = parse(line).map_err(|error| {
        CliError::of_run(Code::BadRecord, format_args!("{}: record {index}", journal.name), error)
            .with_hint(hint::verify(&journal.name))
    })?;
    let output = match (recorded_output(&record), &journal.store) {
        (Some(output), Some(store)) => {
            hence_engine::resolve(&output.clone().into(), &StoreBlobs(store)).map(|value| Some(Data(value)))
        }
        _ => Ok(None),
    };
    // The record is shown even if the value it refers to is not available.
    let (output, missing) = match output {
        Ok(output) => (output, None),
        Err(error) => (None, Some(CliError::from(error))),
    };
    let decoded = Chained::decode(line, &journal.profile()).map(|chained| chained.record).ok();
    let (status, decisions) = match (&decoded, &journal.store) {
        (Some(Record::Step(step)), Some(store)) => {
            let blobs = StoreBlobs(store);
            let status = standing::of_step(journal.kind, &step.result, &blobs);
            let is_skill = journal.kind == RunKind::Skill;
            (Some(status), if is_skill { DecisionRow::of_result(&step.result, &blobs) } else { Vec::new() })
        }
        _ => (None, Vec::new()),
    };
    let exchanges = match (record.get("result"), &journal.store) {
        (Some(result), Some(store)) => ExchangeRow::of_result(result, &StoreBlobs(store)),
        _ => Vec::new(),
    };
    let lacks_exchange = exchanges.iter().any(ExchangeRow::is_missing);
    let times = RunTimes::of(&journal);
    times.say(context, &journal.name);
    let (calls, waits) = times.parts(index.get());
    context.print(&ShowReport {
        measured: times.row(index.get()),
        calls,
        waits,
        status,
        exchanges,
        decisions,
        run: journal.name.clone(),
        index: index.get(),
        record: Data(record),
        output,
    })?;
    let Some(error) = missing else { return Ok(if lacks_exchange { Exit::Partial } else { Exit::Yes }) };
    context.report_error(&error);
    Ok(Exit::Partial)
}

/// Finds a record by its index, or the last execution of a step by its name.
pub(crate) fn find_record(journal: &Journal, name: &str) -> Result<RecordIndex, CliError> {
    let lines = Lines::of(&journal.bytes);
    let total = lines.count().get();
    let nothing = || {
        let message = format!(
            "run {}: expected a record below {total} or the name of a step, found {name:?}",
            journal.name
        );
        CliError::new(Code::NoSuchPlace, message).with_hint(hint::records(&journal.name))
    };
    if let Ok(index) = name.parse::<u64>() {
        return if index < total { Ok(RecordIndex::new(index)) } else { Err(nothing()) };
    }
    let profile = journal.profile();
    let is_execution = |index: &u64| {
        let line = lines.get(RecordIndex::new(*index)).unwrap_or_default();
        let record = Chained::decode(line, &profile).map(|chained| chained.record);
        matches!(record, Ok(Record::Step(step)) if &**step.result.step() == name)
    };
    (1..total).rev().find(is_execution).map(RecordIndex::new).ok_or_else(nothing)
}
