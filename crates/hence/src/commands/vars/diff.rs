//! `hence vars diff`: the differences between two positions.

use hence_variables::Found;

use super::list::{VariableRow, short};
use crate::args::vars::DiffArgs;
use crate::interactive::{Moments, Position, Session};
use crate::prelude::*;

/// The differences between two positions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VarsDiffReport {
    /// The first position.
    left: String,
    /// The second position.
    right: String,
    /// The variables that differ, by name.
    differences: Vec<DifferenceRow>,
}

/// A variable that differs.
#[derive(Serialize, JsonSchema)]
struct DifferenceRow {
    /// The name.
    name: String,
    /// The variable at the first position.
    before: Option<VariableRow>,
    /// The variable at the second position.
    after: Option<VariableRow>,
}

impl Text for VarsDiffReport {
    fn text(&self) -> String {
        if self.differences.is_empty() {
            return format!("{} and {} say the same", self.left, self.right);
        }
        let value = |row: &Option<VariableRow>| {
            row.as_ref().map_or_else(|| "nothing".to_owned(), |row| short(row.value()))
        };
        let mut rows = vec![["NAME".to_owned(), self.left.clone(), self.right.clone()]];
        for row in &self.differences {
            rows.push([row.name.clone(), value(&row.before), value(&row.after)]);
        }
        columns(&rows)
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &DiffArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let view = |name: &str| Position::find(session, state, name)?.view(session);
    let differences = hence_variables::diff(&view(&args.left)?, &view(&args.right)?);
    let (equal, moments) = (differences.is_empty(), Moments::of(session)?);
    let row = |found: &Found| VariableRow::of(found, &moments);
    let rows = differences.into_iter().map(|difference| DifferenceRow {
        name: difference.name.to_string(),
        before: difference.before.as_ref().map(row),
        after: difference.after.as_ref().map(row),
    });
    context.print(&VarsDiffReport {
        left: args.left.clone(),
        right: args.right.clone(),
        differences: rows.collect(),
    })?;
    Ok(if equal { Exit::Yes } else { Exit::No })
}
