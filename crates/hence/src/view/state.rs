//! The state after any record, what each record changed, and the values of one place over time.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, JsonPointer, Object, Value};
use hence_engine::{Change, Engine, Folded, changes};
use hence_journal::{Control, Record, RecordIndex};
use hence_server::Window;
use hence_state::{Artifacts, ITERATIONS_KEY, Produced, ReasoningState, Status, Timestamp};

use super::Views;
use super::error::bad_request;
use super::opened::Opened;
use super::shown::{Budget, List, Shown};
use crate::kind::whole_records;
use crate::prelude::*;

/// A member or an element of a value.
#[derive(Serialize, JsonSchema)]
struct MemberRow {
    /// Its name or its number.
    key: String,
    /// The pointer to it.
    pointer: String,
    /// Its value.
    value: Shown,
}

/// A value of a state, and what is in it.
#[derive(Serialize, JsonSchema)]
pub(super) struct StateReport {
    /// The record after which the state is.
    at: u64,
    /// The place of the value.
    pointer: String,
    /// The value.
    value: Shown,
    #[serde(flatten)]
    list: List<MemberRow>,
}

/// A place at which two states differ.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChangeRow {
    /// The place.
    pointer: String,
    /// `added`, `removed` or `changed`.
    change: &'static str,
    /// The value before.
    before: Option<Shown>,
    /// The value after.
    after_value: Option<Shown>,
}

/// The differences of two states.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChangesReport {
    /// The record after which the first state is; null for none at all.
    after: Option<u64>,
    /// The record after which the second state is.
    at: u64,
    #[serde(flatten)]
    list: List<ChangeRow>,
}

/// A value that a record gave to a place.
#[derive(Serialize, JsonSchema)]
struct ValueRow {
    /// The record.
    index: u64,
    /// The step, where the record is one.
    step: Option<String>,
    /// `added`, `removed` or `changed`.
    change: &'static str,
    /// The value after it.
    value: Option<Shown>,
}

/// The values of a place over time.
#[derive(Serialize, JsonSchema)]
pub(super) struct ValuesReport {
    /// The place.
    pointer: String,
    #[serde(flatten)]
    list: List<ValueRow>,
}

/// One operation on a state.
#[derive(Serialize, JsonSchema, Clone)]
pub(super) struct Operation {
    /// `set` or `remove`.
    op: &'static str,
    /// The place.
    at: String,
    /// The value that is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Data>,
}

impl Operation {
    fn set(at: JsonPointer, value: Value) -> Self {
        Self { op: "set", at: at.to_string(), value: Some(Data(value)) }
    }

    fn remove(at: JsonPointer) -> Self {
        Self { op: "remove", at: at.to_string(), value: None }
    }
}

/// The changes that one record made.
#[derive(Serialize, JsonSchema)]
pub(super) struct PatchRow {
    /// The record.
    index: u64,
    /// The operations, in order.
    patch: Vec<Operation>,
}

impl ChangeRow {
    pub(super) fn of(change: &Change) -> Self {
        Self {
            pointer: change.pointer.to_string(),
            change: word(change.left.is_some(), change.right.is_some()),
            before: Shown::maybe(change.left.as_ref()),
            after_value: Shown::maybe(change.right.as_ref()),
        }
    }
}

fn word(before: bool, after: bool) -> &'static str {
    match (before, after) {
        (false, _) => "added",
        (true, false) => "removed",
        (true, true) => "changed",
    }
}

