//! `hence vars checkpoints`: the positions a state can return to.

use crate::args::vars::StateArgs;
use crate::interactive::Session;
use crate::prelude::*;

/// The checkpoints of a state, in the order they were taken.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckpointsReport {
    /// The state.
    state: String,
    /// The checkpoints.
    checkpoints: Vec<CheckpointRow>,
}

/// One checkpoint.
#[derive(Serialize, JsonSchema)]
struct CheckpointRow {
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The time it was taken.
    at: String,
    /// The description.
    description: Option<String>,
    /// True if its snapshot is available.
    restorable: bool,
}

impl Text for CheckpointsReport {
    fn text(&self) -> String {
        let mut rows = vec![["ID", "NAME", "AT", "DESCRIPTION"].map(str::to_owned)];
        for row in &self.checkpoints {
            let description = one_line(row.description.as_deref().unwrap_or_default(), 60);
            let lost = if row.restorable { "" } else { " (snapshot missing)" };
            rows.push([
                row.id.clone(),
                one_line(&row.name, 60),
                row.at.clone(),
                format!("{description}{lost}"),
            ]);
        }
        columns(&rows)
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &StateArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let known = session.workspace()?.state(state);
    let checkpoints = known.map(|known| known.checkpoints()).unwrap_or_default().iter();
    let checkpoints = checkpoints.map(|checkpoint| CheckpointRow {
        id: checkpoint.id.to_string(),
        name: checkpoint.name.to_string(),
        at: checkpoint.timestamp.to_string(),
        description: checkpoint.description.as_ref().map(ToString::to_string),
        restorable: checkpoint.snapshot.is_some(),
    });
    context.print(&CheckpointsReport { state: state.to_string(), checkpoints: checkpoints.collect() })?;
    Ok(Exit::Yes)
}
