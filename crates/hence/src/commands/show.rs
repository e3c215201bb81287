//! `hence show`: one record, with large values in place of their references.

use hence_canon::{JsonPointer, ParseError, Value, did_you_mean, parse};
use hence_engine::{Blobs, RunKind, attempt};
use hence_journal::{Chained, Lines, Record, RecordIndex};
use hence_skills::{CallStatus, recorded_outcome};
use hence_state::{Profile, StepResult};
use hence_store::StoreHandle;

use crate::address::Address;
use crate::args::ShowArgs;
use crate::chain;
use crate::exchanges::ExchangeRow;
use crate::measured::{self, CallTimesRow, MeasuredRow, RunTimes, WaitTimesRow};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::DecisionRow;
use crate::solve::{self, Messages};
use crate::standing;
use crate::target::{Journal, find_run};
use crate::view::RunWindow;

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
    /// The input of the step, where the record has it.
    input: Option<Data>,
    /// The places that the step read.
    reads: Vec<String>,
    /// The places that the step wrote.
    writes: Vec<String>,
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
        for (title, places) in [("reads", &self.reads), ("writes", &self.writes)] {
            if !places.is_empty() {
                rows.push((title, escape(&places.join(", "))));
            }
        }
        rows.extend(measured::rows(self.measured.as_ref(), &self.calls, &self.waits));
        text.push_str(&format!("\n\n{}", pairs(&rows)));
        for exchange in &self.exchanges {
            text.push_str(&format!("\n\n{}", exchange.text()));
        }
        text
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

fn recorded_output(record: &Value) -> Option<&Value> {
    let at = |key: &str| record.pointer(&["result", key].into_iter().collect::<JsonPointer>());
    // A failed step has no output; its outcome may be stored outside the journal, too.
    at("output").or_else(|| at("outcome").filter(|outcome| hence_engine::referenced(outcome).is_some()))
}

/// The content of a record, with what it refers to.
pub(crate) struct Described {
    /// The record as it is hashed.
    pub(crate) record: Value,
    /// The step's output, or the outcome of a failed one, read from the blobs.
    pub(crate) output: Option<Value>,
    /// The reason why the output is not available.
    pub(crate) missing: Option<CliError>,
    /// The input of the step, and the places it read and wrote, where the record has them.
    pub(crate) uses: Option<StepUses>,
    /// The status of the step.
    pub(crate) status: Option<&'static str>,
    /// The approvals and rejections in it.
    pub(crate) decisions: Vec<DecisionRow>,
    /// The exchanges with language models.
    pub(crate) exchanges: Vec<ExchangeRow>,
}

/// The input of a skill's step, and the places it read and wrote.
pub(crate) struct StepUses {
    pub(crate) input: Value,
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
}

impl StepUses {
    fn of(result: &StepResult, blobs: &dyn Blobs) -> Option<Self> {
        if result.step().starts_with('$') {
            return None;
        }
        let outcome = recorded_outcome(&attempt(result), blobs).ok()?;
        let reads = outcome.reads.iter().chain(outcome.control_reads.iter());
        Some(Self {
            reads: reads.map(ToString::to_string).collect(),
            writes: outcome.writes.iter().map(ToString::to_string).collect(),
            input: outcome.input,
        })
    }
}

