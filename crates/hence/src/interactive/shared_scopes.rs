//! Scopes that several runs share: the layer of each is a run of its own in the folder `scopes` of the store.
//!
//! The run `global` holds the global variables, `session-ID` those of a session, `tree-ID` those of a task tree. They
//! are ordinary runs of variables, so they can be verified, replayed and shown like any other (`--store
//! .hence/scopes`). A run reads their news before it decides, and writes to them before it records its own change.

use hence_engine::{SinkError, VariablesRun, variables_problem, without_defects};
use hence_store::{RunId, RunWriter, StoreError, StoreHandle};
use hence_variables::{
    Call, Event, Init, Layer, Op, Scope, Shared, State, StateId, StateView, Timestamp, Workspace, layer_after,
};

use super::session::{create_in, lease_of};
use super::stored_run::{self, SnapshotUsed};
use super::{CallerTime, StoreVariableFiles};
use crate::context::Context;
use crate::error::CliError;
use crate::sink::StoreSink;
use crate::target::problem_name;

/// The folder of the scope runs, inside the store.
pub(crate) const SCOPES: &str = "scopes";
/// The session whose variables are the layer of a scope run.
const KEEPER_SESSION: &str = "shared";

/// A shared scope and the run that holds its layer.
pub(super) struct ScopeRun {
    scope: Scope,
    run: Option<VariablesRun>,
    state: StateId,
    writer: Option<Box<dyn RunWriter>>,
    snapshot: SnapshotUsed,
}

/// The shared scopes that a state sees.
pub(crate) struct SharedScopes {
    store: StoreHandle,
    keepers: Vec<ScopeRun>,
}

impl SharedScopes {
    /// Reads the existing scope runs that a state sees; `None` when the store has none.
    pub(crate) fn look(context: &Context, state: &State) -> Result<Option<Self>, CliError> {
        let Some(store) = context.store()?.within(SCOPES)? else { return Ok(None) };
        let mut keepers = Vec::new();
        for (scope, id) in ids(state)? {
            if exists(&store, &id)? {
                keepers.push(ScopeRun::read(&store, scope, &id)?);
            }
        }
        Ok(Some(Self { store, keepers }))
    }

    /// Takes the leases of the scope runs that an operation may write to, and waits while other processes hold them.
    ///
    /// Every process takes the lease of its own run first, then these leases in one order, so there is no deadlock.
    pub(crate) fn take(
        context: &Context,
        workspace: &Workspace,
        state: StateId,
        op: &Op,
        time: CallerTime,
    ) -> Result<Option<Self>, CliError> {
        let Some(view) = workspace.state_view(state) else { return Ok(None) };
        let all = ids(view.state())?;
        let mut needed = all.iter().filter(|(scope, _)| may_write(view, op, *scope));
        let store = context.store()?;
        if needed.next().is_none() && store.within(SCOPES)?.is_none() {
            return Ok(None);
        }
        let store = store.within_or_new(SCOPES)?;
        let mut keepers = Vec::new();
        for (scope, id) in all {
            let is_there = exists(&store, &id)?;
            if !is_there && !may_write(view, op, scope) {
                continue;
            }
            if !is_there {
                begin(&store, &id, scope, time.not_before(context, None)?)?;
            }
            let writer = lease_of(context, &store, &id)?;
            keepers.push(ScopeRun { writer: Some(writer), ..ScopeRun::read(&store, scope, &id)? });
        }
        Ok(Some(Self { store, keepers }))
    }

    /// Returns the last time that was recorded in any of the scopes.
    pub(crate) fn last_moment(&self) -> Option<Timestamp> {
        self.keepers.iter().filter_map(ScopeRun::last_moment).max()
    }

    /// Returns the changes in the shared scopes that the state has not recorded yet.
    pub(crate) fn news(&self, view: StateView<'_>) -> Vec<Shared> {
        let of_keeper =
            |keeper: &ScopeRun| Shared::between(keeper.scope, view.layer(keeper.scope), keeper.layer()?);
        self.keepers.iter().filter_map(of_keeper).collect()
    }

