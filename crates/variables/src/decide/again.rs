//! Decides a recorded event again. What was asked for is read from the event; everything else must follow from it and
//! from the workspace, by the same rules that decided it first.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use crate::decide::{Accepted, Decision, import, looking, operate, task, write};
use crate::event::{Creation, Entry};
use crate::{
    Action, Change, Delete, Event, Get, Init, NoFiles, Op, Origin, Place, ReadForm, Refusal, Rename,
    Rollback, Scope, Set, Shared, Spill, StateView, Stored, TakeCheckpoint, ValueType, Variable, Workspace,
};

/// The length at which a value in a message is cut.
const SHOWN_CHARACTERS: usize = 80;

/// The first part of an event that the rules would not have made.
#[derive(Debug)]
pub(crate) struct Unlike {
    /// The position of the change in the event, from 0.
    pub(crate) change: usize,
    /// The expected and the found value, in words.
    pub(crate) reason: String,
}

impl From<Refusal> for Unlike {
    fn from(refusal: Refusal) -> Self {
        Self::first(format!("{refusal} [{}, {}]", refusal.code(), refusal.rule()))
    }
}

impl Unlike {
    fn first(reason: String) -> Self {
        Self { change: 0, reason }
    }

    /// Returns the finding about an event whose changes no operation of its action makes.
    fn shape(event: &Event) -> Self {
        Self::first(format!("the changes are not those of the action {}", event.action.as_str()))
    }
}

/// Checks that the rules make exactly this event of what it says was asked for.
pub(crate) fn check_again(workspace: &Workspace, event: &Event) -> Result<(), Unlike> {
    let decided = decide_again(workspace, event)?;
    if decided == *event { Ok(()) } else { Err(difference(&decided, event)) }
}

fn decide_again(workspace: &Workspace, event: &Event) -> Result<Event, Unlike> {
    let (state, now) = (event.state, event.at);
    let accepted = match (event.action, event.changes.as_slice()) {
        (Action::Init, [Change::Created(creation), Change::Write { variable, .. }, ..]) => {
            let recorded = recorded(event, &variable.stored)?;
            task::init(workspace, &asked_init(event, creation, variable), recorded, now)?
        }
        (Action::Import, [Change::Imported(imported)]) => import(workspace, &imported.import, now)?,
        (Action::Share, [Change::Shared(shared)]) => {
            check_shared(shared)?;
            task::share(looking(workspace, state, now)?, shared, now)?
        }
        (Action::Return, [Change::Write { variable, .. }, Change::Status { status, .. }]) => {
            recorded(event, &variable.stored)?;
            variable.stored.check_form().map_err(Unlike::first)?;
            task::settle(looking(workspace, state, now)?, *status, &variable.stored, now)?
        }
        (Action::Return, [Change::Status { status, .. }]) => {
            task::settle(looking(workspace, state, now)?, *status, &Stored::null(), now)?
        }
        (Action::Expire, [Change::Delete { .. }, ..]) => {
            let due = write::expire(looking(workspace, state, now)?, now)?;
            return due.ok_or_else(|| Unlike::first("no variable is past its time to live".to_owned()));
        }
        (_, changes) => {
            let view = looking(workspace, state, now)?;
            let (op, recorded) = asked_op(view, event, changes)?;
            match operate(workspace, state, &op, recorded, now, &NoFiles)? {
                Decision::Accept(accepted) => accepted,
                Decision::ExpireFirst(_) => {
                    let reason = "a variable is past its time to live, and its end is not recorded before";
                    return Err(Unlike::first(reason.to_owned()));
                }
            }
        }
    };
    let Accepted { event: decided, .. } = accepted;
    decided.ok_or_else(|| Unlike::shape(event))
}

/// Returns the operation that an event tells of, and the reference to its value when the value is in a file.
fn asked_op<'e>(
    view: StateView<'_>,
    event: &'e Event,
    changes: &'e [Change],
) -> Result<(Op, Option<&'e Spill>), Unlike> {
    let op = match (event.action, changes) {
        (Action::Set, [Change::Write { entry, place, variable, .. }, ..]) => {
            let recorded = recorded(event, &variable.stored)?;
            return Ok((Op::Set(asked_set(view, entry, *place, variable)), recorded));
        }
        (Action::Get, [Change::Read { place, name }]) => {
            Op::Get(Get { name: name.shared(), scope: scope(*place), form: ReadForm::Raw })
        }
        (Action::Delete, [Change::Delete { entry, place, name, .. }]) => Op::Delete(Delete {
            name: name.shared(),
            scope: scope(*place),
            origin: origin(entry),
            if_mutation_count: None,
        }),
        (Action::Rename, [Change::Rename { entry, place, name, to }]) => Op::Rename(Rename {
            name: name.shared(),
            to: to.shared(),
            scope: scope(*place),
            origin: origin(entry),
            if_mutation_count: None,
        }),
        (Action::Checkpoint, [Change::Checkpoint { name, description, .. }]) => {
            let (name, description) = (name.clone(), description.clone());
            Op::Checkpoint(TakeCheckpoint { name, description, if_mutation_count: None })
        }
        (Action::Rollback, [Change::RolledBack { to }, ..]) => {
            let found = view.state.checkpoints.iter().find(|checkpoint| checkpoint.id == *to);
            let found = found.ok_or_else(|| Unlike::first(format!("there is no checkpoint {to} [RB-2]")))?;
            Op::Rollback(Rollback::to(found.name.clone()))
        }
        (Action::Fail, [Change::Status { reason, .. }, ..]) => Op::Fail { reason: reason.clone() },
        (Action::Cancel, [Change::Status { reason, .. }, ..]) => Op::Cancel { reason: reason.clone() },
        _ => return Err(Unlike::shape(event)),
    };
    Ok((op, None))
}