impl Described {
    /// Reads a line of a journal.
    ///
    /// # Errors
    /// [`ParseError`] when the line is not JSON.
    pub(crate) fn of_line(
        line: &[u8],
        kind: RunKind,
        profile: &Profile,
        store: Option<&StoreHandle>,
    ) -> Result<Self, ParseError> {
        let record = parse(line)?;
        let none = Self {
            record,
            output: None,
            missing: None,
            uses: None,
            status: None,
            decisions: Vec::new(),
            exchanges: Vec::new(),
        };
        let Some(store) = store else { return Ok(none) };
        let (record, blobs) = (none.record, StoreBlobs(store));
        let output =
            recorded_output(&record).map(|output| hence_engine::resolve(&output.clone().into(), &blobs));
        // The record is shown even if the value it refers to is not available.
        let (output, missing) = match output.transpose() {
            Ok(output) => (output, None),
            Err(error) => (None, Some(CliError::from(error))),
        };
        let decoded = Chained::decode(line, profile).map(|chained| chained.record).ok();
        let (status, decisions) = match &decoded {
            Some(Record::Step(step)) => {
                let status = standing::of_step(kind, &step.result, &blobs);
                let is_skill = kind == RunKind::Skill;
                let none = Vec::new();
                (Some(status), if is_skill { DecisionRow::of_result(&step.result, &blobs) } else { none })
            }
            _ => (None, Vec::new()),
        };
        let uses = match &decoded {
            Some(Record::Step(step)) if kind == RunKind::Skill => StepUses::of(&step.result, &blobs),
            _ => None,
        };
        let result = record.get("result");
        let exchanges = result.map(|result| ExchangeRow::of_result(result, &blobs)).unwrap_or_default();
        Ok(Self { record, output, missing, uses, status, decisions, exchanges })
    }
}

pub(super) fn run(context: &Context, args: &ShowArgs) -> Result<Exit, CliError> {
    let address = Address::find(context, &args.run)?;
    let at = address.required(&args.step)?;
    if let Some(exit) = in_long_run(context, &address.run, &at)? {
        return Ok(exit);
    }
    let journal = Journal::of_run(context, &address.run)?;
    let index = find_record(&journal, &at)?;
    let lines = Lines::of(&journal.bytes);
    let line = lines.get(index).unwrap_or_default();
    let mut described = Described::of_line(line, journal.kind, &journal.profile(), journal.store.as_ref());
    if let Ok(described) = &mut described {
        described.exchanges.extend(exchange_of_loop(context, &journal, index));
    }
    let times = RunTimes::of(&journal);
    times.say(context, &journal.name);
    let exit = print(context, &journal.name, index.get(), described, &times)?;
    Ok(exit.max(chain::report_break(context, &journal)))
}

/// Returns the exchange with a model whose reply a record of `hence solve` holds. It follows from the records before.
fn exchange_of_loop(context: &Context, journal: &Journal, index: RecordIndex) -> Option<ExchangeRow> {
    let store = journal.store.as_ref().filter(|_| journal.kind == RunKind::Solve)?;
    let lines = Lines::of(&journal.bytes);
    let Record::Step(step) = Chained::decode(lines.get(index)?, &journal.profile()).ok()?.record else {
        return None;
    };
    let entry = hence_solve::Entry::read(&step.result, &StoreBlobs(store)).ok()?;
    let problem = journal.parsed_problem().ok().flatten();
    let spec = problem.and_then(|problem| hence_solve::Spec::read(&problem.value).ok());
    let before = || {
        let earlier = (0..index.get()).filter_map(|index| lines.get(RecordIndex::new(index)));
        let bytes = earlier.map(|line| line.len() + 1).sum();
        let mut before = Journal::of_run(context, &journal.name)?;
        before.bytes.truncate(bytes);
        Ok(before)
    };
    solve::exchange_of(&entry, spec.as_ref(), Messages::All, before)
}

/// Shows a record of a long run by its index, without reading the rest. Returns nothing if the whole run is to be read.
fn in_long_run(context: &Context, run: &str, at: &str) -> Result<Option<Exit>, CliError> {
    let Ok(index) = at.parse::<u64>() else { return Ok(None) };
    let store = context.store()?;
    let id = find_run(&store, run)?;
    let Some(window) = RunWindow::read(store, id, index, 1)? else { return Ok(None) };
    if window.kind() == RunKind::Solve {
        // What was sent to the model follows from the records before.
        return Ok(None);
    }
    let Some((line, broken)) = window.records().next() else { return Ok(None) };
    let described = Described::of_line(&line.bytes, window.kind(), &window.profile(), Some(window.store()));
    let exit = print(context, window.name(), index, described, &window.times)?;
    let found = broken.map(|reason| format!("its chain is broken at record {index}: {reason}"));
    let broken = found.map_or(Exit::Yes, |found| chain::report_broken(context, window.name(), &found));
    Ok(Some(exit.max(broken)))
}

