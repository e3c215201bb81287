//! `hence vars status`: how far a state is.

use crate::args::vars::StateArgs;
use crate::interactive::Session;
use crate::prelude::*;

/// How far a state is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusReport {
    /// The run's id.
    run: String,
    /// The state.
    state: String,
    /// `incomplete`, `complete`, `failed` or `cancelled`.
    status: String,
    /// How many variables it sees.
    variables: usize,
    /// How many mutations it has had: the token of --if-mutation-count.
    mutation_count: u64,
    /// How many checkpoints it has.
    checkpoints: usize,
    /// How many states the run has.
    states: usize,
    /// What the run's clock shows.
    now: String,
    /// Where the journal ends.
    head: String,
}

impl Text for StatusReport {
    fn text(&self) -> String {
        pairs(&[
            ("state", format!("{} ({} in run)", self.state, self.states)),
            ("status", self.status.clone()),
            ("variables", self.variables.to_string()),
            ("mutations", self.mutation_count.to_string()),
            ("checkpoints", self.checkpoints.to_string()),
            ("clock", self.now.clone()),
            ("head", self.head.clone()),
        ])
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &StateArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let run = session.loaded()?;
    let Some(sight) = run.workspace().sight(state) else { return Ok(Exit::No) };
    context.print(&StatusReport {
        run: session.id.as_str().to_owned(),
        state: state.to_string(),
        status: sight.state().status().to_string(),
        variables: sight.visible_count(),
        mutation_count: sight.state().mutation_count(),
        checkpoints: sight.state().checkpoints().len(),
        states: run.workspace().states().len(),
        now: run.now()?.to_string(),
        head: run.head().to_string(),
    })?;
    Ok(Exit::Yes)
}
