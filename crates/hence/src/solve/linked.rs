//! Compares the calls that child runs answered with those runs.

use std::sync::Arc;

use hence_canon::{Canonical, Value, parse};
use hence_engine::{Blobs, Run};
use hence_journal::{Reader, Record};
use hence_solve::{ChildLink, Entry, SolveProgram, Spec, SubCall};
use hence_state::{ProblemSpec, Profile};
use hence_store::{RunId, StoreError, StoreHandle};

use super::host::child_end;
use crate::kind::whole_records;
use crate::sink::StoreBlobs;
use crate::skills::LinkRow;
use crate::target::{Journal, problem_name};

/// The relation of a child to its parent, as a report names it.
const NESTED: &str = "nested";

/// The most children with one verdict that a report names.
const NAMED_MAX: usize = 20;

/// Compares the children that the records of a run name with their journals, as far as they are in the same store.
pub(crate) fn linked_children(journal: &Journal, blobs: &dyn Blobs) -> Vec<LinkRow> {
    let calls = calls_of_children(&journal.bytes, blobs);
    let (mut holds, mut broken, mut unchecked) = (Vec::new(), Vec::new(), Vec::new());
    for (index, call) in &calls {
        let Some(link) = &call.child else { continue };
        match compare(journal, *index, call, link) {
            Ok(()) => holds.push(link.run.to_string()),
            Err(Difference::Broken(detail)) => broken.push((link.run.to_string(), detail)),
            Err(Difference::NotChecked(detail)) => unchecked.push((link.run.to_string(), detail)),
        }
    }
    let row = |run: String, runs, verdict, detail| LinkRow { relation: NESTED, run, runs, verdict, detail };
    let mut rows = Vec::new();
    let count = holds.len() as u64;
    if let Some(first) = holds.into_iter().next() {
        let detail =
            "each has the head, the question, the answer and the usage that the record of its call names";
        rows.push(row(first, count, "holds", detail.to_owned()));
    }
    for (verdict, found) in [("broken", broken), ("not_checked", unchecked)] {
        // Each child that does not hold is named; the last of many stands for the rest.
        let count = found.len();
        rows.extend(found.into_iter().take(NAMED_MAX).enumerate().map(|(place, (run, detail))| {
            let runs = if place + 1 == NAMED_MAX { count - place } else { 1 };
            row(run, runs as u64, verdict, detail)
        }));
    }
    rows
}

/// Returns the calls that child runs answered, with their records.
fn calls_of_children(journal: &[u8], blobs: &dyn Blobs) -> Vec<(u64, SubCall)> {
    let Ok((_, reader)) = Reader::open(whole_records(journal)) else { return Vec::new() };
    let mut calls = Vec::new();
    for (index, chained) in (1..).zip(reader.map_while(Result::ok)) {
        let Record::Step(step) = chained.record else { continue };
        // A record that is no entry is reported by the levels that decode it.
        if let Ok(Entry::Call(call)) = Entry::read(&step.result, blobs)
            && call.child.is_some()
        {
            calls.push((index, *call));
        }
    }
    calls
}

enum Difference {
    Broken(String),
    NotChecked(String),
}

fn broken(what: &str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Difference {
    Difference::Broken(format!("the record of the call names the {what} {expected}, the child has {found}"))
}

fn compare(journal: &Journal, index: u64, call: &SubCall, link: &ChildLink) -> Result<(), Difference> {
    let Some(store) = &journal.store else {
        return Err(Difference::NotChecked("a journal's file lies in no store".to_owned()));
    };
    let id = RunId::new(&link.run).map_err(|error| Difference::Broken(error.to_string()))?;
    compare_name(journal, index, link)?;
    let (bytes, document) = read_child(store, &id)?;
    let unreadable = |reason: String| Difference::Broken(format!("the child cannot be read: {reason}"));
    let spec = Spec::read(&document).map_err(|finding| unreadable(finding.to_string()))?;
    let problem = ProblemSpec::decode(&document, &Profile::STRICT)
        .map_err(|findings| unreadable(findings.to_string()))?;
    let program =
        SolveProgram::new(Arc::new(problem), None, None).map_err(|error| unreadable(error.to_string()))?;
    let run = Run::resume(program, whole_records(&bytes), &StoreBlobs(store))
        .map_err(|error| unreadable(error.to_string()))?;
    let end = child_end(&id, &run);
    if end.link.head != link.head {
        return Err(broken("head", &link.head, &end.link.head));
    }
    if spec.question != call.prompt {
        return Err(broken("prompt", &call.prompt, &spec.question));
    }
    let context = call.context.clone().unwrap_or_else(|| call.prompt.clone().into());
    let context = Canonical::of(&context).digest();
    if spec.contexts.iter().map(|pin| pin.sha256).ne([context]) {
        return Err(Difference::Broken("the child was given another context".to_owned()));
    }
    if spec.model.name != call.model {
        return Err(broken("model", &call.model, &spec.model.name));
    }
    if end.recorded_answer() != call.answer {
        return Err(Difference::Broken("the child ended with another answer".to_owned()));
    }
    if end.recorded_usage() != call.used {
        return Err(broken("usage", call.used.value(), end.recorded_usage().value()));
    }
    compare_parent(journal, index, &spec)
}

/// Returns the id of the run; `None` for a record that a fork shares with its origin, whose call was that of the origin.
fn own_id(journal: &Journal, index: u64) -> Option<&str> {
    let problem = &journal.parsed_problem().ok().flatten()?.value;
    let shared = problem.get("settings").and_then(|settings| settings.get("origin")?.get("shared")?.as_u64());
    if index <= shared.unwrap_or(0) { None } else { problem.get("id")?.as_str() }
}

/// Compares the name of a child with the one that its call gives it.
fn compare_name(journal: &Journal, index: u64, link: &ChildLink) -> Result<(), Difference> {
    match own_id(journal, index).map(|id| format!("{id}/{index}")) {
        Some(expected) if *expected != *link.run => {
            let found = &link.run;
            Err(Difference::Broken(format!(
                "the child of record {index} is {expected}, the record names {found}"
            )))
        }
        _ => Ok(()),
    }
}

/// Compares what the child says about its parent.
fn compare_parent(journal: &Journal, index: u64, spec: &Spec) -> Result<(), Difference> {
    let Some(id) = own_id(journal, index) else { return Ok(()) };
    let found = spec.parent.as_ref().map(|parent| (&*parent.run, parent.record));
    if found != Some((id, index)) {
        return Err(Difference::Broken(format!(
            "the child answers another call than record {index} of {id}"
        )));
    }
    Ok(())
}

fn read_child(store: &StoreHandle, id: &RunId) -> Result<(Vec<u8>, Value), Difference> {
    let absent = |error: StoreError| match error {
        StoreError::NoSuchRun { .. } => Difference::NotChecked(format!("{id} is not in this store")),
        other => Difference::NotChecked(other.to_string()),
    };
    let bytes = store.journal_bytes(id).map_err(absent)?;
    let document = store.attachment(id, &problem_name()).map_err(absent)?;
    let document =
        parse(&document).map_err(|error| Difference::Broken(format!("{id}: problem.json: {error}")))?;
    Ok((bytes, document))
}
