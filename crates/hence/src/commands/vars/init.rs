//! `hence vars init`: creates a state, in a new run or in an existing one.

use std::path::Path;

use hence_engine::variables_problem;
use hence_variables::{Call, Init, Reply, TreeId};

use super::change::ChangeReport;
use super::value;
use crate::args::vars::InitArgs;
use crate::clock;
use crate::interactive::{CallerTime, Loaded, Session, create};
use crate::prelude::*;

pub(super) fn run(
    context: &Context,
    args: &InitArgs,
    root: &Path,
    time: CallerTime,
) -> Result<Exit, CliError> {
    if args.add || args.parent.is_some() {
        return add(context, &mut Session::open(context, &args.target.run, root, time)?, args);
    }
    let init = with_tree(init(args)?, &args.target.run, 0);
    let prompt = init.prompt.as_ref().and_then(hence_canon::Value::as_str).unwrap_or_default();
    let now = time.not_before(context, None)?;
    let problem = variables_problem(&args.target.run, clock::second_of(now)?.as_str(), prompt);
    let (_, id, run, reply) = create(context, problem, root, &Call::Init(init), now)?;
    if let Reply::Created { state, .. } = reply {
        context.print(&ChangeReport::of(
            id.as_str(),
            &Loaded::Variables(Box::new(run)),
            state,
            "init",
            None,
        ))?;
    }
    Ok(Exit::Yes)
}

/// Adds a state to an existing run.
pub(super) fn add(context: &Context, session: &mut Session<'_>, args: &InitArgs) -> Result<Exit, CliError> {
    let position = session.workspace()?.states().len();
    let init = with_tree(init(args)?, session.id.as_str(), position as u64);
    if let Reply::Created { state, .. } = session.call(&Call::Init(init))? {
        let report = ChangeReport::of(session.id.as_str(), session.loaded()?, state, "init", None);
        context.print(&report)?;
    }
    Ok(Exit::Yes)
}

/// Gives a task that begins a task tree the id of one, so that it can spawn others. A child joins the tree of its parent.
fn with_tree(init: Init, run: &str, position: u64) -> Init {
    let begins = init.tree_id.is_none() && init.parent.is_none();
    let own = begins.then(|| TreeId::of_run(run, position).to_string().into());
    Init { tree_id: init.tree_id.or(own), ..init }
}

fn init(args: &InitArgs) -> Result<Init, CliError> {
    let shared = |text: &Option<String>| text.as_deref().map(Into::into);
    Ok(Init {
        prompt: Some(value::text(&args.prompt)?.into()),
        state_id: shared(&args.state_id),
        session_id: shared(&args.session),
        tree_id: shared(&args.tree),
        parent: args.parent,
        execution_config: args.config.as_deref().map(value::json).transpose()?,
        lives_in: None,
        spawned_by: None,
    })
}
