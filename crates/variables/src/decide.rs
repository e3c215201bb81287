//! Decides what an operation would change. Nothing changes here; see [`apply`](crate::apply).

use std::sync::Arc;

use hence_canon::Value;

use crate::limits::{REMARK_BYTES_MAX, VALUE_DEPTH_MAX};
use crate::{
    Action, Call, Change, Event, Files, Found, Home, Import, Name, NameWarning, Op, Operation, Origin,
    Refusal, Reply, Scope, Spill, SpillFile, State, StateId, StateView, Timestamp, Workspace,
};

mod again;
mod event_builder;
mod rollback;
mod task;
mod write;

pub(crate) use again::{Unlike, check_again, first_difference};

/// The decision about an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Temporary variables have expired. Record and apply this event, then decide again: the operation must
    /// not see them, whether it is accepted or refused.
    ExpireFirst(Event),
    /// The operation is accepted.
    Accept(Accepted),
}

/// An accepted operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// The event that the operation makes; absent when it changes nothing.
    pub event: Option<Event>,
    /// Large values the event refers to. They must be durable before the event is.
    pub spills: Vec<SpillFile>,
    /// The reply to give once the event is durable.
    pub reply: Reply,
}

impl Accepted {
    fn answer(reply: Reply) -> Self {
        Self { event: None, spills: Vec::new(), reply }
    }
}

/// Decides `call` against `workspace` at the time `now`.
///
/// Pure: the same workspace, call, time and files give the same decision.
///
/// # Errors
/// [`Refusal`], in which case nothing changes. The order of checks is part of the rules.
pub fn decide(
    workspace: &Workspace,
    call: &Call,
    now: Timestamp,
    files: &dyn Files,
) -> Result<Decision, Refusal> {
    let (state, op) = match call {
        Call::Init(init) => return task::init(workspace, init, None, now).map(Decision::Accept),
        Call::Import(import) => return self::import(workspace, import, now).map(Decision::Accept),
        Call::Share { state, shared } => {
            return task::share(looking(workspace, *state, now)?, shared, now).map(Decision::Accept);
        }
        Call::Return { state, status, answer } => {
            let view = looking(workspace, *state, now)?;
            return task::settle(view, *status, answer, now).map(Decision::Accept);
        }
        Call::On { state, op } => (*state, op),
    };
    operate(workspace, state, op, None, now, files)
}

/// Decides an operation on a state. The value of a write is `recorded` when only its reference is known.
fn operate(
    workspace: &Workspace,
    state: StateId,
    op: &Op,
    recorded: Option<&Spill>,
    now: Timestamp,
    files: &dyn Files,
) -> Result<Decision, Refusal> {
    let view = looking(workspace, state, now)?;
    if let Some(run) = view.state.lives_in.as_ref().filter(|_| op.changes_something()) {
        return Err(Refusal::LivesElsewhere { state, run: run.clone() });
    }
    if let Some(expiry) = write::expire(view, now)? {
        return Ok(Decision::ExpireFirst(expiry));
    }
    check_texts(op)?;
    on_state(view, op, recorded, now, files).map(Decision::Accept)
}

/// Returns how a state sees the workspace at a moment that is not before the last it has seen.
fn looking(workspace: &Workspace, state: StateId, now: Timestamp) -> Result<StateView<'_>, Refusal> {
    let view = workspace.state_view(state).ok_or(Refusal::NoState { state })?;
    if now < view.state.clock {
        return Err(Refusal::ClockWentBack { last: view.state.clock, now });
    }
    Ok(view)
}

fn import(workspace: &Workspace, import: &Import, now: Timestamp) -> Result<Accepted, Refusal> {
    // What follows is later than everything in the document, or its next export would go back in time.
    if let Some(last) = import.last_moment().filter(|last| now < *last) {
        return Err(Refusal::ClockWentBack { last, now });
    }
    let imported = import.check(workspace, now)?;
    let state = import.document.state_id;
    let reply = Reply::Created { state, status: import.document.status() };
    let changes = vec![Change::Imported(Box::new(imported))];
    let event = Event { state, at: now, action: Action::Import, changes };
    Ok(Accepted { event: Some(event), spills: Vec::new(), reply })
}

