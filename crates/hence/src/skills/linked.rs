//! Compares a run with those it is linked to: the one it was forked from, the ones it nests, the one that nests it.

use hence_canon::Value;
use hence_cognition::budget::Usage;
use hence_cognition::run::{NESTED_RUNS_KEY, StepOutcome};
use hence_engine::{Blobs, RunKind, attempt, was_started};
use hence_journal::{Head, ReadError, Reader, Record, RecordCount, RecordIndex};
use hence_skills::{
    LinkError, Links, Origin, Parent, RecordKind, begins_with, compare_origin, effective_records, kind_of,
    recorded_outcome,
};
use hence_store::{RunId, StoreError, StoreHandle};
use schemars::JsonSchema;
use serde::Serialize;

use super::nested_results::{self, Around};
use crate::interactive::linked_tasks;
use crate::kind::whole_records;
use crate::solve::linked_children;
use crate::target::Journal;

/// The result of comparing a run with a linked run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkRow {
    /// The relation of the other run to this one: `origin`, `nested`, `spawned`, `parent` or `scope`; or `name` when the store
    /// has the journal of another run under this id.
    pub(crate) relation: &'static str,
    /// The other run, or the first of those a step nests.
    pub(crate) run: String,
    /// The number of runs that were compared: a step may nest several.
    pub(crate) runs: u64,
    /// `holds`, `broken` or `not_checked`.
    pub(crate) verdict: &'static str,
    /// The compared parts, the difference, or the reason why nothing was compared.
    pub(crate) detail: String,
}

impl LinkRow {
    /// Reports that the journal of another run is stored under this run's id.
    pub(crate) fn of_another_run(run: &str, named: String) -> Self {
        let detail = format!("the store has it under the id {run}, and its header names {named}");
        row("name", named, 1, Found::Broken(detail))
    }
}

enum Found {
    Holds(String),
    Broken(String),
    NotChecked(String),
}

/// Compares a run with those it is linked to, as far as they are in the same store.
pub(crate) fn linked_runs(journal: &Journal, blobs: &dyn Blobs) -> Vec<LinkRow> {
    let mut rows = match journal.kind {
        RunKind::Solve => linked_children(journal, blobs),
        RunKind::Variables => linked_tasks(journal, blobs),
        _ => Vec::new(),
    };
    let problem = journal.parsed_problem().ok().flatten();
    let Some(links) = problem.and_then(|problem| Links::of_problem(&problem.value)) else {
        return rows;
    };
    let depth = links.parent.as_ref().map_or(0, |parent| parent.depth);
    let here = Here { journal, store: journal.store.as_ref(), depth: usize::try_from(depth).unwrap_or(0) };
    if let Some(origin) = &links.origin {
        rows.push(row("origin", origin.run.to_string(), 1, here.origin(origin)));
    }
    if let Some(parent) = &links.parent {
        rows.push(row("parent", parent.run.to_string(), 1, here.parent(parent, blobs)));
    }
    for nested in nested_of(&journal.bytes, blobs) {
        let first = nested.runs.first().map(|(run, _)| run.clone()).unwrap_or_default();
        let found = here.nested(&nested, links.origin.as_ref(), blobs);
        rows.push(row("nested", first, nested.runs.len() as u64, found));
    }
    rows
}

/// The runs that one record of a step nests.
struct NestedRuns {
    step: String,
    outcome: StepOutcome,
    /// The number of results in effect or rolled back that come before the record.
    results_before: usize,
    /// The runs, with the heads in the record.
    runs: Vec<(String, String)>,
}

fn row(relation: &'static str, run: String, runs: u64, found: Found) -> LinkRow {
    let (verdict, detail) = match found {
        Found::Holds(detail) => ("holds", detail),
        Found::Broken(detail) => ("broken", detail),
        Found::NotChecked(detail) => ("not_checked", detail),
    };
    LinkRow { relation, run, runs, verdict, detail }
}

/// Returns the ids of the runs that the steps of a journal nest, in order.
pub(crate) fn nested_runs(journal: &[u8], blobs: &dyn Blobs) -> Vec<String> {
    nested_of(journal, blobs).into_iter().flat_map(|nested| nested.runs).map(|(run, _)| run).collect()
}

