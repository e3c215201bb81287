//! The large values an event refers to.

use hence_variables::{Change, Event, Spill, Stored, Variable};

/// Returns every large value that an event writes, imports or brings from a shared scope.
pub(crate) fn spills_of(event: &Event) -> Vec<Spill> {
    let spill = |variable: &Variable| match &variable.stored {
        Stored::Spilled(spill) => Some(spill.clone()),
        _ => None,
    };
    let of_change = |change: &Change| -> Vec<Spill> {
        match change {
            Change::Write { variable, .. } => spill(variable).into_iter().collect(),
            Change::Shared(shared) => shared.variables.iter().filter_map(spill).collect(),
            Change::Imported(adoption) => {
                let import = &adoption.import;
                let documents = std::iter::once(&import.document).chain(import.snapshots.values());
                let variables = documents.flat_map(|document| document.variables.values());
                variables.filter_map(|(variable, _)| spill(variable)).collect()
            }
            _ => Vec::new(),
        }
    };
    event.changes.iter().flat_map(of_change).collect()
}
