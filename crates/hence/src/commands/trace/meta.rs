//! `hence trace meta`: grouping actions into units of intent.

use hence_canon::Value;
use hence_review::curate::{self, CurateError, Grouping, UnitBasis};
use hence_review::wire::{MetaAction, Trace};

use super::document::Document;
use super::edit;
use crate::args::{
    EditArgs, MetaBasis, MetaDeriveArgs, MetaDropArgs, MetaMergeArgs, MetaSetArgs, MetaSplitArgs,
    TraceFileArgs, TraceMetaCommand,
};
use crate::prelude::*;

/// The units of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MetaReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// The units in the order of the trace.
    units: Vec<UnitRow>,
    /// The ids of actions without a unit.
    loose: Vec<i64>,
}

/// One unit.
#[derive(Serialize, JsonSchema)]
struct UnitRow {
    /// Its id.
    id: String,
    /// The unit of intent in a line.
    title: String,
    /// The source of the grouping, as written.
    source: Option<String>,
    /// Whether it was finished, as written.
    status: Option<String>,
    /// The id of its parent.
    parent_id: Option<String>,
    /// The ids of its actions.
    action_ids: Vec<i64>,
    /// The number of gaps it names.
    residuals: usize,
}

impl UnitRow {
    fn of(unit: &MetaAction) -> Self {
        let text = |key: &str| unit.text(key).map(str::to_owned);
        Self {
            id: text("id").unwrap_or_default(),
            title: text("title").unwrap_or_default(),
            source: text("source"),
            status: text("status"),
            parent_id: text("parent_id"),
            action_ids: unit.ints("action_ids").collect(),
            residuals: unit.items("residual_ids").len(),
        }
    }

    fn row(&self) -> [String; 4] {
        let inside = self.parent_id.as_ref().map(|parent| format!(" in {}", escape(parent)));
        [
            format!("{}{}", escape(&self.id), inside.unwrap_or_default()),
            listed(&self.action_ids),
            escape(self.source.as_deref().unwrap_or("no source")),
            escape(&self.title),
        ]
    }
}

/// Returns numbers as a list of ranges: `1-4, 6`.
fn listed(ids: &[i64]) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*id) => *last = *id,
            _ => runs.push((*id, *id)),
        }
    }
    let run = |(first, last): &(i64, i64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    if runs.is_empty() {
        "no actions".to_owned()
    } else {
        runs.iter().map(run).collect::<Vec<_>>().join(", ")
    }
}

impl Text for MetaReport {
    fn text(&self) -> String {
        let rows: Vec<[String; 4]> = self.units.iter().map(UnitRow::row).collect();
        let mut text =
            if rows.is_empty() { "the trace groups no actions\n".to_owned() } else { columns(&rows) };
        if !self.loose.is_empty() {
            text.push_str(&format!("in no unit: {}\n", listed(&self.loose)));
        }
        text
    }
}

pub(super) fn run(context: &Context, command: &TraceMetaCommand) -> Result<Exit, CliError> {
    match command {
        TraceMetaCommand::List(args) => list(context, args),
        TraceMetaCommand::Set(args) => set(context, args),
        TraceMetaCommand::Merge(args) => merge(context, args),
        TraceMetaCommand::Split(args) => split(context, args),
        TraceMetaCommand::Drop(args) => drop_unit(context, args),
        TraceMetaCommand::Derive(args) => derive(context, args),
    }
}

fn list(context: &Context, args: &TraceFileArgs) -> Result<Exit, CliError> {
    let trace = Document::of_file_or_run(context, &args.file)?.trace();
    let units: Vec<UnitRow> = trace.meta_actions().map(|unit| UnitRow::of(&unit)).collect();
    let grouped: std::collections::BTreeSet<i64> =
        units.iter().flat_map(|unit| unit.action_ids.iter().copied()).collect();
    let ids = trace.actions().iter().filter_map(hence_review::wire::Action::id);
    context.print(&MetaReport {
        trace_id: trace.trace_id().map(str::to_owned),
        loose: ids.filter(|id| !grouped.contains(id)).collect(),
        units,
    })?;
    Ok(Exit::Yes)
}

fn change(
    context: &Context,
    file: &str,
    args: &EditArgs,
    units: Vec<String>,
    make: impl FnOnce(&Value) -> Result<Value, CurateError>,
) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, file)?;
    let changed = make(&document.value).map_err(refused)?;
    edit::write(context, args, &document.value, &changed, units)
}

fn set(context: &Context, args: &MetaSetArgs) -> Result<Exit, CliError> {
    let grouping = Grouping {
        id: args.unit.clone(),
        title: args.title.clone(),
        action_ids: args.actions.0.clone(),
        intent: args.intent.clone(),
        outcome: args.outcome.clone(),
        status: args.status,
        parent_id: args.parent.clone(),
    };
    change(context, &args.file, &args.edit, vec![args.unit.clone()], |trace| curate::set(trace, &grouping))
}

fn merge(context: &Context, args: &MetaMergeArgs) -> Result<Exit, CliError> {
    let ids: Vec<&str> = args.units.iter().map(String::as_str).collect();
    change(context, &args.file, &args.edit, args.units.clone(), |trace| {
        curate::merge(trace, &ids, &args.title)
    })
}

fn split(context: &Context, args: &MetaSplitArgs) -> Result<Exit, CliError> {
    let changed = vec![args.unit.clone(), args.new.clone()];
    change(context, &args.file, &args.edit, changed, |trace| {
        curate::split(trace, &args.unit, args.before, (&args.new, &args.title))
    })
}

fn drop_unit(context: &Context, args: &MetaDropArgs) -> Result<Exit, CliError> {
    change(context, &args.file, &args.edit, vec![args.unit.clone()], |trace| curate::drop(trace, &args.unit))
}

fn derive(context: &Context, args: &MetaDeriveArgs) -> Result<Exit, CliError> {
    let basis = match args.from {
        MetaBasis::Plan => UnitBasis::Plan,
        MetaBasis::Turns => UnitBasis::Turns,
    };
    let document = Document::of_file_or_run(context, &args.file)?;
    let changed = curate::derive(&document.value, basis).map_err(refused)?;
    let ids = |value: &Value| -> Vec<String> {
        Trace::read(value).meta_actions().filter_map(|unit| unit.text("id").map(str::to_owned)).collect()
    };
    let before = ids(&document.value);
    let made: Vec<String> = ids(&changed).into_iter().filter(|id| !before.contains(id)).collect();
    if made.is_empty() {
        let message = format!("{}: every action belongs to a unit", &*args.file);
        return Err(CliError::new(Code::TraceUnchanged, message).with_hint(hint::LIST_UNITS));
    }
    edit::write(context, &args.edit, &document.value, &changed, made)
}

fn refused(error: CurateError) -> CliError {
    CliError::from_error(Code::TraceUnchanged, error).with_hint(hint::LIST_UNITS)
}
