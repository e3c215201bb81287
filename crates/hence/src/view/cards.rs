//! The list of runs: search, facets, and what is remembered of each run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hence_store::{NewestRun, RunId, RunSummary, RunView as _, StoreHandle};

use super::Views;
use super::gaps::{OpenGaps, PolicyCounts, policy_counts};
use super::opened::{Opened, Stamp, lock};
use super::shown::List;
use super::summary::{question_of, skill_of, wall_ms};
use crate::commands::runs::{self, RunRow};
use crate::kind::{self, Purpose};
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::run_view::RunRowView;
use crate::target::Journal;
use crate::usage::CostRow;

/// The largest journal that is read whole for a list. A larger run is described when somebody opens it.
const LISTED_JOURNAL_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The runs of a database that a list looks at, from the newest on: facets, searches and events are about these. A folder is
/// always looked at as a whole.
pub(super) const LISTED_RUNS_MAX: usize = 2_000;

/// The words by which a list can be ordered.
pub(super) const ORDERS: &[&str] = &["created", "run", "records", "duration"];

/// A run in the list.
#[derive(Serialize, JsonSchema)]
pub(super) struct CardRow {
    run: String,
    /// `completed`, `partial`, `failed`, `interactive`, `waiting`, `undecided`, `blocked`, `unfinished` or `damaged`.
    status: String,
    /// `reason`, `skill`, `variables`, `trace` or `unknown`.
    kind: &'static str,
    /// The id of the skill.
    skill: Option<String>,
    /// The question.
    question: Option<String>,
    records: Option<u64>,
    bytes: u64,
    head: Option<String>,
    created_at: Option<String>,
    measured_at: Option<String>,
    /// The time between the first and the last measured record.
    duration_ms: Option<u64>,
    /// The number of questions it waits for.
    waiting: usize,
    /// Calls of commands, services and models.
    calls: Option<u64>,
    /// Tokens sent and received.
    tokens: Option<u64>,
    /// The cost in each currency.
    cost: Option<Vec<CostRow>>,
    /// The open gaps.
    gaps: Option<GapsOfRun>,
    /// The verdicts of its policies.
    policies: Option<PolicyCounts>,
    parent: Option<String>,
    origin: Option<String>,
    retries: Option<String>,
    retry: Option<String>,
}

/// The open gaps of a run.
#[derive(Serialize, JsonSchema, Clone)]
pub(super) struct GapsOfRun {
    open: u64,
    /// The worst severity.
    worst: Option<&'static str>,
    /// The number of open gaps of that severity.
    of_worst: u64,
}

/// A value of a facet, and the number of runs that have it.
#[derive(Serialize, JsonSchema)]
struct FacetRow {
    value: String,
    count: u64,
}

/// The facets of a list.
#[derive(Serialize, JsonSchema)]
struct Facets {
    status: Vec<FacetRow>,
    kind: Vec<FacetRow>,
    skill: Vec<FacetRow>,
    /// Runs that wait for somebody.
    waiting: u64,
    /// Runs with a policy that failed.
    failed_policy: u64,
    /// Runs with open gaps.
    gaps: u64,
    /// Runs that have not been read whole yet.
    unindexed: u64,
}

/// The runs of a store.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunList {
    #[serde(flatten)]
    list: List<CardRow>,
    facets: Facets,
    /// The number of runs that were looked at, from the newest on.
    looked_at: u64,
    /// Whether every run of the store was looked at. If not, `total` and `facets` are about those that were.
    complete: bool,
}

/// The runs that a request selects.
#[derive(Default)]
pub(super) struct RunFilter {
    pub(super) search: String,
    pub(super) status: Vec<String>,
    pub(super) kind: Vec<String>,
    pub(super) skill: Vec<String>,
    pub(super) waiting: bool,
    pub(super) failed_policy: bool,
    pub(super) gaps: bool,
    pub(super) parent: Option<String>,
    pub(super) order: String,
}

/// The remembered parts of a run.
pub(super) struct Card {
    stamp: Stamp,
    pub(super) row: RunRow,
    kind: &'static str,
    skill: Option<String>,
    question: Option<String>,
    /// The texts that a search looks in, in lower case.
    words: String,
    /// The facts that only the whole journal has; `None` until somebody has read it.
    whole: Option<WholeFacts>,
}

#[derive(Clone, Default)]
struct WholeFacts {
    duration_ms: Option<u64>,
    usage: Option<(u64, u64, Vec<CostRow>)>,
    gaps: Option<GapsOfRun>,
    policies: Option<PolicyCounts>,
}

/// The cards that a list is made of.
pub(super) struct Looked {
    /// A card for each run that was looked at, in the order of their ids.
    pub(super) cards: Vec<Arc<Card>>,
    /// Whether every run of the store was looked at.
    is_complete: bool,
}

/// The cards of a store.
#[derive(Default)]
pub(super) struct Cards(Mutex<BTreeMap<RunId, Arc<Card>>>);

impl Views {
    /// Returns a card for every run that a list looks at. Runs that have not changed are not read again.
    pub(super) fn cards(&self) -> Result<Vec<Arc<Card>>, CliError> {
        Ok(self.newest_cards(LISTED_RUNS_MAX)?.cards)
    }

