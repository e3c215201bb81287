//! Compares a run of variables with the runs that its tasks are linked to: those it spawned, and the one that spawned it.

use hence_engine::{Blobs, VariablesRun};
use hence_store::{RunId, StoreHandle};
use hence_variables::{State, Status};

use super::{SCOPES, shared_scopes, whole_lines};
use crate::sink::StoreBlobs;
use crate::skills::LinkRow;
use crate::target::{Journal, problem_name};

/// The result of comparing one task with its run.
enum Compared {
    Holds,
    Broken(String),
    NotChecked(String),
}

/// Compares the tasks of a run with the runs they are linked to, as far as those are in the same store. A run that cannot be read
/// is reported by the levels that decode it.
pub(crate) fn linked_tasks(journal: &Journal, blobs: &dyn Blobs) -> Vec<LinkRow> {
    let Ok(Some(problem)) = journal.parsed_problem() else { return Vec::new() };
    let Ok(here) = VariablesRun::load(&whole_lines(journal.bytes.clone()), problem, blobs) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for task in here.workspace().states() {
        if let Some(run) = task.lives_in() {
            let compared = compare(journal, run, |there| spawned(journal, task, there));
            let detail =
                "it names this run as its parent, and has the prompt and the end that are recorded here";
            rows.push(row("spawned", run, compared, detail));
        }
        if let Some(spawner) = task.spawned_by() {
            let compared = compare(journal, &spawner.run, |there| {
                let is_this = |known: &&State| {
                    known.lives_in().is_some_and(|run| **run == *journal.name)
                        && known.parent() == Some(spawner.state)
                };
                match there.workspace().states().find(is_this) {
                    Some(_) => Compared::Holds,
                    None => Compared::Broken(format!("{} records no such task", spawner.run)),
                }
            });
            rows.push(row("parent", &spawner.run, compared, "it records that it spawned this run"));
        }
        rows.extend(missing_scopes(journal, &here, task));
    }
    rows
}

/// Names the shared scopes that a task has seen changes of, and whose runs are not in the store or have fewer changes. Their
/// content is not compared: an imported run shares its variables with the scopes of another store.
fn missing_scopes(journal: &Journal, here: &VariablesRun, task: &State) -> Vec<LinkRow> {
    let Some(view) = here.workspace().state_view(task.id()) else { return Vec::new() };
    let (Some(store), Ok(ids)) = (&journal.store, shared_scopes::ids(task)) else { return Vec::new() };
    // The run of a scope holds its layer as the session of a name of its own, which no other run holds.
    let is_own = |id: &RunId| *id.as_str() == *shared_scopes::keeper_id();
    let seen = ids.into_iter().filter(|(scope, id)| view.revision(*scope) > 0 && !is_own(id));
    let scopes = store.within(SCOPES).ok().flatten();
    let missing = |(scope, id): (_, RunId)| {
        let there = scopes.as_ref().and_then(|scopes| load(scopes, &id));
        let detail = match there.as_ref().map(shared_scopes::revision_of) {
            None => "what it shares is not in this store, or cannot be read".to_owned(),
            Some(found) if found < view.revision(scope) => {
                format!("it has {found} changes, and this run has seen {}", view.revision(scope))
            }
            Some(_) => return None,
        };
        Some(row("scope", &format!("{SCOPES}/{id}"), Compared::NotChecked(detail), ""))
    };
    seen.filter_map(missing).collect()
}

fn row(relation: &'static str, run: &str, compared: Compared, holds: &str) -> LinkRow {
    let (verdict, detail) = match compared {
        Compared::Holds => ("holds", holds.to_owned()),
        Compared::Broken(detail) => ("broken", detail),
        Compared::NotChecked(detail) => ("not_checked", detail),
    };
    LinkRow { relation, run: run.to_owned(), runs: 1, verdict, detail }
}

fn compare(journal: &Journal, run: &str, with: impl FnOnce(&VariablesRun) -> Compared) -> Compared {
    let Some(store) = &journal.store else {
        return Compared::NotChecked("the journal is in no store".to_owned());
    };
    match RunId::new(run).ok().and_then(|id| load(store, &id)) {
        Some(there) => with(&there),
        None => Compared::NotChecked(format!("{run} is not in this store, or cannot be read")),
    }
}

/// Reads a run of variables from its journal alone: a snapshot proves nothing.
fn load(store: &StoreHandle, run: &RunId) -> Option<VariablesRun> {
    let problem = hence_canon::parse_lenient(&store.attachment(run, &problem_name()).ok()?).ok()?;
    let journal = whole_lines(store.journal_bytes(run).ok()?);
    VariablesRun::load(&journal, &problem, &StoreBlobs(store)).ok()
}

/// Compares a task that this run spawned with the run of the task.
fn spawned(journal: &Journal, task: &State, there: &VariablesRun) -> Compared {
    let Some(own) = there.first_state().and_then(|first| there.workspace().state(first)) else {
        return Compared::NotChecked("its run has no task yet".to_owned());
    };
    let names_this = own
        .spawned_by()
        .is_some_and(|spawner| *spawner.run == *journal.name && Some(spawner.state) == task.parent());
    if !names_this {
        return Compared::Broken("its run names another parent".to_owned());
    }
    if own.id() != task.id() {
        return Compared::Broken(format!(
            "its run calls it {}, and {} is recorded here",
            own.id(),
            task.id()
        ));
    }
    if own.prompt().map(|prompt| &prompt.stored) != task.prompt().map(|prompt| &prompt.stored) {
        return Compared::Broken("its run has another prompt".to_owned());
    }
    match (task.status().is_terminal(), own.status().is_terminal()) {
        (false, _) => Compared::Holds,
        // A parent that is cancelled does not wait for its children.
        (true, false) if task.status() == Status::Cancelled => Compared::Holds,
        (true, _) if task.status() != own.status() => {
            Compared::Broken(format!("its run is {}, and {} is recorded here", own.status(), task.status()))
        }
        (true, _) if task.final_answer().stored != own.final_answer().stored => {
            Compared::Broken("its run has another answer than the one that is recorded here".to_owned())
        }
        (true, _) => Compared::Holds,
    }
}
