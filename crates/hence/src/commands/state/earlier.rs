//! The state after an earlier record of a long run, without reading the records after it.

use hence_canon::Value;
use hence_engine::{Engine, RunKind};
use hence_journal::RecordIndex;
use hence_store::{RunId, StoreHandle};

use crate::args::StateArgs;
use crate::interactive::stored_run;
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::run_view::is_long;
use crate::standing_view::StandingView;
use crate::target::{self, Journal};
use crate::view::RunWindow;

/// The most records before the one that is asked for among which a step is searched.
const RECORDS_BEFORE_MAX: u64 = 64;

/// The beginning of a long run.
pub(super) struct Start {
    /// Its records up to one after the last that counts, which some profiles need.
    pub(super) journal: Journal,
    /// The last record that counts.
    pub(super) last: RecordIndex,
}

impl Start {
    /// Reads the beginning of a long run up to the record that is asked for by its index. Returns nothing for a short run, and
    /// where a record is asked for in another way, or does not exist.
    pub(super) fn find(context: &Context, args: &StateArgs) -> Result<Option<Self>, CliError> {
        let Some(Ok(last)) = args.at.as_deref().map(str::parse::<u64>) else { return Ok(None) };
        let store = context.store()?;
        let id = target::find_run(&store, &args.run)?;
        let summary = store.summary(&id)?;
        let exists = summary.head().is_some_and(|head| last < head.records.get());
        if !is_long(&summary) || !exists {
            return Ok(None);
        }
        let last = RecordIndex::new(last);
        Ok(Some(Self { journal: Journal::of_stored_up_to(store, &id, last)?, last }))
    }
}

/// Reads the measured times of the first records of a run.
pub(super) fn times(journal: &Journal, last: RecordIndex) -> RunTimes {
    match (&journal.store, RunId::new(&journal.name)) {
        (Some(store), Ok(run)) => RunTimes::of_first_records(store, &run, &journal.bytes, last),
        _ => RunTimes::default(),
    }
}

type Found = (Value, Option<(u64, String)>);

/// Returns the state after a record of a long run without its artifacts, from a few records up to that one, and which of them
/// is not what was recorded. Returns nothing where earlier records are needed.
pub(super) fn outside_artifacts(
    store: &StoreHandle,
    run: &RunId,
    start: &Journal,
    at: &str,
) -> Result<Option<Found>, CliError> {
    let Ok(last) = at.parse::<u64>() else { return Ok(None) };
    if has_errors(store, run, start)? {
        return Ok(None);
    }
    let from = last.saturating_sub(RECORDS_BEFORE_MAX);
    let limit = last.saturating_sub(from).saturating_add(1);
    let Some(window) = RunWindow::read(store.clone(), run.clone(), from, limit)? else { return Ok(None) };
    let mut records = Vec::new();
    let mut broken = None;
    for (line, reason) in window.records() {
        let Ok(record) = &line.record else { return Ok(None) };
        records.push(record);
        if let Some(reason) = reason {
            broken.get_or_insert((line.index, reason));
        }
    }
    // Very long records may fill the window before the last one, and a record that does not exist is in none.
    if records.last().is_none_or(|record| record.index.get() != last) {
        return Ok(None);
    }
    let problem = start.required_problem()?;
    let state = Engine::new().state_outside_artifacts(&start.bytes, problem, &records);
    Ok(state.map(|state| (state, broken)))
}

/// Returns whether a long run ever had an error, so that the state after a record has those before it. An unknown answer is
/// yes.
fn has_errors(store: &StoreHandle, run: &RunId, start: &Journal) -> Result<bool, CliError> {
    let summary = store.summary(run)?;
    if !is_long(&summary) {
        return Ok(true);
    }
    if start.kind == RunKind::Variables {
        let (run, _) = stored_run::load(store, run, start.required_problem()?)?;
        return Ok(!run.state().errors().is_empty());
    }
    let state = store.view_of::<StandingView>(&summary).state;
    let errors =
        state.as_ref().and_then(|state| state.get("errors")?.as_array().map(|errors| !errors.is_empty()));
    Ok(errors.unwrap_or(true))
}
