//! `hence vars list`: the variables a state sees.

use hence_canon::Value;
use hence_variables::Found;

use crate::args::vars::ListArgs;
use crate::interactive::{Position, Session};
use crate::prelude::*;

/// The number of characters of a value in a row.
const VALUE_CHARS_MAX: usize = 48;

/// The variables a state sees.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// The state.
    state: String,
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
    /// The time of the last write.
    updated_at: Option<String>,
    /// The value, or the reference to it when it is stored in a file.
    value: Data,
}

impl VariableRow {
    pub(super) fn of(found: &Found) -> Self {
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
        let mut rows = vec![["NAME", "TYPE", "SCOPE", "BYTES", "UPDATED", "VALUE"].map(str::to_owned)];
        for row in &self.variables {
            rows.push([
                row.name.clone(),
                row.value_type.clone(),
                row.scope.clone().unwrap_or_default(),
                row.size_bytes.to_string(),
                row.updated_at.clone().unwrap_or_default(),
                short(&row.value.0),
            ]);
        }
        table(&rows, &["BYTES", "SCOPE", "UPDATED"]).with_note()
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &ListArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let position = Position::find(session, state, args.at.as_deref().unwrap_or("now"))?;
    let variables = position.view(session)?.values().map(VariableRow::of).collect();
    context.print(&ListReport { state: state.to_string(), variables })?;
    Ok(Exit::Yes)
}