impl Views {
    /// Shows the state after every record up to one, and returns the last of them.
    fn fold(
        &self,
        run: &Opened,
        at: Option<u64>,
        visit: impl FnMut(Folded<'_>),
    ) -> Result<(u64, ReasoningState), CliError> {
        let journal = run.whole()?;
        let problem = journal.required_problem()?;
        let records = whole_records(&journal.bytes);
        let count = hence_journal::Lines::of(records).count().get();
        if let Some(at) = at.filter(|at| *at >= count) {
            let message = format!("run {}: expected a record below {count}, found {at}", run.id);
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::records(run.name())));
        }
        let last = at.map(RecordIndex::new);
        let state = Engine::new()
            .fold_states(records, problem, last, visit)
            .map_err(|error| CliError::resume(run.name(), error))?;
        Ok((at.unwrap_or(count.saturating_sub(1)), state))
    }

    pub(super) fn state(
        &self,
        run: &Opened,
        at: Option<u64>,
        pointer: &str,
        window: Window,
    ) -> Result<StateReport, CliError> {
        let place = read_pointer(pointer)?;
        let (at, state) = self.fold(run, at, |_| {})?;
        let state = state.canonical();
        let Some(value) = state.value().pointer(&place) else {
            let message = format!("run {}: nothing is at {place} in the state", run.id);
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::places(run.name())));
        };
        let member = |key: String, value: &Value| {
            let pointer = place.child(&key).to_string();
            MemberRow { key, pointer, value: Shown::of(value) }
        };
        let list = match value {
            Value::Object(members) => {
                let members: Vec<_> = members.iter_sorted().collect();
                List::of_slice(window, &members, |(key, value)| member(key.to_string(), value))
            }
            Value::Array(elements) => List::of(window, elements.len() as u64, |place| {
                let value = elements.get(usize::try_from(place).ok()?)?;
                Some(member(place.to_string(), value))
            }),
            _ => List { total: Some(0), from: window.from, next: None, items: Vec::new() },
        };
        Ok(StateReport { at, pointer: place.to_string(), value: Shown::of(value), list })
    }

    pub(super) fn state_changes(
        &self,
        run: &Opened,
        after: Option<u64>,
        at: Option<u64>,
        window: Window,
    ) -> Result<ChangesReport, CliError> {
        let last = match at {
            Some(at) => at,
            None => run.lines()?.count().saturating_sub(1),
        };
        // The state before the header is none.
        let first = after.or_else(|| last.checked_sub(1));
        if let Some(first) = first.filter(|first| *first > last) {
            return Err(bad_request(format!("after: expected a record up to {last}, found {first}")));
        }
        let mut before: Option<Canonical> = None;
        let (at, state) = self.fold(run, at, |folded| {
            if Some(folded.index.get()) == first {
                before = Some(folded.state.canonical());
            }
        })?;
        let none = Canonical::of(&Value::Null);
        let before = before.unwrap_or(none);
        let found = changes(before.value(), state.canonical().value());
        Ok(ChangesReport { after: first, at, list: List::of_slice(window, &found, ChangeRow::of) })
    }

    pub(super) fn state_values(
        &self,
        run: &Opened,
        pointer: &str,
        window: Window,
    ) -> Result<ValuesReport, CliError> {
        let place = read_pointer(pointer)?;
        let first = place.tokens().next();
        if first.is_none() || (first == Some("artifacts") && place.tokens().len() == 1) {
            return Err(bad_request(
                "pointer: expected a place inside the state, as /status or /artifacts/NAME",
            ));
        }
        let (mut last, mut budget): (Option<Value>, _) = (None, Budget::of(window));
        let (mut items, mut next) = (Vec::new(), None);
        self.fold(run, None, |Folded { index, state, record, .. }| {
            let value = value_at(state, &place);
            if value == last || next.is_some() {
                last = value;
                return;
            }
            let change = word(last.is_some(), value.is_some());
            if index.get() >= window.from {
                let step = match record {
                    Some(Record::Step(step)) => Some(step.result.step().to_string()),
                    _ => None,
                };
                let row = ValueRow { index: index.get(), step, change, value: Shown::maybe(value.as_ref()) };
                let is_full = items.len() as u64 >= window.limit || (!budget.take(&row) && !items.is_empty());
                if is_full {
                    next = Some(index.get());
                } else {
                    items.push(row);
                }
            }
            last = value;
        })?;
        let list = List { total: None, from: window.from, next, items };
        Ok(ValuesReport { pointer: place.to_string(), list })
    }

    pub(super) fn state_patches(&self, run: &Opened, window: Window) -> Result<List<PatchRow>, CliError> {
        let mut seen: Option<Seen> = None;
        let mut budget = Budget::of(window);
        let until = window.from.saturating_add(window.limit);
        let (mut items, mut next, mut total): (Vec<PatchRow>, Option<u64>, u64) = (Vec::new(), None, 0);
        self.fold(run, None, |folded| {
            let index = folded.index.get();
            total = index + 1;
            if next.is_some() {
                return;
            }
            let patch = Seen::advance(&mut seen, &folded, index >= window.from);
            if index >= window.from {
                let row = PatchRow { index, patch };
                if index >= until || (!budget.take(&row) && !items.is_empty()) {
                    next = Some(index);
                    return;
                }
                items.push(row);
            }
        })?;
        Ok(List { total: Some(total), from: window.from, next, items })
    }
}

fn read_pointer(text: &str) -> Result<JsonPointer, CliError> {
    text.parse().map_err(|error| bad_request(format!("pointer: {error}")))
}

fn errors_of(state: &ReasoningState) -> Value {
    state.errors().iter().collect()
}

fn produced(later: &Produced) -> Value {
    Object::from_iter([
        ("key", Value::from(&*later.key)),
        ("output", later.output.value().clone()),
        ("step", Value::from(&*later.step)),
        ("step_index", Value::from(later.step_index.get())),
    ])
    .into()
}

