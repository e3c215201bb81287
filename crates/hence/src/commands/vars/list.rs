//! `hence vars list`: the variables a state sees.

use hence_canon::Value;
use hence_variables::Found;

use crate::args::vars::ListArgs;
use crate::interactive::{ChangeClock, MomentRow, Moments, Position, Session};
use crate::prelude::*;

/// The number of characters of a value in a row.
const VALUE_CHARS_MAX: usize = 48;

/// The variables a state sees.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// The state.
    state: String,
    /// The clock that gave `updated_at`.
    clock: ChangeClock,
    /// The variables, by name.
    variables: Vec<VariableRow>,
}

/// One variable.
#[derive(Serialize, JsonSchema)]
pub(super) struct VariableRow {
    /// The name.
    pub(super) name: String,
    /// The type of the value, also when it is stored in a file.
    #[serde(rename = "type")]
    value_type: String,
    /// The scope; nothing for `prompt` and `Final`.
    scope: Option<String>,
    /// The size.
    size_bytes: u64,
    /// True if further writes are refused.
    read_only: bool,
    /// The number of reads.
    access_count: u64,
    /// The time of the last write in the state document, by the clock that the report names.
    updated_at: Option<String>,
    /// The last write: its record and its measured time, where the steps of a run write the variables.
    updated: Option<MomentRow>,
    /// The value, or the reference to it when it is stored in a file.
    value: Data,
}

impl VariableRow {
    pub(super) fn of(found: &Found, moments: &Moments) -> Self {
        let variable = &found.variable;
        let value_type = match &variable.stored {
            hence_variables::Stored::Spilled(spill) => spill.logical_type,
            stored => stored.shown_type(),
        };
        Self {
            name: variable.name.to_string(),
            value_type: value_type.to_string(),
            scope: found.home.scope().map(|scope| scope.to_string()),
            size_bytes: variable.stored.size_bytes(),
            read_only: variable.read_only,
            access_count: variable.access_count,
            updated_at: variable.updated_at.map(|at| at.to_string()),
            updated: variable.updated_at.map(|at| moments.of_time(at)),
            value: Data(variable.stored.shown()),
        }
    }
}

impl VariableRow {
    pub(super) fn value(&self) -> &Value {
        &self.value.0
    }
}

/// Returns a value in one short line.
pub(super) fn short(value: &Value) -> String {
    one_line(&value.to_string(), VALUE_CHARS_MAX)
}

impl Text for ListReport {
    fn text(&self) -> String {
        let updated = self.clock.title("UPDATED");
        let mut rows = vec![["NAME", "TYPE", "SCOPE", "BYTES", &updated, "VALUE"].map(str::to_owned)];
        for row in &self.variables {
            rows.push([
                row.name.clone(),
                row.value_type.clone(),
                row.scope.clone().unwrap_or_default(),
                row.size_bytes.to_string(),
                row.updated.as_ref().map(|updated| self.clock.text(updated)).unwrap_or_default(),
                short(&row.value.0),
            ]);
        }
        table(&rows, &["BYTES", "SCOPE", "UPDATED"]).with_note()
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &ListArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let position = Position::find(session, state, args.at.as_deref().unwrap_or("now"))?;
    let moments = Moments::of(session)?;
    let variables = position.view(session)?;
    let variables = variables.values().map(|found| VariableRow::of(found, &moments)).collect();
    context.print(&ListReport { state: state.to_string(), clock: moments.clock, variables })?;
    Ok(Exit::Yes)
}
