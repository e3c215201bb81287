//! Positions in a run: now, a checkpoint, a record, or another state.

use hence_variables::{
    Call, Decision, NoFiles, Op, StateId, Timestamp, VisibleVariables, Workspace, apply, decide,
};

use super::Session;
use crate::code::Code;
use crate::commands::find_record;
use crate::error::CliError;
use crate::hint;
use crate::target::Journal;

/// A position in a run, and the state whose variables are shown.
pub(crate) struct Position {
    /// The variables and the time at an earlier record; `None` for the present.
    then: Option<(Workspace, Timestamp)>,
    checkpoint: Option<String>,
    state: StateId,
}

impl Position {
    /// Finds the position that a person names: `now`, a state's id, a checkpoint, or a record by index or step.
    pub(crate) fn find(session: &Session<'_>, state: StateId, name: &str) -> Result<Self, CliError> {
        if name == "now" {
            return Ok(Self { then: None, checkpoint: None, state });
        }
        if let Ok(other) = name.parse::<StateId>() {
            return Ok(Self { then: None, checkpoint: None, state: session.state(Some(other))? });
        }
        let known = session.workspace()?.state(state);
        if known.is_some_and(|known| known.checkpoint(name).is_some()) {
            return Ok(Self { then: None, checkpoint: Some(name.to_owned()), state });
        }
        let journal = Journal::of_bytes(session.id.as_str(), session.journal()?);
        let record = find_record(&journal, name).map_err(|_| {
            let message = format!("{name:?} is neither a checkpoint of {state} nor a record of the run");
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_VARIABLE_POSITIONS)
        })?;
        Ok(Self { then: Some(session.workspace_at(record)?), checkpoint: None, state })
    }

    /// Returns the variables that the state sees at the position.
    pub(crate) fn view(&self, session: &Session<'_>) -> Result<VisibleVariables, CliError> {
        let workspace = match &self.then {
            Some((workspace, now)) => swept(workspace.clone(), *now, self.state),
            None => swept(session.seen_by(self.state)?, session.moment(None)?, self.state),
        };
        let nothing = |what: &str| {
            CliError::new(Code::NoSuchPlace, format!("{}: {what} is not there at that position", self.state))
        };
        let view = workspace.state_view(self.state).ok_or_else(|| nothing("the state"))?;
        match &self.checkpoint {
            None => Ok(view.visible()),
            Some(name) => view.visible_at(name).ok_or_else(|| nothing("the snapshot")),
        }
    }
}

/// Returns the variables without those that have expired by `now`: time has passed since the last record.
/// The removal is recorded with the next change of the state; a view records nothing.
fn swept(mut workspace: Workspace, now: Timestamp, state: StateId) -> Workspace {
    let call = Call::On { state, op: Op::List };
    while let Ok(Decision::ExpireFirst(event)) = decide(&workspace, &call, now, &NoFiles) {
        if apply(&mut workspace, &event).is_err() {
            break;
        }
    }
    workspace
}
