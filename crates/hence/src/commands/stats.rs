//! `hence stats`: counts over the store or one run.

use std::collections::BTreeMap;

use hence_engine::Metrics;
use hence_journal::{Reader, Record};
use hence_store::{Condition, Store as _};

use crate::args::StatsArgs;
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
    let mut measured = MeasuredTotals::default();
    for summary in &summaries {
        // A journal that cannot be read has no measured records; it is counted as damaged.
        let journal = store.journal_bytes(&summary.run).unwrap_or_default();
        measured.add(RunTimes::of_run(&store, &summary.run, &journal).totals());
    }
    let count = |test: fn(&Condition) -> bool| summaries.iter().filter(|run| test(&run.condition)).count();
    context.print(&StoreStats {
        runs: summaries.len(),
        torn: count(|condition| matches!(condition, Condition::Torn { .. })),
        damaged: count(|condition| matches!(condition, Condition::Damaged(_))),
        records: summaries.iter().filter_map(|run| run.head()).map(|head| head.records.get()).sum(),
        journal_bytes: summaries.iter().map(|run| run.journal_bytes).sum(),
        measured,
    })?;
    Ok(Exit::Yes)
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
    // Statistics of a journal that cannot be opened as a run are still counts of its records.
    let usage = kind::open(&journal, &[], Purpose::Read).map(|run| run.usage(&journal)).unwrap_or_default();
    context.print(&RunStats {
        run: journal.name,
        journal_bytes: journal.bytes.len(),
        records,
        steps: metrics.steps_total,
        by_step: metrics.step_counts,
        by_status,
        by_action: metrics.control_action_counts,
        measured: times.totals(),
        usage,
    })?;
    Ok(Exit::Yes)
}