    /// Returns a card for each of the newest runs, at least `runs_min` of them.
    fn newest_cards(&self, runs_min: usize) -> Result<Looked, CliError> {
        let store = self.context.store()?;
        let mut remembered = lock(&self.cards.0);
        let mut known = std::mem::take(&mut *remembered);
        let mut cards = BTreeMap::new();
        // The stamps come first: a run that changes in between is read again the next time.
        let (stamps, _) = Stamp::of_newest(&store, runs_min)?;
        let mut newest = store.newest::<RunRowView>(None);
        while cards.len() < runs_min || newest.is_whole() {
            let page = newest.next(runs_min)?;
            if page.is_empty() {
                break;
            }
            for NewestRun { summary, view } in page {
                let stamp = stamps.get(&summary.run).copied();
                let stamp = stamp.unwrap_or_else(|| Stamp::of(&store, &summary.run));
                let card = match known.remove(&summary.run).filter(|card| card.stamp == stamp) {
                    Some(card) => card,
                    None => Arc::new(self.card(&store, &summary, stamp, view)),
                };
                cards.insert(summary.run, card);
            }
        }
        let looked = Looked { cards: cards.values().cloned().collect(), is_complete: newest.is_at_end() };
        *remembered = cards;
        Ok(looked)
    }

    fn card(&self, store: &StoreHandle, summary: &RunSummary, stamp: Stamp, view: RunRowView) -> Card {
        let row = runs::row(&self.context, store, summary, view);
        let start = Journal::start_of_run(store, &summary.run).ok();
        let problem = start.as_ref().and_then(|start| start.parsed_problem().ok().flatten());
        let problem = problem.map(|problem| &problem.value);
        let kind = match (&start, problem) {
            (Some(start), Some(_)) => start.kind.as_str(),
            _ => "unknown",
        };
        let (skill, question) = (problem.and_then(skill_of), problem.and_then(question_of));
        let words = [Some(row.run.as_str()), skill.as_deref(), question.as_deref()];
        let words = words.into_iter().flatten().collect::<Vec<_>>().join("\n").to_lowercase();
        Card { stamp, row, kind, skill, question, words, whole: None }
    }

    /// Reads the runs that have not been read whole, some of them; returns whether there are more.
    pub(crate) fn index_some(&self, most: usize) -> Result<bool, CliError> {
        let cards = self.cards()?;
        let is_open = |card: &&Arc<Card>| card.whole.is_none() && card.row.bytes <= LISTED_JOURNAL_BYTES_MAX;
        let mut open = cards.iter().filter(is_open);
        for card in open.by_ref().take(most) {
            let Ok(run) = Opened::find(self, &card.row.run) else { continue };
            if run.stamp != card.stamp {
                continue;
            }
            let whole = self.whole_facts(&run);
            let mut known = lock(&self.cards.0);
            // A card that changed meanwhile is of another state of the run.
            if let Some(slot) = known.get_mut(&run.id).filter(|slot| Arc::ptr_eq(slot, card))
                && let Ok(summary) = run.store.summary(&run.id)
            {
                let view = RunRowView::compute(&run.store, &summary);
                let fresh = self.card(&run.store, &summary, card.stamp, view);
                *slot = Arc::new(Card { whole: Some(whole), ..fresh });
            }
        }
        Ok(open.next().is_some())
    }

    fn whole_facts(&self, run: &Opened) -> WholeFacts {
        let Ok(journal) = run.whole() else { return WholeFacts::default() };
        let usage = kind::open(&journal, &[], Purpose::Read).ok().map(|open| open.usage(&journal));
        let trace = crate::commands::trace::export::projected(&self.context, &journal).ok();
        let trace = trace.map(|(value, _)| (hence_review::wire::Trace::read(&value), value));
        let gaps = trace.as_ref().map(|(trace, _)| OpenGaps::of(trace));
        WholeFacts {
            duration_ms: wall_ms(&RunTimes::of(&journal).totals()),
            usage: usage.map(|usage| (usage.calls, usage.tokens_in + usage.tokens_out, usage.cost)),
            gaps: gaps.map(|gaps| {
                let worst = gaps.worst();
                let of_worst = worst.and_then(|worst| gaps.by_severity.get(worst).copied()).unwrap_or(0);
                GapsOfRun { open: gaps.open, worst, of_worst }
            }),
            policies: trace.and_then(|(_, value)| policy_counts(run.name(), &value).ok()),
        }
    }

