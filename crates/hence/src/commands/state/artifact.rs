//! One artifact of a long run of a skill, found without computing the state: it is the output of the record that made it.

use hence_canon::{JsonPointer, Object, Value};
use hence_engine::{RunKind, recorded_outcome_key};
use hence_journal::{Chained, Head, Record, RecordCount};
use hence_state::{Outcome, Profile};
use hence_store::StoreHandle;
use memchr::memmem;

use crate::chain;
use crate::journal_end;
use crate::kind::whole_records;
use crate::prelude::*;
use crate::run_view::is_long;
use crate::target::{self, Journal};

/// An artifact, as a state that holds no other.
pub(super) struct Found {
    pub(super) state: Value,
    pub(super) journal: Journal,
    /// The record that made it, and why it is not what was recorded.
    pub(super) broken: Option<(u64, String)>,
}

/// Finds the artifact that a pointer names, by its key or by the name of its step, in the state after record `at` or after the
/// last one. Returns nothing where the state has to be computed: a short run, a run of another kind, one that was rolled back,
/// and a name that no record has.
pub(super) fn find(
    store: &StoreHandle,
    run: &str,
    pointer: &JsonPointer,
    at: Option<u64>,
) -> Result<Option<Found>, CliError> {
    let mut tokens = pointer.tokens();
    let (Some("artifacts"), Some(wanted)) = (tokens.next(), tokens.next()) else { return Ok(None) };
    let id = target::find_run(store, run)?;
    let summary = store.summary(&id)?;
    let journal = Journal::start_of_run(store, &id)?;
    if !is_long(&summary) || journal.kind != RunKind::Skill || wanted.starts_with('$') {
        return Ok(None);
    }
    let bytes = match at {
        // A record that does not exist is reported where the whole journal is read.
        Some(at) if summary.head().is_none_or(|head| at >= head.records.get()) => return Ok(None),
        Some(at) => journal_end::first_lines(store, &id, at.saturating_add(1))?,
        None => store.journal_bytes(&id)?,
    };
    let records = whole_records(&bytes);
    let profile = journal.profile();
    let found = search(records, wanted, &profile);
    Ok(found.map(|(state, broken)| Found { state, journal, broken }))
}

type Searched = (Value, Option<(u64, String)>);

/// Searches for the last record of a step from the end. A text that merely looks like one is passed over.
fn search(records: &[u8], wanted: &str, profile: &Profile) -> Option<Searched> {
    // A rollback restores the artifacts of an earlier record.
    if memmem::find(records, b"\"control_type\":\"rollback\"").is_some() {
        return None;
    }
    let name = wanted.split_once(':').map_or(wanted, |(_, name)| name);
    let written = hence_canon::canonical_bytes(&Value::from(name));
    let needle = [b"\"step\":", written.as_slice()].concat();
    let finder = memmem::FinderRev::new(&needle);
    let mut end = records.len();
    while let Some(at) = finder.rfind(records.get(..end)?) {
        let start = memchr::memrchr(b'\n', records.get(..at)?).map_or(0, |line_feed| line_feed + 1);
        let line = records.get(start..)?;
        let line = line.get(..memchr::memchr(b'\n', line)?)?;
        if let Some(state) = state_of(line, wanted, name, profile) {
            return Some((state, broken(records, start, line, profile)));
        }
        end = start;
    }
    None
}

/// Returns the artifact that a record made, if it is the one that is wanted.
fn state_of(line: &[u8], wanted: &str, name: &str, profile: &Profile) -> Option<Value> {
    let Record::Step(step) = Chained::decode(line, profile).ok()?.record else { return None };
    let key = recorded_outcome_key(&step);
    let is_wanted = *key == *wanted || wanted == name && **step.result.step() == *name;
    let Outcome::Success(output) = step.result.outcome() else { return None };
    let artifacts = Object::new().with(key.clone(), output.value().clone());
    is_wanted.then(|| Object::new().with("artifacts", artifacts).into())
}

fn broken(records: &[u8], start: usize, line: &[u8], profile: &Profile) -> Option<(u64, String)> {
    let index = Chained::decode(line, profile).ok()?.index.get();
    let before = records.get(..start.checked_sub(1)?)?;
    let begin = memchr::memrchr(b'\n', before).map_or(0, |line_feed| line_feed + 1);
    let before = before.get(begin..)?;
    let before = match index {
        1 => Chained::decode_header(before).ok()?.0,
        _ => Chained::decode(before, profile).ok()?,
    };
    let head = Head { hash: before.hash, records: RecordCount::new(index) };
    chain::line_break(index, line, Some(head), profile).map(|reason| (index, reason))
}