/// Prints a record with its measured times.
fn print(
    context: &Context,
    run: &str,
    index: u64,
    described: Result<Described, ParseError>,
    times: &RunTimes,
) -> Result<Exit, CliError> {
    let described = described.map_err(|error| {
        CliError::of_run(Code::BadRecord, format_args!("{run}: record {index}"), error)
            .with_hint(hint::verify(run))
    })?;
    let Described { record, output, missing, uses, status, decisions, exchanges } = described;
    let lacks_exchange = exchanges.iter().any(ExchangeRow::is_missing);
    let (calls, waits) = times.parts(index);
    let (input, reads, writes) = match uses {
        Some(uses) => (Some(Data(uses.input)), uses.reads, uses.writes),
        None => Default::default(),
    };
    context.print_paged(&ShowReport {
        input,
        reads,
        writes,
        measured: times.row(index).map(|row| row.counting(recorded_output(&record))),
        calls,
        waits,
        status,
        exchanges,
        decisions,
        run: run.to_owned(),
        index,
        record: Data(record),
        output: output.map(Data),
    })?;
    let Some(error) = missing else { return Ok(if lacks_exchange { Exit::Partial } else { Exit::Yes }) };
    context.report_error(&error);
    Ok(Exit::Partial)
}

/// Returns the name of the step whose result a record is.
pub(crate) fn step_at(lines: &Lines<'_>, profile: &Profile, index: RecordIndex) -> Option<String> {
    let line = lines.get(index)?;
    match Chained::decode(line, profile).map(|chained| chained.record) {
        Ok(Record::Step(step)) => Some(step.result.step().to_string()),
        _ => None,
    }
}

/// Describes a step of the skill that the run has not recorded yet.
fn without_record(journal: &Journal, name: &str) -> Option<CliError> {
    let skill = hence_yaml::parse_value(journal.skill.as_deref()?).ok()?;
    let mut steps = skill.get("steps").and_then(Value::as_array)?.iter();
    steps.find(|step| step.get("id").and_then(Value::as_str) == Some(name))?;
    let history = journal.store.as_ref().and_then(|store| {
        let run = find_run(store, &journal.name).ok()?;
        crate::skills::history(store, &run).ok().flatten()
    });
    let is_asked = |history: &hence_skills::CallHistory| {
        history.calls().any(|(call, status)| &*call.step == name && matches!(status, CallStatus::Asked(_)))
    };
    let waits = if history.as_ref().is_some_and(is_asked) { ": it waits" } else { "" };
    let message = format!("run {}: step {name} has no record yet{waits}", journal.name);
    Some(CliError::new(Code::NoSuchPlace, message).with_hint(hint::no_record_yet(&journal.name)))
}

/// Finds a record by its index, or the last execution of a step by its name.
pub(crate) fn find_record(journal: &Journal, name: &str) -> Result<RecordIndex, CliError> {
    let lines = Lines::of(&journal.bytes);
    let total = lines.count().get();
    let profile = journal.profile();
    let step_of = |index: u64| step_at(&lines, &profile, RecordIndex::new(index));
    let nothing = || {
        if let Some(error) = without_record(journal, name) {
            return error;
        }
        let steps: std::collections::BTreeSet<String> = (1..total).filter_map(step_of).collect();
        let meant = did_you_mean(name, steps.iter().map(String::as_str));
        let message = format!(
            "run {}: expected a record below {total} or the name of a step, found {name:?}{meant}",
            journal.name
        );
        CliError::new(Code::NoSuchPlace, message).with_hint(hint::records(&journal.name))
    };
    if let Ok(index) = name.parse::<u64>() {
        return if index < total { Ok(RecordIndex::new(index)) } else { Err(nothing()) };
    }
    let is_execution = |index: &u64| step_of(*index).as_deref() == Some(name);
    (1..total).rev().find(is_execution).map(RecordIndex::new).ok_or_else(nothing)
}