    pub(super) fn runs(&self, filter: &RunFilter, window: hence_server::Window) -> Result<RunList, CliError> {
        let search = filter.search.to_lowercase();
        let words: Vec<&str> = search.split_whitespace().collect();
        let parent = filter.parent.as_deref();
        let is_found = |card: &Arc<Card>| {
            let linked = [&card.row.parent, &card.row.origin, &card.row.retries];
            words.iter().all(|word| card.words.contains(word))
                && parent.is_none_or(|parent| linked.iter().any(|run| run.as_deref() == Some(parent)))
        };
        // A window further back looks further back, and one run more, to say whether the list continues.
        let end = window.from.saturating_add(window.limit).saturating_add(1);
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let Looked { cards, is_complete } = self.newest_cards(LISTED_RUNS_MAX.max(end))?;
        let looked_at = cards.len() as u64;
        let found: Vec<Arc<Card>> = cards.into_iter().filter(is_found).collect();
        let facets = Facets::of(&found);
        let mut chosen: Vec<Arc<Card>> = found.into_iter().filter(|card| card.is_chosen(filter)).collect();
        match filter.order.as_str() {
            "run" => {}
            "records" => chosen.sort_by_key(|card| std::cmp::Reverse(card.row.records)),
            "duration" => {
                let duration = |card: &Arc<Card>| card.whole.as_ref().and_then(|whole| whole.duration_ms);
                chosen.sort_by_key(|card| std::cmp::Reverse(duration(card)));
            }
            _ => {
                let created =
                    |card: &Arc<Card>| card.row.measured_at.clone().or_else(|| card.row.created_at.clone());
                chosen.sort_by_key(|card| std::cmp::Reverse(created(card)));
            }
        }
        let mut list = List::of_slice(window, &chosen, |card| card.row());
        list.total = list.total.filter(|_| is_complete);
        Ok(RunList { list, facets, looked_at, complete: is_complete })
    }
}

impl Views {
    /// Returns a list that has one run only.
    pub(super) fn list_of_one(&self, run: &Opened) -> Result<RunList, CliError> {
        let summary = run.store.summary(&run.id)?;
        let view = RunRowView::compute(&run.store, &summary);
        let card = self.card(&run.store, &summary, run.stamp, view);
        let cards = [Arc::new(Card { whole: Some(self.whole_facts(run)), ..card })];
        let list = List::of_slice(hence_server::Window::WHOLE, &cards, |card| card.row());
        Ok(RunList { list, facets: Facets::of(&cards), looked_at: 1, complete: true })
    }
}

impl Card {
    fn is_chosen(&self, filter: &RunFilter) -> bool {
        let among =
            |wanted: &[String], found: &str| wanted.is_empty() || wanted.iter().any(|word| word == found);
        among(&filter.status, &self.row.status)
            && among(&filter.kind, self.kind)
            && among(&filter.skill, self.skill.as_deref().unwrap_or_default())
            && (!filter.waiting || !self.row.waiting.is_empty())
            && (!filter.failed_policy || self.has_failed_policy())
            && (!filter.gaps || self.has_gaps())
    }

    fn has_failed_policy(&self) -> bool {
        let policies = self.whole.as_ref().and_then(|whole| whole.policies.as_ref());
        let is_blocked = self.row.status == "blocked";
        policies.is_some_and(|policies| policies.failed > 0 || is_blocked && policies.blocked > 0)
    }

    fn has_gaps(&self) -> bool {
        let gaps = self.whole.as_ref().and_then(|whole| whole.gaps.as_ref());
        gaps.is_some_and(|gaps| gaps.open > 0)
    }

    pub(super) fn row(&self) -> CardRow {
        let row = &self.row;
        let whole = self.whole.clone().unwrap_or_default();
        CardRow {
            run: row.run.clone(),
            status: row.status.clone(),
            kind: self.kind,
            skill: self.skill.clone(),
            question: self.question.clone(),
            records: row.records,
            bytes: row.bytes,
            head: row.head.clone(),
            created_at: row.created_at.clone(),
            measured_at: row.measured_at.clone(),
            duration_ms: whole.duration_ms,
            waiting: row.waiting.len(),
            calls: whole.usage.as_ref().map(|(calls, ..)| *calls),
            tokens: whole.usage.as_ref().map(|(_, tokens, _)| *tokens),
            cost: whole.usage.map(|(.., cost)| cost),
            gaps: whole.gaps,
            policies: whole.policies,
            parent: row.parent.clone(),
            origin: row.origin.clone(),
            retries: row.retries.clone(),
            retry: row.retry.clone(),
        }
    }
}

impl Facets {
    fn of(cards: &[Arc<Card>]) -> Self {
        let count = |value: &dyn Fn(&Card) -> Option<String>| {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for value in cards.iter().filter_map(|card| value(card)) {
                *counts.entry(value).or_default() += 1;
            }
            let mut rows: Vec<FacetRow> =
                counts.into_iter().map(|(value, count)| FacetRow { value, count }).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.count));
            rows.truncate(FACETS_MAX);
            rows
        };
        let number = |is: &dyn Fn(&Card) -> bool| cards.iter().filter(|card| is(card)).count() as u64;
        Self {
            status: count(&|card| Some(card.row.status.clone())),
            kind: count(&|card| Some(card.kind.to_owned())),
            skill: count(&|card| card.skill.clone()),
            waiting: number(&|card| !card.row.waiting.is_empty()),
            failed_policy: number(&Card::has_failed_policy),
            gaps: number(&Card::has_gaps),
            unindexed: number(&|card| card.whole.is_none()),
        }
    }
}

/// The most values of a facet.
const FACETS_MAX: usize = 100;
