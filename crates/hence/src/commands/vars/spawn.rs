//! `hence vars spawn`: a child task in a run of its own, linked to its parent both ways.

use hence_engine::variables_problem;
use hence_store::{RunId, StoreError};
use hence_variables::limits::TREE_NODES_MAX;
use hence_variables::{Call, Init, Refusal, Reply, Spawner, State, StateId};

use super::change::ChangeReport;
use super::value;
use crate::args::vars::SpawnArgs;
use crate::clock;
use crate::interactive::{Loaded, Session, create, linked};
use crate::prelude::*;

/// Spawns a child: the parent's run records the child first, then the child's run starts. A crash in between leaves a
/// child without a run; running the same command again creates it.
pub(super) fn run(context: &Context, session: &mut Session<'_>, args: &SpawnArgs) -> Result<Exit, CliError> {
    let parent = session.state(args.target.state)?;
    let prompt = value::text(&args.prompt)?;
    let id = RunId::new(&args.child)
        .map_err(|error| CliError::from_error(Code::Argument, error).with_hint(hint::OTHER_ID))?;
    if exists(session, &id)? {
        return Err(CliError::new(Code::Conflict, format!("there is a run {id} already"))
            .with_hint(hint::OTHER_CHILD_ID));
    }
    let child = match waiting_for_its_run(session, parent, id.as_str())? {
        Some(child) => child,
        None => announce(context, session, args, parent, &prompt)?,
    };
    let known = session.workspace()?.state(parent);
    let known = known.ok_or_else(|| CliError::variables(&Refusal::NoState { state: parent }))?;
    let spawner = Spawner { run: session.id.as_str().into(), state: parent };
    let init = Init {
        state_id: Some(child.to_string().into()),
        session_id: known.session().map(|session| session.to_string().into()),
        tree_id: known.tree().map(|tree| tree.to_string().into()),
        execution_config: args.config.as_deref().map(value::json).transpose()?,
        spawned_by: Some((spawner, known.depth())),
        ..Init::with_prompt(prompt.as_str())
    };
    // The child begins when its parent recorded it, also when an earlier command died before it made the run.
    let recorded = session.workspace()?.state(child).and_then(State::created_at);
    let now = recorded.map_or_else(|| session.moment(None), Ok)?;
    let problem = variables_problem(id.as_str(), clock::second_of(now)?.as_str(), &prompt);
    let (_, id, run, reply) = create(context, problem, &session.root, &Call::Init(init), now)?;
    if let Reply::Created { state, .. } = reply {
        let run = Loaded::Variables(Box::new(run));
        context.print(&ChangeReport::of(id.as_str(), &run, state, "spawn", Some(session.id.as_str())))?;
    }
    Ok(Exit::Yes)
}

/// Records the child and the id of its run in the parent's run.
fn announce(
    context: &Context,
    session: &mut Session<'_>,
    args: &SpawnArgs,
    parent: StateId,
    prompt: &str,
) -> Result<StateId, CliError> {
    let tree = linked::whole_tree(context, session.id.as_str(), session.workspace()?, parent)?;
    if tree.is_some_and(|tree| tree.count() >= TREE_NODES_MAX) {
        return Err(CliError::variables(&Refusal::TooManyNodes));
    }
    let init = Init {
        parent: Some(parent),
        lives_in: Some(args.child.as_str().into()),
        ..Init::with_prompt(prompt)
    };
    match session.call(&Call::Init(init))? {
        Reply::Created { state, .. } => Ok(state),
        _ => Ok(parent),
    }
}

/// Returns the child that was announced and has no run yet.
fn waiting_for_its_run(
    session: &Session<'_>,
    parent: StateId,
    run: &str,
) -> Result<Option<StateId>, CliError> {
    let workspace = session.workspace()?;
    let children = workspace.state(parent).map(State::children).unwrap_or_default();
    let lives_there = |child: &&State| child.lives_in().is_some_and(|there| &**there == run);
    Ok(children.iter().filter_map(|child| workspace.state(*child)).find(lives_there).map(State::id))
}

fn exists(session: &Session<'_>, id: &RunId) -> Result<bool, CliError> {
    match session.store.summary(id) {
        Ok(_) => Ok(true),
        Err(StoreError::NoSuchRun { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
