//! Operations on one variable: set, get, delete, rename, and expiry.

use std::sync::Arc;

use hence_canon::Value;

use crate::decide::event_builder::EventBuilder;
use crate::decide::task::incomplete_child;
use crate::decide::{Accepted, advice, check_depth, check_open, find, find_removable, parse_scope};
use crate::limits::VARIABLES_MAX;
use crate::op::Written;
use crate::{
    Action, Delete, Event, Files, Found, Get, Home, Name, Operation, Origin, ReadForm, Refusal, Rename,
    Reply, Scope, Set, Spill, SpillFile, StateView, Status, StorePath, Stored, Timestamp, ValueType,
    Variable,
};

pub(super) fn set(
    view: StateView<'_>,
    set: &Set,
    recorded: Option<&Spill>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    check_open(view.state, set.if_mutation_count)?;
    let name: Name = set.name.parse()?;
    if name.is_prompt() {
        return Err(Refusal::ReadOnly { name });
    }
    if name.is_final() {
        return final_answer(view, set, recorded, name, now);
    }
    let scope = parse_scope(view, set.scope.as_ref())?;
    let found = find(view, scope, &name);
    let new_home = Home::Scope(scope.unwrap_or(Scope::Session));
    let home = found.as_ref().map_or(new_home, |found| found.home);
    if found.as_ref().is_some_and(|found| found.variable.read_only) {
        return Err(Refusal::ReadOnly { name });
    }
    let ttl_seconds = ttl_seconds(set, &name, home)?;
    let (stored, spill) = stored(view, set, recorded, &name)?;
    if found.is_none() && view.visible_count() >= VARIABLES_MAX {
        return Err(Refusal::TooManyVariables);
    }
    let mut variable = written(set, name, found.as_ref(), stored, now);
    variable.ttl_seconds = ttl_seconds.or(variable.ttl_seconds);
    accept(view, set, home, found.as_ref(), variable, spill, now)
}

/// Writes `Final`. Its first non-null value completes the task.
fn final_answer(
    view: StateView<'_>,
    set: &Set,
    recorded: Option<&Spill>,
    name: Name,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let plain = set.scope.is_none() && set.ttl_seconds.is_none() && set.read_only.is_none();
    if !plain {
        let reason = "it takes no scope, ttl_seconds or read_only";
        return Err(Refusal::Special { name, reason, rule: "FINAL-7" });
    }
    let (stored, spill) = stored(view, set, recorded, &name)?;
    if !stored.is_null()
        && let Some(child) = incomplete_child(view)
    {
        return Err(Refusal::ChildrenIncomplete { child });
    }
    let found = view.find(&name);
    let variable = written(set, name, found.as_ref(), stored, now);
    accept(view, set, Home::Special, found.as_ref(), variable, spill, now)
}

fn accept(
    view: StateView<'_>,
    set: &Set,
    home: Home,
    found: Option<&Found>,
    variable: Variable,
    spill: Option<SpillFile>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let operation = if found.is_some() { Operation::Update } else { Operation::Create };
    let old_value = found.map(|found| found.variable.stored.shown());
    let warnings = advice(operation, &variable.name);
    let is_final = variable.name.is_final();
    let completes = is_final && !variable.stored.is_null();
    let mut event = EventBuilder::on(view, Action::Set, now);
    event.write(home, variable, old_value, &set.origin)?;
    if completes {
        event.status(Status::Complete, None);
        end_scope(view, &mut event)?;
    }
    let status = if completes { Status::Complete } else { view.state.status };
    let status = is_final.then_some(status);
    let reply = Reply::Written(Written { operation, spilled: spill.is_some(), warnings, status });
    Ok(Accepted { event: Some(event.finish()), spills: spill.into_iter().collect(), reply })
}

/// Returns the variable after the write. What the write does not mention stays as it was.
fn written(set: &Set, name: Name, found: Option<&Found>, stored: Stored, now: Timestamp) -> Variable {
    let before = match found {
        Some(found) => Variable::clone(&found.variable),
        None => Variable::new(name, Stored::null(), now),
    };
    Variable {
        stored,
        description: set.description.clone().or(before.description),
        source: set.origin.source.clone().or(before.source),
        updated_at: Some(now),
        read_only: before.read_only || set.read_only == Some(true),
        ..before
    }
}

fn ttl_seconds(set: &Set, name: &Name, home: Home) -> Result<Option<u64>, Refusal> {
    let Some(value) = &set.ttl_seconds else { return Ok(None) };
    let seconds = value.as_u64().ok_or_else(|| Refusal::InvalidArgument {
        what: "ttl_seconds",
        expected: "a non-negative integer below 2^64",
        found: value.to_string().chars().take(80).collect(),
    })?;
    match home {
        Home::Scope(Scope::Temporary) => Ok(Some(seconds)),
        other => {
            let scope = other.scope().unwrap_or(Scope::Session);
            Err(Refusal::TtlScope { name: name.clone(), scope })
        }
    }
}

