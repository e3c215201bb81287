//! `hence vars history`: every change ever made, from the journal.

use hence_journal::RecordIndex;
use hence_variables::document::storage::history_entry;
use hence_variables::{Change, Mutation, StateId};

use super::list::short;
use crate::args::vars::HistoryArgs;
use crate::interactive::{ChangeClock, MomentRow, Moments, Session};
use crate::prelude::*;

/// The changes of a state's variables, oldest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HistoryReport {
    /// The state.
    state: String,
    /// The number of changes.
    total: usize,
    /// The clock that gave `timestamp`.
    clock: ChangeClock,
    /// The newest changes, in the form of `history.jsonl`.
    mutations: Vec<Data>,
    /// The record and the measured time of each of them.
    moments: Vec<MomentRow>,
}

impl Text for HistoryReport {
    fn text(&self) -> String {
        let at = self.clock.title("AT");
        let mut rows = vec![["ID", &at, "OPERATION", "NAME", "CHANGE"].map(str::to_owned)];
        for (Data(entry), moment) in self.mutations.iter().zip(&self.moments) {
            let text = |key: &str| entry.get(key).and_then(|value| value.as_str()).unwrap_or_default();
            let change = match (entry.get("old_value"), entry.get("new_value")) {
                (Some(old), Some(new)) => format!("{} → {}", short(old), short(new)),
                (Some(old), None) => format!("{} → ", short(old)),
                (None, Some(new)) => short(new),
                (None, None) => String::new(),
            };
            rows.push([
                text("mutation_id").to_owned(),
                self.clock.text(moment),
                text("operation").to_owned(),
                escape(text("variable_name")),
                change,
            ]);
        }
        let mut text = table(&rows, &["ID", "AT"]).with_note();
        let hidden = self.total - self.mutations.len();
        if hidden > 0 {
            text.push_str(&format!("{hidden} older; --limit 0 shows all\n"));
        }
        text
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &HistoryArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let wanted = |(_, mutation): &(RecordIndex, Mutation)| {
        args.name.as_deref().is_none_or(|name| &*mutation.variable_name == name)
    };
    let all: Vec<(RecordIndex, Mutation)> =
        recorded_log(session, state)?.into_iter().filter(wanted).collect();
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let shown = all.get(all.len().saturating_sub(limit)..).unwrap_or_default();
    let moments = Moments::of(session)?;
    context.print(&HistoryReport {
        state: state.to_string(),
        total: all.len(),
        clock: moments.clock,
        mutations: shown.iter().map(|(_, mutation)| Data(history_entry(mutation))).collect(),
        moments: shown
            .iter()
            .map(|(index, mutation)| moments.of_record(mutation.timestamp, *index))
            .collect(),
    })?;
    Ok(Exit::Yes)
}

/// Returns the whole log of a state; the state itself has only the newest part.
pub(super) fn whole_log(session: &Session<'_>, state: StateId) -> Result<Vec<Mutation>, CliError> {
    Ok(recorded_log(session, state)?.into_iter().map(|(_, mutation)| mutation).collect())
}

/// Returns the whole log of a state, each change with the record that has it.
fn recorded_log(session: &Session<'_>, state: StateId) -> Result<Vec<(RecordIndex, Mutation)>, CliError> {
    let found = session.events()?;
    let mut log = Vec::new();
    for (index, event) in found.iter().filter(|(_, event)| event.state == state) {
        for change in &event.changes {
            if let Change::Imported(adoption) = change {
                let imported = adoption.import.document.mutations.iter();
                log.extend(imported.map(|mutation| (*index, mutation.clone())));
            }
            log.extend(change.mutation().map(|mutation| (*index, mutation)));
        }
    }
    Ok(log)
}
