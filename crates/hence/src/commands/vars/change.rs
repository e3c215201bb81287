//! Commands that change variables: each is one record, durable before it is reported.

use hence_variables::{
    Call, Delete, Name, NameWarning, Op, Rename, Reply, Rollback, Scope, Set, State, StateId, Stored,
    TakeCheckpoint, ValueType,
};

use super::{handler, value};
use crate::args::vars::{CheckpointArgs, EndArgs, FinalArgs, RenameArgs, RmArgs, RollbackArgs, SetArgs};
use crate::interactive::{Loaded, Session};
use crate::prelude::*;

/// A change that was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChangeReport {
    /// The run's id.
    run: String,
    /// The state.
    state: String,
    /// The change: `init`, `spawn`, `create`, `update`, `rename`, `delete`, `checkpoint`, `rollback`, `fail` or `cancel`.
    done: String,
    /// The variable or checkpoint that changed.
    name: Option<String>,
    /// The variables a rollback changed.
    changed: Vec<String>,
    /// Advice about a new name.
    warnings: Vec<String>,
    /// The status of the state.
    status: String,
    /// The number of mutations the state has had: the token of --if-mutation-count.
    mutation_count: u64,
    /// The head of the journal: store it elsewhere, and `hence verify --anchor` detects a cut or rewritten journal.
    head: String,
}

impl Text for ChangeReport {
    fn text(&self) -> String {
        let name = self.name.as_deref().map(|name| format!(" {}", escape(name))).unwrap_or_default();
        let mut rows = vec![("done", format!("{}{name}", self.done))];
        if !self.changed.is_empty() {
            rows.push(("changed", escape(&self.changed.join(", "))));
        }
        let advice = |code: &String| match NameWarning::find(code) {
            Some(warning) => format!("{code}: {}", warning.advice()),
            None => code.clone(),
        };
        rows.extend(self.warnings.iter().map(|code| ("warning", advice(code))));
        rows.push(("state", format!("{} ({})", self.state, self.status)));
        rows.push(("mutations", self.mutation_count.to_string()));
        rows.push(("head", self.head.clone()));
        pairs(&rows)
    }
}

impl ChangeReport {
    /// Describes a change, given the run after it.
    pub(super) fn of(run_id: &str, run: &Loaded, state: StateId, done: &str, name: Option<&str>) -> Self {
        let known = run.workspace().state(state);
        Self {
            run: run_id.to_owned(),
            state: state.to_string(),
            done: done.to_owned(),
            name: name.map(str::to_owned),
            changed: Vec::new(),
            warnings: Vec::new(),
            status: known.map(|known| known.status().to_string()).unwrap_or_default(),
            mutation_count: known.map_or(0, |known| known.mutation_count()),
            head: run.head().to_string(),
        }
    }
}

/// Performs an operation and prints the change.
fn change(
    context: &Context,
    session: &mut Session<'_>,
    named: Option<StateId>,
    (done, name): (&str, &str),
    op: Op,
) -> Result<Exit, CliError> {
    let state = session.state(named)?;
    let reply = session.call(&Call::On { state, op })?;
    let name = Some(name).filter(|name| !name.is_empty());
    let mut report = ChangeReport::of(session.id.as_str(), session.loaded()?, state, done, name);
    match reply {
        Reply::Written(written) => {
            report.done = written.operation.to_string();
            report.warnings = written.warnings.iter().map(|warning| warning.code().to_owned()).collect();
        }
        Reply::RolledBack { changed, .. } => {
            report.changed = changed.iter().map(ToString::to_string).collect();
        }
        _ => {}
    }
    context.print(&report)?;
    Ok(Exit::Yes)
}

/// Returns the type of the variable that a write would change, if there is one.
fn present_type(session: &Session<'_>, args: &SetArgs) -> Result<Option<ValueType>, CliError> {
    let state = session.state(args.target.state)?;
    let (Some(view), Ok(name)) = (session.workspace()?.state_view(state), args.name.parse::<Name>()) else {
        return Ok(None);
    };
    let scope = args.scope.as_deref().map(str::parse::<Scope>);
    let found = match scope {
        // The rules of variables refuse an unknown scope.
        Some(scope) => scope.ok().and_then(|scope| view.find_in(scope, &name)),
        None => view.find(&name),
    };
    Ok(found.map(|found| match &found.variable.stored {
        Stored::Spilled(spill) => spill.logical_type,
        stored => stored.shown_type(),
    }))
}

