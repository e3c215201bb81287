//! `hence stats`: counts over the store or one run.

use std::collections::BTreeMap;

use hence_engine::Metrics;
use hence_journal::{Reader, Record};
use hence_skills::Links;
use hence_solve::Spec;
use hence_store::Condition;

use crate::args::StatsArgs;
use crate::chain;
use crate::kind::{self, Purpose, with_blobs};
use crate::measured::{MeasuredTotals, RunTimes};
use crate::prelude::*;
use crate::standing;
use crate::target::Journal;
use crate::usage::UsageReport;

/// Counts over a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreStats {
    /// The number of runs.
    runs: usize,
    /// The number of runs that end with an unfinished append.
    torn: usize,
    /// The number of runs that cannot be appended to.
    damaged: usize,
    /// The number of records.
    records: u64,
    /// The size of all journals.
    journal_bytes: u64,
    /// The measured times of all runs.
    measured: MeasuredTotals,
    /// The usage of all runs. A run that another one started counts there; steps that a fork shares count for each.
    usage: UsageReport,
    /// The latency of the measured calls of all runs, by capability.
    latency: Vec<LatencyRow>,
}

/// The measured latency of the calls of one capability.
#[derive(Serialize, JsonSchema)]
struct LatencyRow {
    /// The capability.
    capability: String,
    /// The number of measured calls.
    calls: usize,
    /// The median of their durations.
    median_ms: u64,
    /// The longest of them.
    slowest_ms: u64,
    /// The sum of them.
    total_ms: u64,
}

/// The durations of measured calls, by capability.
#[derive(Default)]
struct Latencies(BTreeMap<String, Vec<u64>>);

impl Latencies {
    fn note(&mut self, times: &RunTimes) {
        for (capability, duration_ms) in times.call_durations() {
            self.0.entry(capability.to_owned()).or_default().push(duration_ms);
        }
    }

    fn rows(self) -> Vec<LatencyRow> {
        let row = |(capability, mut durations): (String, Vec<u64>)| {
            durations.sort_unstable();
            LatencyRow {
                capability,
                calls: durations.len(),
                // The lower one of the two in the middle of an even number.
                median_ms: durations.get(durations.len().saturating_sub(1) / 2).copied().unwrap_or(0),
                slowest_ms: durations.last().copied().unwrap_or(0),
                total_ms: durations.iter().fold(0, |sum: u64, duration| sum.saturating_add(*duration)),
            }
        };
        self.0.into_iter().map(row).collect()
    }
}

impl LatencyRow {
    fn row(&self) -> (&'static str, String) {
        let Self { capability, calls, median_ms, slowest_ms, .. } = self;
        let calls = counted(*calls as u64, "call");
        (
            "latency",
            format!("{}: {calls}, median {median_ms} ms, slowest {slowest_ms} ms", escape(capability)),
        )
    }
}

/// Counts over a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunStats {
    /// The run's id.
    run: String,
    /// The size of its journal.
    journal_bytes: usize,
    /// The number of its records.
    records: u64,
    /// The number of executed steps.
    steps: u64,
    /// Executions by step.
    by_step: BTreeMap<String, u64>,
    /// Executions by status.
    by_status: BTreeMap<String, u64>,
    /// Decisions by action.
    by_action: BTreeMap<String, u64>,
    /// The measured times of the run.
    measured: MeasuredTotals,
    /// The usage of the run, and its limits.
    usage: UsageReport,
    /// The latency of the measured calls of the run, by capability.
    latency: Vec<LatencyRow>,
}

impl Text for StoreStats {
    fn text(&self) -> String {
        let mut rows = vec![
            ("runs", self.runs.to_string()),
            ("torn", self.torn.to_string()),
            ("damaged", self.damaged.to_string()),
            ("records", self.records.to_string()),
            ("journal bytes", self.journal_bytes.to_string()),
        ];
        rows.extend(self.measured.rows(self.records));
        rows.extend(self.usage.rows());
        rows.extend(self.latency.iter().map(LatencyRow::row));
        pairs(&rows)
    }
}

