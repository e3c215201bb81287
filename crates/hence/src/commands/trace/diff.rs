//! `hence trace diff`: two traces compared by meaning.

use hence_review::diff::{Change, Difference, Part, diff};

use super::document::Document;
use crate::args::TraceDiffArgs;
use crate::prelude::*;

/// The differences of two traces.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiffReport {
    /// Whether they mean the same.
    equal: bool,
    /// Each difference.
    differences: Vec<DifferenceRow>,
}

/// One difference.
#[derive(Serialize, JsonSchema)]
struct DifferenceRow {
    /// The part: `trace`, `action`, `artifact`, `residual`, `evaluation`, `goal` or `file`.
    part: &'static str,
    /// `added`, `removed` or `changed`.
    change: &'static str,
    /// The members that differ, for what changed.
    members: Vec<String>,
    /// The part in words.
    title: String,
    /// Its id in the left trace.
    left: Option<String>,
    /// Its id in the right trace.
    right: Option<String>,
}

impl DifferenceRow {
    fn of(found: Difference) -> Self {
        let part = match found.part {
            Part::Trace => "trace",
            Part::Action => "action",
            Part::Artifact => "artifact",
            Part::Residual => "residual",
            Part::Evaluation => "evaluation",
            Part::Goal => "goal",
            Part::File => "file",
        };
        let (change, members) = match found.change {
            Change::Added => ("added", Vec::new()),
            Change::Removed => ("removed", Vec::new()),
            Change::Changed(members) => ("changed", members),
        };
        Self { part, change, members, title: found.title, left: found.left, right: found.right }
    }

    fn row(&self) -> [String; 4] {
        let ids = match (&self.left, &self.right) {
            (Some(left), Some(right)) if left == right => left.clone(),
            (Some(left), Some(right)) => format!("{left} → {right}"),
            (left, right) => left.as_ref().or(right.as_ref()).cloned().unwrap_or_default(),
        };
        let members =
            if self.members.is_empty() { String::new() } else { format!(": {}", self.members.join(", ")) };
        [
            self.change.to_owned(),
            self.part.to_owned(),
            escape(&ids),
            escape(&format!("{}{members}", self.title)),
        ]
    }
}

impl Text for DiffReport {
    fn text(&self) -> String {
        if self.equal {
            return "the traces mean the same\n".to_owned();
        }
        let rows: Vec<[String; 4]> = self.differences.iter().map(DifferenceRow::row).collect();
        columns(&rows)
    }
}

pub(super) fn run(context: &Context, args: &TraceDiffArgs) -> Result<Exit, CliError> {
    let left = Document::of_file_or_run(context, &args.left)?.trace();
    let right = Document::of_file_or_run(context, &args.right)?.trace();
    let differences: Vec<DifferenceRow> = diff(&left, &right).into_iter().map(DifferenceRow::of).collect();
    let equal = differences.is_empty();
    context.print(&DiffReport { equal, differences })?;
    Ok(if equal { Exit::Yes } else { Exit::No })
}