fn on_state(
    view: StateView<'_>,
    op: &Op,
    recorded: Option<&Spill>,
    now: Timestamp,
    files: &dyn Files,
) -> Result<Accepted, Refusal> {
    match op {
        Op::Set(set) => write::set(view, set, recorded, now),
        Op::Get(get) => write::get(view, get, now, files),
        Op::Delete(delete) => write::delete(view, delete, now),
        Op::Rename(rename) => write::rename(view, rename, now),
        Op::Checkpoint(checkpoint) => rollback::checkpoint(view, checkpoint, now),
        Op::Rollback(rollback) => rollback::rollback(view, rollback, now),
        Op::Fail { reason } => task::fail(view, reason.as_ref(), now),
        Op::Cancel { reason } => task::cancel(view, reason.as_ref(), now),
        Op::CheckCompletion => Ok(Accepted::answer(Reply::Status(task::completion(view.state)))),
        Op::Status => Ok(Accepted::answer(Reply::Status(view.state.status))),
        Op::List => Ok(Accepted::answer(Reply::Names(view.visible().into_keys().collect()))),
        Op::ChildResult { child } => task::child_result(view, *child, files),
        Op::TreeStatus => Ok(Accepted::answer(Reply::Tree { complete: task::is_complete(view) })),
    }
}

/// Refuses a write to a state that was changed since the caller read it, or that has ended.
fn check_open(state: &State, if_mutation_count: Option<u64>) -> Result<(), Refusal> {
    check_unchanged(state, if_mutation_count)?;
    if state.status.is_terminal() {
        return Err(Refusal::Sealed { state: state.id, status: state.status });
    }
    Ok(())
}

/// Refuses an operation that expects another number of mutations.
fn check_unchanged(state: &State, if_mutation_count: Option<u64>) -> Result<(), Refusal> {
    let found = state.mutation_count;
    match if_mutation_count {
        Some(expected) if expected != found => Err(Refusal::Conflict { expected, found }),
        _ => Ok(()),
    }
}

/// Returns advice about a name, for a new variable only.
fn advice(operation: Operation, name: &crate::Name) -> Vec<NameWarning> {
    if operation == Operation::Create { name.lint() } else { Vec::new() }
}

/// Reads an optional scope and checks that the state has it.
fn parse_scope(view: StateView<'_>, scope: Option<&Arc<str>>) -> Result<Option<Scope>, Refusal> {
    let Some(text) = scope else { return Ok(None) };
    let scope: Scope = text.parse().map_err(Refusal::InvalidScope)?;
    if view.has(scope) { Ok(Some(scope)) } else { Err(Refusal::ScopeUnavailable { scope }) }
}

/// Finds a variable: in `scope` only when one is given, else in the narrowest that has it.
fn find(view: StateView<'_>, scope: Option<Scope>, name: &Name) -> Option<Found> {
    match scope {
        Some(scope) => view.find_in(scope, name),
        None => view.find(name),
    }
}

/// Finds a variable that may be deleted or renamed.
fn find_removable(
    view: StateView<'_>,
    scope_text: Option<&Arc<str>>,
    name: &Name,
) -> Result<(Home, Found), Refusal> {
    let scope = parse_scope(view, scope_text)?;
    let found = find(view, scope, name).ok_or_else(|| Refusal::NotFound { name: name.clone() })?;
    if found.variable.read_only {
        return Err(Refusal::ReadOnly { name: name.clone() });
    }
    Ok((found.home, found))
}

/// Refuses an operation whose texts are too long to be recorded.
fn check_texts(op: &Op) -> Result<(), Refusal> {
    match op {
        Op::Set(set) => {
            check_origin(&set.origin)?;
            check_text("description", set.description.as_ref())
        }
        Op::Delete(delete) => check_origin(&delete.origin),
        Op::Rename(rename) => check_origin(&rename.origin),
        Op::Checkpoint(take) => {
            check_text("checkpoint name", Some(&take.name))?;
            check_text("description", take.description.as_ref())
        }
        Op::Fail { reason } | Op::Cancel { reason } => check_text("reason", reason.as_ref()),
        _ => Ok(()),
    }
}

fn check_origin(origin: &Origin) -> Result<(), Refusal> {
    check_text("source", origin.source.as_ref())?;
    check_text("reason", origin.reason.as_ref())?;
    check_text("task_node_id", origin.task_node_id.as_ref())
}

fn check_text(what: &'static str, text: Option<&Arc<str>>) -> Result<(), Refusal> {
    match text.map(|text| text.len()) {
        Some(length) if length > REMARK_BYTES_MAX => {
            let found = format!("{length} bytes");
            Err(Refusal::InvalidArgument { what, expected: "at most 10240 bytes", found })
        }
        _ => Ok(()),
    }
}

/// Refuses a value that could be written and not read back.
fn check_depth(what: &'static str, value: &Value) -> Result<(), Refusal> {
    let depth = value.depth();
    if depth <= VALUE_DEPTH_MAX {
        return Ok(());
    }
    let found = format!("{depth} levels");
    Err(Refusal::InvalidArgument { what, expected: "nesting of at most 96 levels", found })
}