fn asked_init(event: &Event, creation: &Creation, prompt: &Variable) -> Init {
    let Creation { session, tree, parent, depth, config, lives_in, spawned_by } = creation;
    let spawner = |spawner: &crate::Spawner| (spawner.clone(), depth.saturating_sub(1));
    Init {
        prompt: Some(prompt.stored.shown()),
        state_id: Some(event.state.to_string().into()),
        session_id: session.as_ref().map(|session| session.as_str().into()),
        tree_id: tree.map(|tree| tree.to_string().into()),
        parent: *parent,
        execution_config: config.as_ref().map(|config| config.members().clone().into()),
        lives_in: lives_in.clone(),
        spawned_by: spawned_by.as_ref().map(spawner),
    }
}

/// Returns the write that an event tells of. A part that the variable had before was not necessarily asked for, and a write
/// that does not mention it leaves it as it was.
fn asked_set(view: StateView<'_>, entry: &Entry, place: Place, variable: &Variable) -> Set {
    let name = &variable.name;
    let before = match place {
        Place::Special => view.find(name),
        Place::Layer { scope, .. } => view.find_in(scope, name),
    };
    let before = before.as_ref().map(|found| &*found.variable);
    let value_type = match &variable.stored {
        Stored::Inline { value_type, .. } => *value_type,
        Stored::Reference(_) => ValueType::FilePath,
        Stored::Spilled(spill) => spill.logical_type,
    };
    let ttl = variable.ttl_seconds.filter(|ttl| before.and_then(|before| before.ttl_seconds) != Some(*ttl));
    let described = variable.description.as_ref();
    let description =
        described.filter(|text| before.and_then(|before| before.description.as_ref()) != Some(text));
    let was_read_only = before.is_some_and(|before| before.read_only);
    Set {
        name: name.shared(),
        value: variable.stored.shown(),
        value_type: Some(value_type.as_str().into()),
        scope: scope(place),
        ttl_seconds: ttl.map(Into::into),
        read_only: (variable.read_only && !was_read_only).then_some(true),
        description: description.cloned(),
        origin: origin(entry),
        if_mutation_count: None,
    }
}

/// Returns the reference of a value that is in a file, if its parts agree with each other.
fn recorded<'e>(event: &Event, stored: &'e Stored) -> Result<Option<&'e Spill>, Unlike> {
    let Stored::Spilled(spill) = stored else { return Ok(None) };
    spill.check_parts(event.state).map_err(Unlike::first)?;
    Ok(Some(spill))
}

/// Checks the variables that another run wrote, as far as the rules are the same in every run.
fn check_shared(shared: &Shared) -> Result<(), Unlike> {
    for variable in &shared.variables {
        let in_words = |reason| Unlike::first(format!("`{}`: {reason}", variable.name));
        variable.stored.check_form().map_err(in_words)?;
        if variable.ttl_seconds.is_some() {
            return Err(Refusal::TtlScope { name: variable.name.clone(), scope: shared.scope }.into());
        }
    }
    Ok(())
}

fn scope(place: Place) -> Option<Arc<str>> {
    place.home().scope().map(Scope::as_str).map(Into::into)
}

/// Returns the cause that a log entry tells of. Members that no cause has are missing from it, and so are noticed.
fn origin(entry: &Entry) -> Origin {
    let text = |key: &str| entry.metadata.get(key).and_then(Value::as_str).map(Into::into);
    Origin { source: entry.source.clone(), reason: text("reason"), task_node_id: text("task_node_id") }
}

/// Describes the first difference between the event that the rules make and the recorded one.
fn difference(decided: &Event, event: &Event) -> Unlike {
    let pairs = decided.changes.iter().zip(&event.changes);
    let same = pairs.take_while(|(decided, found)| decided == found).count();
    let (decided, found) = (decided.to_value(), event.to_value());
    let place = first_difference(Some(&decided), Some(&found), &JsonPointer::root());
    let reason = place.unwrap_or_else(|| "the event is another than the rules make".to_owned());
    Unlike { change: same, reason }
}

/// Returns the first place at which two values differ, with both.
pub(crate) fn first_difference(
    expected: Option<&Value>,
    found: Option<&Value>,
    at: &JsonPointer,
) -> Option<String> {
    if expected == found {
        return None;
    }
    match (expected, found) {
        (Some(Value::Object(expected)), Some(Value::Object(found))) => {
            let of = |key: &Arc<str>| first_difference(expected.get(key), found.get(key), &at.child(key));
            keys(expected, found).find_map(of)
        }
        (Some(Value::Array(expected)), Some(Value::Array(found))) => {
            let length = expected.len().max(found.len());
            let of = |index| first_difference(expected.get(index), found.get(index), &at.child(index));
            (0..length).find_map(of)
        }
        _ => Some(format!("expected {} at `{at}`, found {}", shown(expected), shown(found))),
    }
}

fn keys<'a>(first: &'a Object, second: &'a Object) -> impl Iterator<Item = &'a Arc<str>> {
    first.keys().chain(second.keys().filter(|key| !first.contains_key(key)))
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