pub(super) fn set(context: &Context, session: &mut Session<'_>, args: &SetArgs) -> Result<Exit, CliError> {
    let present = present_type(session, args)?;
    let (value, value_type) = value::typed(&args.value, present)?;
    let set = Set {
        name: args.name.as_str().into(),
        value,
        value_type,
        scope: args.scope.as_deref().map(Into::into),
        ttl_seconds: args.ttl.map(Into::into),
        read_only: args.read_only.then_some(true),
        description: args.description.as_deref().map(Into::into),
        origin: (&args.origin).into(),
        if_mutation_count: args.origin.if_mutation_count,
    };
    change(context, session, args.target.state, ("write", &args.name), Op::Set(set))
}

pub(super) fn finish(
    context: &Context,
    session: &mut Session<'_>,
    args: &FinalArgs,
) -> Result<Exit, CliError> {
    let handler = args.on_complete.as_deref().map(handler::Command::parse).transpose()?;
    let (value, value_type) = value::typed(&args.value, None)?;
    let set = Set {
        value_type,
        origin: (&args.origin).into(),
        if_mutation_count: args.origin.if_mutation_count,
        ..Set::final_answer(value)
    };
    let done = change(context, session, args.target.state, ("write", "Final"), Op::Set(set))?;
    handle(context, session, args.target.state, handler.as_ref(), done)
}

/// Runs the completion handler after a change that ended a task. The change is refused on a task that has ended, so the
/// handler runs once.
fn handle(
    context: &Context,
    session: &Session<'_>,
    named: Option<StateId>,
    command: Option<&handler::Command>,
    done: Exit,
) -> Result<Exit, CliError> {
    let state = session.state(named)?;
    let status = session.workspace()?.state(state).map(State::status);
    match (command, status.filter(|status| status.is_terminal())) {
        (Some(command), Some(status)) => handler::run(context, session, (state, status), command),
        _ => Ok(done),
    }
}

pub(super) fn rename(
    context: &Context,
    session: &mut Session<'_>,
    args: &RenameArgs,
) -> Result<Exit, CliError> {
    let rename = Rename {
        name: args.name.as_str().into(),
        to: args.to.as_str().into(),
        scope: args.scope.as_deref().map(Into::into),
        origin: (&args.origin).into(),
        if_mutation_count: args.origin.if_mutation_count,
    };
    let name = format!("{} to {}", args.name, args.to);
    change(context, session, args.target.state, ("rename", &name), Op::Rename(rename))
}

pub(super) fn remove(context: &Context, session: &mut Session<'_>, args: &RmArgs) -> Result<Exit, CliError> {
    let delete = Delete {
        name: args.name.as_str().into(),
        scope: args.scope.as_deref().map(Into::into),
        origin: (&args.origin).into(),
        if_mutation_count: args.origin.if_mutation_count,
    };
    change(context, session, args.target.state, ("delete", &args.name), Op::Delete(delete))
}

pub(super) fn checkpoint(
    context: &Context,
    session: &mut Session<'_>,
    args: &CheckpointArgs,
) -> Result<Exit, CliError> {
    let taken = TakeCheckpoint {
        name: args.name.as_str().into(),
        description: args.description.as_deref().map(Into::into),
        if_mutation_count: args.if_mutation_count,
    };
    change(context, session, args.target.state, ("checkpoint", &args.name), Op::Checkpoint(taken))
}

pub(super) fn rollback(
    context: &Context,
    session: &mut Session<'_>,
    args: &RollbackArgs,
) -> Result<Exit, CliError> {
    let to = args.to.as_str().into();
    let op = Op::Rollback(Rollback { to, if_mutation_count: args.if_mutation_count });
    change(context, session, args.target.state, ("rollback to", &args.to), op)
}

pub(super) fn fail(context: &Context, session: &mut Session<'_>, args: &EndArgs) -> Result<Exit, CliError> {
    let handler = args.on_complete.as_deref().map(handler::Command::parse).transpose()?;
    let op = Op::Fail { reason: args.reason.as_deref().map(Into::into) };
    let done = change(context, session, args.target.state, ("fail", ""), op)?;
    handle(context, session, args.target.state, handler.as_ref(), done)
}

pub(super) fn cancel(context: &Context, session: &mut Session<'_>, args: &EndArgs) -> Result<Exit, CliError> {
    let handler = args.on_complete.as_deref().map(handler::Command::parse).transpose()?;
    let op = Op::Cancel { reason: args.reason.as_deref().map(Into::into) };
    let done = change(context, session, args.target.state, ("cancel", ""), op)?;
    handle(context, session, args.target.state, handler.as_ref(), done)
}
