//! Decides what an operation would change. Nothing changes here; see [`apply`](crate::apply).

use crate::{
    Action, Call, Change, Event, Files, Import, NameWarning, Op, Operation, Refusal, Reply, Sight, SpillFile,
    State, Timestamp, Workspace,
};

mod draft;
mod expire;
mod finish;
mod init;
mod link;
mod read;
mod remark;
mod remove;
mod rollback;
mod target;
mod tree;
mod write;

/// What is to happen with an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Temporary variables are past their time. Record and apply this event, then decide again: the operation must
    /// not see them, whether it is accepted or refused.
    ExpireFirst(Event),
    /// The operation is accepted.
    Accept(Accepted),
}

/// An accepted operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// What it changes; absent when it changes nothing.
    pub event: Option<Event>,
    /// Large values the event refers to. They must be durable before the event is.
    pub spills: Vec<SpillFile>,
    /// What to answer once the event is durable.
    pub reply: Reply,
}

impl Accepted {
    fn answer(reply: Reply) -> Self {
        Self { event: None, spills: Vec::new(), reply }
    }
}

/// Decides `call` against `workspace` at the moment `now`.
///
/// Pure: the same workspace, call, moment and files give the same decision.
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
        Call::Init(init) => return init::decide(workspace, init, now).map(Decision::Accept),
        Call::Import(import) => return self::import(workspace, import, now).map(Decision::Accept),
        Call::Share { state, shared } => {
            return link::share(looking(workspace, *state, now)?, shared, now).map(Decision::Accept);
        }
        Call::Return { state, status, answer } => {
            let sight = looking(workspace, *state, now)?;
            return link::settle(sight, *status, answer, now).map(Decision::Accept);
        }
        Call::On { state, op } => (*state, op),
    };
    let sight = looking(workspace, state, now)?;
    if let Some(run) = sight.state.lives_in.as_ref().filter(|_| op.changes_something()) {
        return Err(Refusal::LivesElsewhere { state, run: run.clone() });
    }
    if let Some(expiry) = expire::decide(sight, now)? {
        return Ok(Decision::ExpireFirst(expiry));
    }
    remark::check(op)?;
    on_state(sight, op, now, files).map(Decision::Accept)
}

/// Returns how a state sees the workspace at a moment that is not before the last it has seen.
fn looking(workspace: &Workspace, state: crate::StateId, now: Timestamp) -> Result<Sight<'_>, Refusal> {
    let sight = workspace.sight(state).ok_or(Refusal::NoState { state })?;
    if now < sight.state.clock {
        return Err(Refusal::ClockWentBack { last: sight.state.clock, now });
    }
    Ok(sight)
}

fn import(workspace: &Workspace, import: &Import, now: Timestamp) -> Result<Accepted, Refusal> {
    let adoption = import.check(workspace, now)?;
    let state = import.document.state_id;
    let reply = Reply::Born { state, status: import.document.status() };
    let changes = vec![Change::Adopted(Box::new(adoption))];
    let event = Event { state, at: now, action: Action::Import, changes };
    Ok(Accepted { event: Some(event), spills: Vec::new(), reply })
}

fn on_state(sight: Sight<'_>, op: &Op, now: Timestamp, files: &dyn Files) -> Result<Accepted, Refusal> {
    match op {
        Op::Set(set) => write::decide(sight, set, now),
        Op::Get(get) => read::decide(sight, get, now, files),
        Op::Delete(delete) => remove::delete(sight, delete, now),
        Op::Rename(rename) => remove::rename(sight, rename, now),
        Op::Checkpoint(checkpoint) => rollback::checkpoint(sight, checkpoint, now),
        Op::Rollback(rollback) => rollback::decide(sight, rollback, now),
        Op::Fail { reason } => finish::fail(sight, reason.as_ref(), now),
        Op::Cancel { reason } => finish::cancel(sight, reason.as_ref(), now),
        Op::CheckCompletion => Ok(Accepted::answer(Reply::Status(finish::completion(sight.state)))),
        Op::Status => Ok(Accepted::answer(Reply::Status(sight.state.status))),
        Op::List => Ok(Accepted::answer(Reply::Names(sight.view().into_keys().collect()))),
        Op::ChildResult { child } => tree::child_result(sight, *child, files),
        Op::TreeStatus => Ok(Accepted::answer(Reply::Tree { complete: tree::is_complete(sight) })),
    }
}

/// Refuses a write to a state that others changed meanwhile, or that is over.
fn check_open(state: &State, if_mutation_count: Option<u64>) -> Result<(), Refusal> {
    check_unchanged(state, if_mutation_count)?;
    if state.status.is_terminal() {
        return Err(Refusal::Sealed { state: state.id, status: state.status });
    }
    Ok(())
}

/// Refuses what was decided on another count of mutations.
fn check_unchanged(state: &State, if_mutation_count: Option<u64>) -> Result<(), Refusal> {
    let found = state.mutation_count;
    match if_mutation_count {
        Some(expected) if expected != found => Err(Refusal::Conflict { expected, found }),
        _ => Ok(()),
    }
}

/// Advice about a name goes with its creation only.
fn advice(operation: Operation, name: &crate::Name) -> Vec<NameWarning> {
    if operation == Operation::Create { name.lint() } else { Vec::new() }
}
