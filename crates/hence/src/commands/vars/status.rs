//! `hence vars status`: the status of a state.

use crate::args::vars::StateArgs;
use crate::interactive::{ChangeClock, MomentRow, Moments, Session};
use crate::prelude::*;

/// The status of a state, with its counts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusReport {
    /// The run's id.
    run: String,
    /// The state.
    state: String,
    /// `incomplete`, `complete`, `error` or `cancelled`.
    status: String,
    /// The number of variables it sees.
    variables: usize,
    /// The number of mutations it has had: the token of --if-mutation-count.
    mutation_count: u64,
    /// The number of its checkpoints.
    checkpoints: usize,
    /// The number of states in the run.
    states: usize,
    /// The time of the last change or counted read, by the clock that `clock` names.
    last_at: Option<String>,
    /// The clock that gave `last_at`.
    clock: ChangeClock,
    /// The last change: its record and its measured time, where the steps of a run write the variables.
    last: Option<MomentRow>,
    /// The head of the journal.
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
            ("last change", self.last.as_ref().map(|last| self.last_text(last)).unwrap_or_default()),
            ("head", self.head.clone()),
        ])
    }
}

impl StatusReport {
    fn last_text(&self, last: &MomentRow) -> String {
        let text = self.clock.text(last);
        if last.measured_at.is_some() { format!("{text} (measured)") } else { text }
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &StateArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let run = session.loaded()?;
    let Some(view) = run.workspace().state_view(state) else { return Ok(Exit::No) };
    let moments = Moments::of(session)?;
    let last = match session.is_driven_by_steps() {
        // The clock ticks on with steps that write nothing.
        true => session.events()?.last().map(|(index, event)| moments.of_record(event.at, *index)),
        false => run.last_moment().map(|last| moments.of_time(last)),
    };
    context.print(&StatusReport {
        run: session.id.as_str().to_owned(),
        state: state.to_string(),
        status: run.status_of(view.state()).to_string(),
        variables: view.visible_count(),
        mutation_count: view.state().mutation_count(),
        checkpoints: view.state().checkpoints().len(),
        states: run.workspace().states().len(),
        last_at: last.as_ref().map(|last| last.at.clone()),
        clock: moments.clock,
        last,
        head: run.head().to_string(),
    })?;
    Ok(Exit::Yes)
}
