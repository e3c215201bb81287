//! `hence runs`: the runs of the store.

mod graph;

use hence_canon::time::Instant;
use hence_store::{DatedView as _, Lease, NewestRun, RunSummary, RunView as _, StoreHandle};

use crate::args::RunsArgs;
use crate::measured::NOT_MEASURED;
use crate::prelude::*;
use crate::run_view::{self, RunRowView, UNFINISHED, UNREADABLE};
use crate::skills::{LinkedTo, WaitingRow};

/// Every status of a run.
pub(crate) const RUN_STATUSES: [&str; 10] = [
    "completed",
    "partial",
    "failed",
    "interactive",
    "waiting",
    "undecided",
    "blocked",
    "unfinished",
    "damaged",
    UNREADABLE,
];

const WAITING: &str = "waiting";
const UNDECIDED: &str = "undecided";

/// The most runs that are looked at for those that fit a filter, without `--limit 0`.
const LOOKED_AT_MAX: usize = 20_000;

/// The fewest runs that are read at once for those that fit a filter.
const PAGE_RUNS_MIN: usize = 200;

/// The seconds by which the clock that measured a run may differ from that of the database, which orders the runs.
const CLOCK_SECONDS_MAX: i64 = 3_600;

/// The number of runs from which on they are not counted: counting reads them.
const COUNTED_MAX: u64 = 10_001;

/// Advice for a list that ended before the oldest run.
const LOOK_AT_ALL: &str = "--limit 0 looks at all";

/// The columns that a narrow terminal does without, one after the other. Ids and statuses always stay.
const LEAST_USEFUL_FIRST: [&str; 4] = ["RECORDS", "HEAD", "SKILL", "CREATED (MEASURED)"];

/// The selection of runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    All,
    Waiting,
}

/// The runs of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunsReport {
    /// The number of selected runs, including those that are not shown; null where counting them would mean reading a long list.
    total: Option<u64>,
    /// The number of runs that were looked at, from the newest on.
    looked_at: u64,
    /// Whether every run of the store was looked at, or known not to fit.
    complete: bool,
    /// The runs, the newest first; with `--graph`, each below the run it comes from.
    runs: Vec<RunRow>,
    #[serde(skip)]
    #[schemars(skip)]
    asked: Asked,
    #[serde(skip)]
    #[schemars(skip)]
    is_filtered: bool,
}

/// One run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunRow {
    /// The run's id.
    pub(crate) run: String,
    /// The skill it runs; null for a problem or variables.
    skill: Option<String>,
    /// The lines that lead to it from the run it comes from, with `--graph`.
    #[serde(skip)]
    #[schemars(skip)]
    branch: String,
    /// `completed`, `partial` (completed, although steps or parts of steps failed), `failed`, `interactive` (driven from
    /// outside), `waiting`, `undecided` (a process was killed during a call), `blocked` (by policies), `unfinished`,
    /// `damaged` or `unreadable` (the system refuses to read it).
    pub(crate) status: String,
    /// The reason for which the system refuses to read it; null for any other run.
    pub(crate) reason: Option<String>,
    /// The number of records in its journal.
    pub(crate) records: Option<u64>,
    /// Its head.
    pub(crate) head: Option<String>,
    /// The time its problem states as its creation, with which its logical clock begins.
    pub(crate) created_at: Option<String>,
    /// The measured time of its creation; null when it was not measured.
    pub(crate) measured_at: Option<String>,
    /// The size of its journal.
    pub(crate) bytes: u64,
    /// The questions it waits for.
    pub(crate) waiting: Vec<WaitingRow>,
    /// The run that nests it.
    pub(crate) parent: Option<String>,
    /// The run it was forked from.
    pub(crate) origin: Option<String>,
    /// The run it retries.
    pub(crate) retries: Option<String>,
    /// The run that retries it.
    pub(crate) retry: Option<String>,
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
        let name = format!("{}{}", self.branch, escape(&self.run));
        match links.is_empty() {
            true => name,
            false => format!("{name} ({})", links.join(", ")),
        }
    }
}

impl RunRow {
    /// Returns the cells of its row, without the skill.
    fn cells(&self) -> [String; 5] {
        [
            self.name(),
            self.status.clone(),
            self.records.map_or_else(|| "?".to_owned(), |records| records.to_string()),
            self.measured_at.as_deref().unwrap_or(NOT_MEASURED).to_owned(),
            self.head.as_deref().unwrap_or_default().chars().take(12).collect(),
        ]
    }
}