/// Returns the value at a place of a state, without making the whole state.
fn value_at(state: &ReasoningState, place: &JsonPointer) -> Option<Value> {
    let mut tokens = place.tokens();
    let first = tokens.next()?;
    let rest = |count: usize| place.tokens().skip(count).collect::<JsonPointer>();
    match first {
        "status" => Value::from(state.status().to_string()).pointer(&rest(1)).cloned(),
        "step_index" => Value::from(state.step_index().get()).pointer(&rest(1)).cloned(),
        "errors" => errors_of(state).pointer(&rest(1)).cloned(),
        "artifacts" => match tokens.next()? {
            ITERATIONS_KEY => {
                let later = state.artifacts().later();
                match tokens.next() {
                    None => (!later.is_empty()).then(|| later.iter().map(produced).collect()),
                    Some(number) => {
                        let later = later.get(JsonPointer::list_index(number)?)?;
                        produced(later).pointer(&rest(3)).cloned()
                    }
                }
            }
            key => state.artifacts().first(key)?.value().pointer(&rest(2)).cloned(),
        },
        // Everything else is small, or never changes.
        "metadata" => state.canonical().value().pointer(place).cloned(),
        _ => state.problem().canonical().value().pointer(&rest(1)).filter(|_| first == "problem").cloned(),
    }
}

/// The known parts of the state before a record, so that a change is found without comparing whole states.
struct Seen {
    artifacts: BTreeMap<Arc<str>, Canonical>,
    later: usize,
    errors: usize,
    updated_at: Timestamp,
    status: Status,
    step_index: u64,
}

impl Seen {
    fn of(state: &ReasoningState) -> Self {
        Self {
            artifacts: state.artifacts().iter().map(|(key, output)| (key.clone(), output.clone())).collect(),
            later: state.artifacts().later().len(),
            errors: state.errors().len(),
            updated_at: state.metadata().updated_at.clone(),
            status: state.status(),
            step_index: state.step_index().get(),
        }
    }

    /// Takes the next record in, and returns the operations that turn the state before it into the state after it.
    fn advance(seen: &mut Option<Self>, folded: &Folded<'_>, is_wanted: bool) -> Vec<Operation> {
        let (state, root) = (folded.state, JsonPointer::root());
        let Some(seen) = seen else {
            *seen = Some(Self::of(state));
            let whole = |_| vec![Operation::set(root, state.canonical().value().clone())];
            return is_wanted.then_some(()).map(whole).unwrap_or_default();
        };
        let mut found = match folded.record {
            Some(Record::Control(Control::Rollback(_))) => seen.all_artifacts(state.artifacts()),
            _ => seen.one_artifact(folded.key, state.artifacts()),
        };
        if seen.errors != state.errors().len() {
            seen.errors = state.errors().len();
            found.push(Operation::set(root.child("errors"), errors_of(state)));
        }
        let updated_at = &state.metadata().updated_at;
        if seen.updated_at != *updated_at {
            seen.updated_at = updated_at.clone();
            let place = root.child("metadata").child("updated_at");
            found.push(Operation::set(place, updated_at.as_str().into()));
        }
        if seen.status != state.status() {
            seen.status = state.status();
            found.push(Operation::set(root.child("status"), state.status().to_string().into()));
        }
        if seen.step_index != state.step_index().get() {
            seen.step_index = state.step_index().get();
            found.push(Operation::set(root.child("step_index"), seen.step_index.into()));
        }
        found
    }

    /// A step gives one output, under its key or at the end of the later ones.
    fn one_artifact(&mut self, key: &str, after: &Artifacts) -> Vec<Operation> {
        let artifacts = JsonPointer::root().child("artifacts");
        let mut found = Vec::new();
        if let Some(output) = after.first(key).filter(|output| self.artifacts.get(key) != Some(*output)) {
            self.artifacts.insert(key.into(), output.clone());
            found.push(Operation::set(artifacts.child(key), output.value().clone()));
        }
        let (before, later) = (self.later, after.later());
        self.later = later.len();
        let place = artifacts.child(ITERATIONS_KEY);
        match before {
            before if before == later.len() => {}
            0 => found.push(Operation::set(place, later.iter().map(produced).collect())),
            before => {
                let added = later.iter().enumerate().skip(before);
                found.extend(added.map(|(at, one)| Operation::set(place.child(at), produced(one))));
            }
        }
        found
    }

    /// A rollback returns to all outputs of an earlier state.
    fn all_artifacts(&mut self, after: &Artifacts) -> Vec<Operation> {
        let artifacts = JsonPointer::root().child("artifacts");
        let now: BTreeMap<Arc<str>, Canonical> =
            after.iter().map(|(key, output)| (key.clone(), output.clone())).collect();
        let gone = self.artifacts.keys().filter(|key| !now.contains_key(*key));
        let mut found: Vec<Operation> = gone.map(|key| Operation::remove(artifacts.child(key))).collect();
        for (key, output) in &now {
            if self.artifacts.get(key) != Some(output) {
                found.push(Operation::set(artifacts.child(key), output.value().clone()));
            }
        }
        let place = artifacts.child(ITERATIONS_KEY);
        match (self.later, after.later()) {
            (before, later) if before == later.len() => {}
            (_, []) => found.push(Operation::remove(place)),
            (_, later) => found.push(Operation::set(place, later.iter().map(produced).collect())),
        }
        self.artifacts = now;
        self.later = after.later().len();
        found
    }
}