    /// Writes the changes of an event to the runs of the scopes it affects.
    pub(super) fn publish(&mut self, workspace: &Workspace, event: &Event) -> Result<(), SinkError> {
        let Some(view) = workspace.state_view(event.state) else { return Ok(()) };
        for keeper in &mut self.keepers {
            if let Some(after) = layer_after(view, keeper.scope, event) {
                keeper.write(&self.store, &after, event.at)?;
            }
        }
        Ok(())
    }

    /// Resolves a difference where this run is ahead of a scope run. An empty scope run takes over the layer of this
    /// run. Otherwise the scope run wins: it moves to a later revision, so that this run reads its layer.
    pub(crate) fn meet(&mut self, view: StateView<'_>, now: Timestamp) -> Result<(), SinkError> {
        for keeper in &mut self.keepers {
            let (here, there) = (view.revision(keeper.scope), keeper.layer().map_or(0, Layer::revision));
            match view.layer(keeper.scope) {
                Some(layer) if there == 0 && here > 0 => keeper.write(&self.store, layer, now)?,
                Some(_) if here > there => keeper.lift(&self.store, here + 1, now)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl ScopeRun {
    fn read(store: &StoreHandle, scope: Scope, id: &RunId) -> Result<Self, CliError> {
        let problem = store.attachment(id, &problem_name())?;
        let problem = hence_canon::parse(&problem).map_err(|error| CliError::not_json(id.as_str(), error))?;
        let (run, snapshot) = stored_run::load(store, id, &without_defects(problem))?;
        let state = run.first_state().unwrap_or(StateId::from_number(1));
        Ok(Self { scope, run: Some(run), state, writer: None, snapshot })
    }

    pub(super) fn last_moment(&self) -> Option<Timestamp> {
        self.run.as_ref()?.last_moment()
    }

    pub(super) fn layer(&self) -> Option<&Layer> {
        self.run.as_ref()?.workspace().state_view(self.state)?.layer(Scope::Session)
    }

    /// Writes the difference between the layer and `after`, if `after` is ahead.
    fn write(&mut self, store: &StoreHandle, after: &Layer, now: Timestamp) -> Result<(), SinkError> {
        match Shared::between(Scope::Session, self.layer(), after) {
            Some(shared) => self.record(store, shared, now),
            None => Ok(()),
        }
    }

    /// Moves the layer to a later revision without changing a variable.
    fn lift(&mut self, store: &StoreHandle, revision: u64, now: Timestamp) -> Result<(), SinkError> {
        let seen = self.layer().map_or(0, Layer::revision);
        let (variables, gone) = (Vec::new(), Vec::new());
        self.record(store, Shared { scope: Scope::Session, seen, revision, variables, gone, by: None }, now)
    }

    pub(super) fn record(
        &mut self,
        store: &StoreHandle,
        shared: Shared,
        now: Timestamp,
    ) -> Result<(), SinkError> {
        let (Some(run), Some(writer)) = (self.run.take(), self.writer.take()) else {
            return Err("a shared layer is written once per change".into());
        };
        let call = Call::Share { state: self.state, shared: Box::new(shared) };
        let (mut sink, _) = StoreSink::measured(store, writer);
        let mut ground = StoreVariableFiles { store, root: std::path::Path::new("."), shared_scopes: None };
        let (mut run, reply) = run.call(&call, now, &mut ground, &mut sink)?;
        stored_run::save(store, &mut *sink.writer, &mut run, &mut self.snapshot);
        self.run = Some(run);
        self.writer = Some(sink.writer);
        reply.map(|_| ()).map_err(|refusal| refusal.to_string().into())
    }
}

/// Returns a name of the run of a shared scope that no other store has; `None` when the scope has no run yet.
pub(crate) fn scope_identity(
    context: &Context,
    state: &State,
    scope: Scope,
) -> Result<Option<String>, CliError> {
    let Some(store) = context.store()?.within(SCOPES)? else { return Ok(None) };
    let Some((_, id)) = ids(state)?.into_iter().find(|(found, _)| *found == scope) else { return Ok(None) };
    if !exists(&store, &id)? {
        return Ok(None);
    }
    // The rest of the journal may be long, and nothing in it changes the name.
    let journal = crate::journal_end::header_line(&store, &id)?;
    let (header, _) =
        hence_journal::Reader::open(&journal).map_err(|error| CliError::bad_record(id.as_str(), error))?;
    Ok(Some(format!("scope {id} {}", header.hash)))
}

/// Returns the ids of the scope runs of a state, widest scope first.
pub(super) fn ids(state: &State) -> Result<Vec<(Scope, RunId)>, CliError> {
    let session = state.session().map(|session| (Scope::Session, format!("session-{session}")));
    let tree = state.tree().map(|tree| (Scope::Tree, tree.to_string()));
    let all = [Some((Scope::Global, "global".to_owned())), session, tree];
    let id = |(scope, name): (Scope, String)| {
        let id = RunId::new(&name).map_err(|error| CliError::from_error(crate::code::Code::Refused, error));
        Ok((scope, id?))
    };
    all.into_iter().flatten().map(id).collect()
}

/// Takes the lease of the run of one scope, which is created when there is none; `None` when the state does not have the
/// scope.
pub(super) fn lease_scope(
    context: &Context,
    store: &StoreHandle,
    state: &State,
    scope: Scope,
    time: CallerTime,
) -> Result<Option<ScopeRun>, CliError> {
    let Some((_, id)) = ids(state)?.into_iter().find(|(found, _)| *found == scope) else { return Ok(None) };
    if !exists(store, &id)? {
        begin(store, &id, scope, time.not_before(context, None)?)?;
    }
    let writer = lease_of(context, store, &id)?;
    Ok(Some(ScopeRun { writer: Some(writer), ..ScopeRun::read(store, scope, &id)? }))
}

/// Reads the run of a scope by its id; `None` when nobody wrote to the scope.
pub(super) fn read_scope(store: &StoreHandle, id: &str) -> Result<Option<ScopeRun>, CliError> {
    let id = RunId::new(id).map_err(|error| CliError::from_error(crate::code::Code::Refused, error))?;
    Ok(match exists(store, &id)? {
        true => Some(ScopeRun::read(store, Scope::Global, &id)?),
        false => None,
    })
}

/// Returns the id that the session of a scope run would have as a scope.
pub(super) fn keeper_id() -> String {
    format!("session-{KEEPER_SESSION}")
}

/// Returns the number of changes that the run of a scope has recorded.
pub(super) fn revision_of(run: &VariablesRun) -> u64 {
    let view = run.first_state().and_then(|state| run.workspace().state_view(state));
    view.and_then(|view| view.layer(Scope::Session)).map_or(0, Layer::revision)
}

/// Returns whether an operation may write to a shared scope, so that its run must exist. A state without a tree of its own
/// variables does not need one for every change.
fn may_write(view: StateView<'_>, op: &Op, scope: Scope) -> bool {
    match op.scope() {
        Some(named) if &**named == scope.as_str() => true,
        // A new variable goes to the session, so any write may be one.
        _ => scope == Scope::Session || view.revision(scope) > 0,
    }
}

fn exists(store: &StoreHandle, id: &RunId) -> Result<bool, CliError> {
    match store.summary(id) {
        Ok(_) => Ok(true),
        Err(StoreError::NoSuchRun { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Creates the run of a scope. A run that another process created in the meantime is accepted.
fn begin(store: &StoreHandle, id: &RunId, scope: Scope, now: Timestamp) -> Result<(), CliError> {
    let prompt = format!("keep the {scope} variables of {id}");
    let problem = variables_problem(id.as_str(), crate::clock::second_of(now)?.as_str(), &prompt);
    let init = Init { session_id: Some(KEEPER_SESSION.into()), ..Init::with_prompt(prompt) };
    match create_in(store, problem, std::path::Path::new("."), &Call::Init(init), now) {
        Ok(_) => Ok(()),
        Err(error) if error.code == crate::code::Code::Conflict => Ok(()),
        Err(error) => Err(error),
    }
}