impl Text for RunsReport {
    fn text(&self) -> String {
        if self.runs.is_empty() && !self.complete {
            return format!("no run fits among the newest {}; {LOOK_AT_ALL}", self.looked_at);
        }
        if self.runs.is_empty() && self.asked == Asked::Waiting {
            return "no run waits for anybody".to_owned();
        }
        if self.runs.is_empty() && self.is_filtered {
            return "no run fits; `hence runs` lists all".to_owned();
        }
        if self.runs.is_empty() {
            return "no runs yet; `hence run PROBLEM.json` makes one".to_owned();
        }
        let has_skills = self.runs.iter().any(|run| run.skill.is_some());
        let listed = match has_skills {
            true => {
                let heading = ["RUN", "SKILL", "STATUS", "RECORDS", "CREATED (MEASURED)", "HEAD"];
                let rows = self.runs.iter().map(|run| {
                    let [name, status, records, created, head] = run.cells();
                    [
                        name,
                        run.skill.as_deref().map(escape).unwrap_or_default(),
                        status,
                        records,
                        created,
                        head,
                    ]
                });
                let rows = std::iter::once(heading.map(str::to_owned)).chain(rows).collect::<Vec<_>>();
                table(&rows, &LEAST_USEFUL_FIRST)
            }
            false => {
                let heading = ["RUN", "STATUS", "RECORDS", "CREATED (MEASURED)", "HEAD"];
                let rows = self.runs.iter().map(RunRow::cells);
                let rows = std::iter::once(heading.map(str::to_owned)).chain(rows).collect::<Vec<_>>();
                table(&rows, &LEAST_USEFUL_FIRST)
            }
        };
        let mut text = listed.with_note();
        if self.asked == Asked::Waiting {
            for run in &self.runs {
                let rows: Vec<_> = run.waiting.iter().flat_map(WaitingRow::rows).collect();
                text.push_str(&format!("\n{}\n{}", escape(&run.run), pairs(&rows)));
            }
        }
        for run in &self.runs {
            text.extend(
                run.reason.iter().map(|reason| format!("{}: {}\n", escape(&run.run), escape(reason))),
            );
        }
        let shown = self.runs.len() as u64;
        match self.total {
            Some(total) if shown < total => {
                text.push_str(&format!("{shown} of {total} runs; --limit 0 shows all\n"));
            }
            Some(_) => {}
            None if self.is_filtered => {
                text.push_str(&format!("{shown} runs among the newest {}; {LOOK_AT_ALL}\n", self.looked_at));
            }
            None => text.push_str(&format!("the newest {shown} runs; --limit 0 shows all\n")),
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &RunsArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let filter = Filter::of(args)?;
    let mut report = select(context, &store, args, &filter)?;
    if args.graph {
        report.runs = graph::arrange(report.runs);
    }
    context.print_paged(&report)?;
    let is_whole = report.runs.iter().all(|run| run.reason.is_none());
    Ok(if is_whole { Exit::Yes } else { Exit::Store })
}

/// Reads the newest runs, page by page, until enough of them fit.
fn select(
    context: &Context,
    store: &StoreHandle,
    args: &RunsArgs,
    filter: &Filter<'_>,
) -> Result<RunsReport, CliError> {
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let looked_at_max = if args.limit == 0 { usize::MAX } else { LOOKED_AT_MAX.max(limit) };
    let since = filter.since.and_then(|since| since.checked_add_seconds(-CLOCK_SECONDS_MAX));
    let mut newest = store.newest::<RunRowView>(since);
    let (mut runs, mut fitting, mut looked_at) = (Vec::new(), 0_usize, 0_usize);
    loop {
        let is_enough = runs.len() >= limit || looked_at >= looked_at_max;
        let wanted = match (newest.is_whole(), is_enough) {
            // A store that is listed as a whole is searched as a whole: it has paid for the list.
            (true, _) => usize::MAX,
            (false, true) => break,
            (false, false) if filter.keeps_all() => limit - runs.len(),
            (false, false) => limit.max(PAGE_RUNS_MIN).min(looked_at_max - looked_at),
        };
        let page = newest.next(wanted)?;
        if page.is_empty() {
            break;
        }
        looked_at += page.len();
        for NewestRun { summary, view } in page {
            // A run that is not shown costs nothing more, unless the filter needs to know it.
            if filter.keeps_all() && runs.len() >= limit {
                fitting += 1;
                continue;
            }
            let row = row(context, store, &summary, view);
            if filter.keeps(&row) {
                fitting += 1;
                runs.extend((runs.len() < limit).then_some(row));
            }
        }
    }
    let complete = newest.is_at_end();
    let total = match complete {
        true => Some(fitting as u64),
        false if filter.keeps_all() => {
            Some(store.count_up_to(COUNTED_MAX)?).filter(|found| *found < COUNTED_MAX)
        }
        false => None,
    };
    let asked = if args.waiting { Asked::Waiting } else { Asked::All };
    let is_filtered = !filter.keeps_all();
    Ok(RunsReport { total, looked_at: looked_at as u64, complete, runs, asked, is_filtered })
}

/// The facts of a run that decide whether it can be removed.
pub(super) struct RunFacts {
    pub(super) run: String,
    pub(super) status: String,
    pub(super) skill: Option<String>,
    pub(super) head: Option<String>,
    pub(super) bytes: u64,
    pub(super) created: Option<Instant>,
    pub(super) parent: Option<String>,
    origin: Option<String>,
}

impl RunFacts {
    /// Iterates over the runs it comes from.
    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        self.parent.iter().chain(&self.origin).map(String::as_str)
    }
}

/// Returns the facts of every run.
pub(super) fn facts(context: &Context, store: &StoreHandle) -> Result<Vec<RunFacts>, CliError> {
    let fact = |(summary, view): (RunSummary, RunRowView)| {
        let created = view.created().and_then(|created| created.parse().ok());
        let row = row(context, store, &summary, view);
        RunFacts {
            created,
            run: row.run,
            status: row.status,
            skill: row.skill,
            head: row.head,
            bytes: row.bytes,
            parent: row.parent,
            origin: row.origin.or(row.retries),
        }
    };
    Ok(store.list_views::<RunRowView>()?.into_iter().map(fact).collect())
}

/// The runs that are asked for.
struct Filter<'a> {
    args: &'a RunsArgs,
    since: Option<Instant>,
}