/// Checks type and path and stores the value, in a file of its own when it is large. A value of which a record has only the
/// reference is stored already.
fn stored(
    view: StateView<'_>,
    set: &Set,
    recorded: Option<&Spill>,
    name: &Name,
) -> Result<(Stored, Option<SpillFile>), Refusal> {
    if let Some(spill) = recorded {
        return Ok((Stored::Spilled(spill.clone()), None));
    }
    let value_type = match &set.value_type {
        Some(text) => text.parse().map_err(Refusal::InvalidType)?,
        None => ValueType::infer(&set.value),
    };
    if !value_type.admits(&set.value) {
        let (name, found) = (name.clone(), set.value.kind());
        return Err(Refusal::TypeMismatch { name, expected: value_type, found });
    }
    check_depth("value", &set.value)?;
    match &set.value {
        Value::String(text) if value_type == ValueType::FilePath => {
            let path = StorePath::from_reference(text)?.of_another_program()?;
            Ok((Stored::Reference(path), None))
        }
        value => Ok(Stored::store(view.state.id, value_type, value)),
    }
}

pub(super) fn get(
    view: StateView<'_>,
    get: &Get,
    now: Timestamp,
    files: &dyn Files,
) -> Result<Accepted, Refusal> {
    let name: Name = get.name.parse()?;
    let scope = parse_scope(view, get.scope.as_ref())?;
    let found = find(view, scope, &name).ok_or_else(|| Refusal::NotFound { name: name.clone() })?;
    let stored = &found.variable.stored;
    let reply = match get.form {
        ReadForm::Raw => Reply::Value {
            value: stored.shown(),
            value_type: stored.shown_type(),
            spill_reference: stored.is_spilled(),
        },
        ReadForm::Loaded => {
            let loaded = stored.load(files);
            let (value, value_type) = loaded.map_err(|fault| Refusal::Load { name: name.clone(), fault })?;
            Reply::Value { value, value_type, spill_reference: false }
        }
    };
    // A read that fails does not count, so the count comes last.
    let mut event = EventBuilder::on(view, Action::Get, now);
    event.read(found.home, name);
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply })
}

pub(super) fn delete(view: StateView<'_>, delete: &Delete, now: Timestamp) -> Result<Accepted, Refusal> {
    check_open(view.state, delete.if_mutation_count)?;
    let name: Name = delete.name.parse()?;
    check_removable(&name)?;
    let (home, found) = find_removable(view, delete.scope.as_ref(), &name)?;
    let mut event = EventBuilder::on(view, Action::Delete, now);
    event.delete(home, &found.variable, &delete.origin)?;
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Done })
}

pub(super) fn rename(view: StateView<'_>, rename: &Rename, now: Timestamp) -> Result<Accepted, Refusal> {
    check_open(view.state, rename.if_mutation_count)?;
    let name: Name = rename.name.parse()?;
    check_removable(&name)?;
    let to: Name = rename.to.parse()?;
    if to.is_special() {
        return Err(Refusal::Special { name: to, reason: "nothing can be renamed to it", rule: "RENAME-3" });
    }
    let (home, _) = find_removable(view, rename.scope.as_ref(), &name)?;
    // A name that is visible in any scope is taken: the renamed variable would hide it or be hidden by it.
    if view.find(&to).is_some() {
        return Err(Refusal::NameTaken { name: to });
    }
    let mut event = EventBuilder::on(view, Action::Rename, now);
    event.rename(home, name, to, &rename.origin)?;
    Ok(Accepted { event: Some(event.finish()), spills: Vec::new(), reply: Reply::Done })
}

fn check_removable(name: &Name) -> Result<(), Refusal> {
    if name.is_prompt() {
        return Err(Refusal::ReadOnly { name: name.clone() });
    }
    if name.is_final() {
        let reason = "it can be neither deleted nor renamed";
        return Err(Refusal::Special { name: name.clone(), reason, rule: "FINAL-6" });
    }
    Ok(())
}

/// The source of a deletion by time.
const TTL: &str = "ttl";

/// The source of a deletion because the state is over.
const SCOPE_END: &str = "scope_end";

/// Returns the event that removes what is past its time, if anything is.
pub(super) fn expire(view: StateView<'_>, now: Timestamp) -> Result<Option<Event>, Refusal> {
    let mut due: Vec<(Timestamp, &Arc<Variable>)> = view
        .state
        .temporary
        .variables()
        .values()
        .filter_map(|variable| Some((variable.deadline().filter(|deadline| *deadline <= now)?, variable)))
        .collect();
    if due.is_empty() {
        return Ok(None);
    }
    // Variables come by name, and the sort keeps that order among equal deadlines.
    due.sort_by_key(|(deadline, _)| *deadline);
    let last = view.state.log.last_at();
    let mut event = EventBuilder::on(view, Action::Expire, now);
    for (deadline, variable) in due {
        // Only an imported variable can be due before the last log entry; the log does not go back for it.
        let timestamp = last.map_or(deadline, |last| last.max(deadline));
        event.delete_at(Home::Scope(Scope::Temporary), variable, &Origin::source(TTL), timestamp)?;
    }
    Ok(Some(event.finish()))
}

/// Adds the deletion of temporaries without a time of their own: they end with the state.
pub(super) fn end_scope(view: StateView<'_>, event: &mut EventBuilder) -> Result<(), Refusal> {
    for variable in view.state.temporary.variables().values() {
        if variable.ttl_seconds.is_none() {
            event.delete(Home::Scope(Scope::Temporary), variable, &Origin::source(SCOPE_END))?;
        }
    }
    Ok(())
}