/// Returns the runs that each step of a journal nests, as far as they can be read.
fn nested_of(journal: &[u8], blobs: &dyn Blobs) -> Vec<NestedRuns> {
    let Ok((_, reader)) = Reader::open(whole_records(journal)) else { return Vec::new() };
    let (mut nested, mut results) = (Vec::new(), 0);
    for chained in reader.map_while(Result::ok) {
        let Record::Step(record) = chained.record else { continue };
        let results_before = results;
        results += usize::from(kind_of(&record.result) == Some(RecordKind::Step));
        if !was_started(&record.result) {
            continue;
        }
        // A record without an outcome is reported by the verification levels that decode it.
        let Ok(outcome) = recorded_outcome(&attempt(&record.result), blobs) else { continue };
        let runs: Vec<_> = outcome.meta.get(NESTED_RUNS_KEY).into_iter().flat_map(named).collect();
        if !runs.is_empty() {
            nested.push(NestedRuns { step: outcome.step_id.to_string(), outcome, results_before, runs });
        }
    }
    nested
}

fn named(links: &Value) -> Vec<(String, String)> {
    let text = |link: &Value, key: &str| link.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let links = links.as_array().unwrap_or_default();
    links.iter().map(|link| (text(link, "run"), text(link, "head"))).collect()
}

/// A run that is compared with others.
struct Here<'a> {
    journal: &'a Journal,
    store: Option<&'a StoreHandle>,
    /// The number of runs around this one.
    depth: usize,
}

impl Here<'_> {
    /// Reads the journal of another run, or returns why it is not available.
    fn fetch(&self, run: &str) -> Result<Vec<u8>, Found> {
        let Some(store) = self.store else {
            return Err(Found::NotChecked("a journal's file lies in no store".to_owned()));
        };
        let id = RunId::new(run).map_err(|error| Found::NotChecked(error.to_string()))?;
        store.journal_bytes(&id).map_err(|error| match error {
            StoreError::NoSuchRun { .. } => Found::NotChecked(format!("{run} is not in this store")),
            other => Found::NotChecked(other.to_string()),
        })
    }

    fn origin(&self, origin: &Origin) -> Found {
        let bytes = match self.fetch(&origin.run) {
            Ok(bytes) => bytes,
            Err(found) => return self.tombstone_of_origin(origin).unwrap_or(found),
        };
        match compare_origin(whole_records(&self.journal.bytes), origin, &bytes) {
            Ok(shared) => {
                // The failed attempts are in the origin, and what they used is a sum that nobody computes again.
                let read = match origin.used == Usage::default() {
                    true => "",
                    false => "; what was used before, settings.origin.used, is not checked",
                };
                Found::Holds(format!(
                    "its records up to {} are those named, and the {shared} results in effect there stand here{read}",
                    origin.record
                ))
            }
            Err(error) => Found::Broken(error.to_string()),
        }
    }

    /// Compares the record that a fork names with the hashes that a removed run left.
    fn tombstone_of_origin(&self, origin: &Origin) -> Option<Found> {
        let stone = self.store?.tombstone(&RunId::new(&origin.run).ok()?).ok()??;
        let stone = hence_canon::parse(&stone).ok()?;
        let hash = stone.get("hashes")?.at(usize::try_from(origin.record).ok()?)?.as_str()?.to_owned();
        let record = origin.record;
        Some(match hash == origin.hash.to_string() {
            true => Found::NotChecked(format!(
                "the run was removed; its tombstone has the hash named for record {record}, its records are gone"
            )),
            false => Found::Broken(format!(
                "the run was removed, and its tombstone has the hash {hash} for record {record}, not {}",
                origin.hash
            )),
        })
    }

    /// Compares the runs that a record nests with the heads it names. Each names the run that executed the step as its
    /// parent: this one, or for a shared record the run it was shared with.
    fn nested(&self, nested: &NestedRuns, origin: Option<&Origin>, blobs: &dyn Blobs) -> Found {
        let executed_in = match self.executed_in(nested.results_before, origin) {
            Ok(run) => run,
            Err(found) => return found,
        };
        let mut absent = None;
        for (run, head) in &nested.runs {
            let bytes = match self.fetch(run) {
                Ok(bytes) => bytes,
                Err(found) => {
                    absent.get_or_insert(found);
                    continue;
                }
            };
            if let Err(reason) = begins_at(&bytes, head) {
                return Found::Broken(format!("{run}: {reason}"));
            }
            let parent = self.store.and_then(|store| parent_of(store, run));
            let is_parent = |parent: &Parent| {
                *parent.run == *executed_in
                    || self.is_reused(parent, &nested.step, (run, head), origin, blobs)
            };
            if !parent.as_ref().is_some_and(is_parent) {
                return Found::Broken(format!("{run}: its problem names another parent"));
            }
        }
        if let (None, Some(store)) = (&absent, self.store) {
            let runs: Vec<&str> = nested.runs.iter().map(|(run, _)| &**run).collect();
            let root = (self.depth == 0 && origin.is_none()).then_some(&*self.journal.name);
            let around = Around { depth: self.depth, root };
            if let Some(difference) = nested_results::difference(store, &nested.outcome, &runs, around) {
                return Found::Broken(difference);
            }
        }
        let shared = match executed_in == self.journal.name {
            true => String::new(),
            false => format!(", shared with {executed_in}"),
        };
        absent.unwrap_or_else(|| {
            let step = &nested.step;
            Found::Holds(format!("as step {step} names them by head{shared}, with the results it records; each verified by itself"))
        })
    }

    /// Returns the run that executed a result, given the number of results before it: this run, or the one that it, or
    /// the run it shares the result with, was forked from.
    fn executed_in(&self, results_before: usize, origin: Option<&Origin>) -> Result<String, Found> {
        let (mut run, mut place, mut origin) = (self.journal.name.clone(), results_before, origin.cloned());
        while let Some(link) = origin {
            let bytes = self.fetch(&link.run)?;
            let broken = |error: LinkError| Found::Broken(format!("{}: {error}", link.run));
            let shared = shared_results(&bytes, &link).map_err(broken)?;
            let Some(record) = shared.get(place) else { break };
            place = results_before_record(&bytes, *record).map_err(|error| broken(error.into()))?;
            run = link.run.to_string();
            origin = self.store.and_then(|store| links_of(store, &run)).and_then(|links| links.origin);
        }
        Ok(run)
    }

    /// Returns whether a retry records a nested run again that a step of its origin nested: the origin names it the same.
    fn is_reused(
        &self,
        parent: &Parent,
        step: &str,
        child: (&str, &str),
        origin: Option<&Origin>,
        blobs: &dyn Blobs,
    ) -> bool {
        let mut origin = origin.cloned();
        while let Some(link) = origin.filter(|link| link.idempotency_root.is_some()) {
            if link.run == parent.run {
                let Ok(bytes) = self.fetch(&link.run) else { return false };
                let names = |nested: &NestedRuns| {
                    nested.step == step && nested.runs.iter().any(|(run, head)| (&**run, &**head) == child)
                };
                return nested_of(&bytes, blobs).iter().any(names);
            }
            origin = self.store.and_then(|store| links_of(store, &link.run)).and_then(|links| links.origin);
        }
        false
    }

    fn parent(&self, parent: &Parent, blobs: &dyn Blobs) -> Found {
        let bytes = match self.fetch(&parent.run) {
            Ok(bytes) => bytes,
            Err(found) => return found,
        };
        let (mine, mut last) = (&self.journal.name, None);
        for NestedRuns { step, runs, .. } in nested_of(&bytes, blobs) {
            for (_, head) in runs.iter().filter(|(run, _)| run == mine && *step == *parent.step) {
                match begins_at(&self.journal.bytes, head) {
                    Ok(()) => return Found::Holds(format!("its step {step} names this run by its head")),
                    Err(reason) => last = Some(reason),
                }
            }
        }
        match last {
            Some(reason) => Found::Broken(format!("its step {} names another run: {reason}", parent.step)),
            None => Found::NotChecked(format!("no record of its step {} names this run", parent.step)),
        }
    }
}