impl<'a> Filter<'a> {
    fn of(args: &'a RunsArgs) -> Result<Self, CliError> {
        Ok(Self { args, since: args.since.as_deref().map(crate::clock::since).transpose()? })
    }

    fn keeps_all(&self) -> bool {
        let RunsArgs { waiting, status, skill, since, search, .. } = self.args;
        !waiting && status.is_empty() && skill.is_none() && since.is_none() && search.is_none()
    }

    fn keeps(&self, row: &RunRow) -> bool {
        let RunsArgs { waiting, status, skill, search, .. } = self.args;
        let created = row.measured_at.as_deref().or(row.created_at.as_deref());
        let created: Option<Instant> = created.and_then(|created| created.parse().ok());
        let contains = |text: &String| {
            let text = text.to_lowercase();
            let in_skill = row.skill.as_ref().is_some_and(|skill| skill.to_lowercase().contains(&text));
            in_skill || row.run.to_lowercase().contains(&text)
        };
        (!waiting || !row.waiting.is_empty())
            && (status.is_empty() || status.contains(&row.status))
            && (skill.is_none() || *skill == row.skill)
            && self.since.is_none_or(|since| created.is_some_and(|created| created >= since))
            && search.as_ref().is_none_or(contains)
    }
}

/// Describes one run of a store, made of its files alone.
pub(crate) fn fresh_row(context: &Context, store: &StoreHandle, summary: &RunSummary) -> RunRow {
    row(context, store, summary, RunRowView::compute(store, summary))
}

/// Adds to the view of a run the questions in its call log, which changes without the journal.
pub(crate) fn row(context: &Context, store: &StoreHandle, summary: &RunSummary, view: RunRowView) -> RunRow {
    let mut status = view.status;
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
    let LinkedTo { parent, origin, retries } = view.links;
    RunRow {
        parent,
        origin,
        retries,
        retry: view.retry,
        run: summary.run.as_str().to_owned(),
        skill: view.skill,
        branch: String::new(),
        status: status.to_owned(),
        reason: (status == UNREADABLE).then(|| run_view::refusal(store, summary)).flatten(),
        waiting,
        records: summary.head().map(|head| head.records.get()),
        head: summary.head().map(|head| head.to_string()),
        created_at: view.created_at,
        measured_at: view.measured_at,
        bytes: summary.journal_bytes,
    }
}
