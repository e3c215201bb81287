//! `hence runs`: the runs of the store.

use hence_engine::{Engine, RunKind};
use hence_journal::{Chained, Control, LoopAction, Record};
use hence_state::{Profile, StepStatus};
use hence_store::{Condition, FileStore, Lease, RunSummary, Store};

use crate::args::RunsArgs;
use crate::journal_end::last_change;
use crate::measured::{self, NOT_MEASURED};
use crate::prelude::*;
use crate::skills::{LinkedTo, WaitingRow};
use crate::standing::{self, PARTIAL};
use crate::target;

const UNFINISHED: &str = "unfinished";
const WAITING: &str = "waiting";
const UNDECIDED: &str = "undecided";

/// The selection of runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    All,
    Waiting,
}

/// The runs of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunsReport {
    /// The number of selected runs, including those that are not shown.
    total: usize,
    /// The runs, in the order of their ids.
    runs: Vec<RunRow>,
    #[serde(skip)]
    #[schemars(skip)]
    asked: Asked,
}

/// One run.
#[derive(Serialize, JsonSchema)]
struct RunRow {
    /// The run's id.
    run: String,
    /// `completed`, `partial` (completed, although steps or parts of steps failed), `failed`, `interactive` (driven from
    /// outside), `waiting`, `undecided` (a process was killed during a call), `blocked` (by policies), `unfinished` or
    /// `damaged`.
    status: String,
    /// The number of records in its journal.
    records: Option<u64>,
    /// Its head.
    head: Option<String>,
    /// The time its problem states as its creation, with which its logical clock begins.
    created_at: Option<String>,
    /// The measured time of its creation; null when it was not measured.
    measured_at: Option<String>,
    /// The size of its journal.
    bytes: u64,
    /// The questions it waits for.
    waiting: Vec<WaitingRow>,
    /// The run that nests it.
    parent: Option<String>,
    /// The run it was forked from.
    origin: Option<String>,
    /// The run it retries.
    retries: Option<String>,
    /// The run that retries it.
    retry: Option<String>,
}

impl RunRow {
    /// Returns the id with the runs it is linked to, except the one that nests it.
    fn name(&self) -> String {
        let mut links = Vec::new();
        match (&self.parent, &self.origin, &self.retries) {
            (_, _, Some(run)) => links.push(format!("retry of {}", escape(run))),
            (None, Some(origin), None) => links.push(format!("fork of {}", escape(origin))),
            _ => {}
        }
        links.extend(self.retry.iter().map(|run| format!("retried as {}", escape(run))));
        match links.is_empty() {
            true => escape(&self.run),
            false => format!("{} ({})", escape(&self.run), links.join(", ")),
        }
    }
}