fn begins_at(journal: &[u8], head: &str) -> Result<(), String> {
    let head: Head = head.parse().map_err(|error: hence_journal::InvalidAnchor| error.to_string())?;
    begins_with(journal, head).map(|_| ()).map_err(|error: LinkError| error.to_string())
}

fn parent_of(store: &StoreHandle, run: &str) -> Option<Parent> {
    links_of(store, run)?.parent
}

fn links_of(store: &StoreHandle, run: &str) -> Option<Links> {
    let bytes = store.attachment(&RunId::new(run).ok()?, &crate::target::problem_name()).ok()?;
    Links::of_problem(&hence_canon::parse(&bytes).ok()?)
}

/// Returns the records of the results that a link shares, in order.
fn shared_results(origin: &[u8], link: &Origin) -> Result<Vec<RecordIndex>, LinkError> {
    let records = RecordCount::new(link.record.saturating_add(1));
    let named = begins_with(origin, Head { hash: link.hash, records })?;
    let steps = effective_records(named)?.into_iter().filter(|one| one.kind == RecordKind::Step);
    Ok(steps.map(|one| one.index).collect())
}

/// Returns the number of results that come before a record, in effect or rolled back.
fn results_before_record(journal: &[u8], record: RecordIndex) -> Result<usize, ReadError> {
    let mut results = 0;
    for chained in Reader::open(whole_records(journal))?.1 {
        let chained = chained?;
        if chained.index >= record {
            break;
        }
        let is_result =
            matches!(&chained.record, Record::Step(step) if kind_of(&step.result) == Some(RecordKind::Step));
        results += usize::from(is_result);
    }
    Ok(results)
}