impl Text for RunStats {
    fn text(&self) -> String {
        let list = |counts: &BTreeMap<String, u64>| {
            let counts: Vec<String> =
                counts.iter().map(|(key, count)| format!("{} {count}", escape(key))).collect();
            if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
        };
        let mut rows = vec![
            ("run", escape(&self.run)),
            ("journal bytes", self.journal_bytes.to_string()),
            ("steps", self.steps.to_string()),
            ("by step", list(&self.by_step)),
            ("by status", list(&self.by_status)),
            ("decisions", list(&self.by_action)),
        ];
        rows.extend(self.measured.rows(self.records));
        rows.extend(self.usage.rows());
        rows.extend(self.latency.iter().map(LatencyRow::row));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &StatsArgs) -> Result<Exit, CliError> {
    match &args.run {
        None => store_stats(context),
        Some(run) => run_stats(context, run),
    }
}

fn store_stats(context: &Context) -> Result<Exit, CliError> {
    let store = context.store()?;
    let summaries = store.list()?;
    let (mut measured, mut latencies) = (MeasuredTotals::default(), Latencies::default());
    let mut usage = UsageReport::default();
    for summary in &summaries {
        // A journal that cannot be read has no measured records; it is counted as damaged.
        let Ok(journal) = Journal::of_run(context, summary.run.as_str()) else { continue };
        let times = RunTimes::of(&journal);
        latencies.note(&times);
        measured.add(times.totals());
        if !is_part_of_another(&journal) {
            usage.add(&usage_of(&journal));
        }
    }
    let count = |test: fn(&Condition) -> bool| summaries.iter().filter(|run| test(&run.condition)).count();
    context.print(&StoreStats {
        runs: summaries.len(),
        torn: count(|condition| matches!(condition, Condition::Torn { .. })),
        damaged: count(|condition| matches!(condition, Condition::Damaged(_))),
        records: summaries.iter().filter_map(|run| run.head()).map(|head| head.records.get()).sum(),
        journal_bytes: summaries.iter().map(|run| run.journal_bytes).sum(),
        measured,
        usage,
        latency: latencies.rows(),
    })?;
    Ok(Exit::Yes)
}

/// Returns whether another run started this one, and its record includes what this one used.
fn is_part_of_another(journal: &Journal) -> bool {
    let Ok(Some(problem)) = journal.parsed_problem() else { return false };
    let links = Links::of_problem(&problem.value);
    links.is_some_and(|links| links.parent.is_some())
        || Spec::read(&problem.value).is_ok_and(|spec| spec.depth() > 0)
}

/// Returns the usage of a run. A journal that cannot be opened as a run is still counted by its records.
fn usage_of(journal: &Journal) -> UsageReport {
    kind::open(journal, &[], Purpose::Read).map(|run| run.usage(journal)).unwrap_or_default()
}

fn run_stats(context: &Context, run: &str) -> Result<Exit, CliError> {
    let journal = Journal::of_target(context, run)?;
    let (_, reader) =
        Reader::open(&journal.bytes).map_err(|error| CliError::bad_record(&journal.name, error))?;
    let mut metrics = Metrics::default();
    let times = RunTimes::of(&journal);
    times.say(context, &journal.name);
    let (mut by_status, mut records) = (BTreeMap::new(), 1);
    for record in reader {
        records += 1;
        let record = record.map_err(|error| CliError::bad_record(&journal.name, error))?;
        metrics.note(&record);
        if let Record::Step(step) = &record.record {
            let status = with_blobs(&journal, |blobs| standing::of_step(journal.kind, &step.result, blobs));
            *by_status.entry(status.to_owned()).or_default() += 1;
        }
    }
    let usage = usage_of(&journal);
    let mut latencies = Latencies::default();
    latencies.note(&times);
    context.print(&RunStats {
        run: journal.name.clone(),
        journal_bytes: journal.bytes.len(),
        records,
        steps: metrics.steps_total,
        by_step: metrics.step_counts,
        by_status,
        by_action: metrics.control_action_counts,
        measured: times.totals(),
        usage,
        latency: latencies.rows(),
    })?;
    Ok(chain::report_break(context, &journal))
}