impl Text for RunsReport {
    fn text(&self) -> String {
        if self.runs.is_empty() && self.asked == Asked::Waiting {
            return "no run waits for anybody".to_owned();
        }
        if self.runs.is_empty() {
            return "no runs yet; `hence run PROBLEM.json` makes one".to_owned();
        }
        let mut rows = vec![["RUN", "STATUS", "RECORDS", "CREATED (MEASURED)", "HEAD"].map(str::to_owned)];
        for run in &self.runs {
            rows.push([
                run.name(),
                run.status.clone(),
                run.records.map_or_else(|| "?".to_owned(), |records| records.to_string()),
                run.measured_at.as_deref().unwrap_or(NOT_MEASURED).to_owned(),
                run.head.as_deref().unwrap_or_default().chars().take(12).collect(),
            ]);
        }
        let mut text = columns(&rows);
        if self.asked == Asked::Waiting {
            for run in &self.runs {
                let rows: Vec<_> = run.waiting.iter().flat_map(WaitingRow::rows).collect();
                text.push_str(&format!("\n{}\n{}", escape(&run.run), pairs(&rows)));
            }
        }
        if self.runs.len() < self.total {
            text.push_str(&format!("{} of {} runs; --limit 0 shows all\n", self.runs.len(), self.total));
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &RunsArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let summaries = store.list()?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let rows = summaries.iter().map(|summary| row(context, &store, summary));
    let (total, runs) = if args.waiting {
        let waiting: Vec<RunRow> = rows.filter(|row| !row.waiting.is_empty()).collect();
        (waiting.len(), waiting.into_iter().take(limit).collect())
    } else {
        (summaries.len(), rows.take(limit).collect())
    };
    let asked = if args.waiting { Asked::Waiting } else { Asked::All };
    context.print(&RunsReport { total, runs, asked })?;
    Ok(Exit::Yes)
}

fn row(context: &Context, store: &FileStore, summary: &RunSummary) -> RunRow {
    let header = summary.header.as_deref().and_then(|line| Chained::decode_header(line.as_bytes()).ok());
    let created_at = header.as_ref().and_then(|(chained, _)| match &chained.record {
        Record::Header(header) => Some(header.created_at.to_string()),
        _ => None,
    });
    let profile = header.map(|(_, profile)| profile);
    let mut status = status_with(store, summary, profile);
    let mut waiting = Vec::new();
    // An unreadable call log is ignored in a list; `hence why` reports it.
    if status == UNFINISHED
        && let Ok(Some(history)) = crate::skills::history(store, &summary.run)
    {
        waiting = WaitingRow::all(context, summary.run.as_str(), &history);
        status = if waiting.is_empty() { status } else { WAITING };
        // A call that a living process has begun is under way, not undecided.
        let is_held = || !matches!(store.lease(&summary.run), Ok(Lease::Free));
        if waiting.is_empty() && history.undecided().next().is_some() && !is_held() {
            waiting = WaitingRow::all_undecided(context, summary.run.as_str(), &history);
            status = UNDECIDED;
        }
    }
    let LinkedTo { parent, origin, retries } = crate::skills::links(store, &summary.run);
    RunRow {
        parent,
        origin,
        retries,
        retry: crate::skills::claimed_retry(store, &summary.run).map(|run| run.as_str().to_owned()),
        run: summary.run.as_str().to_owned(),
        status: status.to_owned(),
        waiting,
        records: summary.head().map(|head| head.records.get()),
        head: summary.head().map(|head| head.to_string()),
        created_at,
        measured_at: measured::created_at(store, summary),
        bytes: summary.journal_bytes,
    }
}

/// Returns the status of a run, from its last record.
pub(super) fn status_of(store: &FileStore, summary: &RunSummary) -> &'static str {
    let header = summary.header.as_deref().and_then(|line| Chained::decode_header(line.as_bytes()).ok());
    status_with(store, summary, header.map(|(_, profile)| profile))
}

fn status_with(store: &FileStore, summary: &RunSummary, profile: Option<Profile>) -> &'static str {
    if matches!(summary.condition, Condition::Damaged(_)) {
        return "damaged";
    }
    match last_change(store, summary, profile).map(|chained| chained.record) {
        Some(Record::Control(Control::Complete { .. })) => {
            if standing::failures(store, &summary.run).is_empty() { "completed" } else { PARTIAL }
        }
        Some(Record::Control(Control::Loop(control)))
            if control.action == LoopAction::MaxIterationsReached =>
        {
            "failed"
        }
        Some(Record::Step(step)) if step.result.outcome().is_blocked() => "blocked",
        Some(Record::Step(step)) if step.result.outcome().status() == StepStatus::Failed => "failed",
        // Only the program of the run knows what the step means for the run.
        Some(Record::Step(step)) => after_step(store, summary, profile, step.result.step()),
        Some(_) => UNFINISHED,
        None => "damaged",
    }
}

fn after_step(store: &FileStore, summary: &RunSummary, profile: Option<Profile>, step: &str) -> &'static str {
    let problem = store.attachment(&summary.run, &target::problem_name()).ok();
    let Some(problem) = problem.and_then(|bytes| hence_canon::parse_lenient(&bytes).ok()) else {
        return UNFINISHED;
    };
    if RunKind::of(&problem.value) == RunKind::Variables {
        return "interactive";
    }
    // The compat profile records no completion: a run ends with the last step of its policy.
    if !has_completion(profile) && Engine::new().is_last_step(&problem.value, step) {
        return "completed";
    }
    UNFINISHED
}

fn has_completion(profile: Option<Profile>) -> bool {
    profile.is_some_and(|profile| profile.completion == hence_state::CompletionRule::Recorded)
}
