//! `hence store migrate`: creates or updates the tables of a database.

use hence_store_postgres::PostgresStore;

use crate::args::store::StoreMigrateArgs;
use crate::prelude::*;
use crate::store_place::StorePlace;

/// The migrations of a store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MigrateReport {
    /// The store.
    store: String,
    /// The migrations that were applied now, in order.
    applied: Vec<AppliedRow>,
}

/// A migration that was applied.
#[derive(Serialize, JsonSchema)]
struct AppliedRow {
    /// Its number.
    number: i32,
    /// The name of its file.
    name: String,
}

impl Text for MigrateReport {
    fn text(&self) -> String {
        let mut rows = vec![("store", escape(&self.store))];
        rows.extend(self.applied.iter().map(|row| ("applied", escape(&row.name))));
        if self.applied.is_empty() {
            rows.push(("applied", "nothing: the store is up to date".to_owned()));
        }
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, _: &StoreMigrateArgs) -> Result<Exit, CliError> {
    let applied = match &context.place {
        // A folder has one format so far; opening it says whether it is that one.
        StorePlace::Folder(_) => {
            context.store_or_new()?;
            Vec::new()
        }
        StorePlace::Database(address) => PostgresStore::migrate(address)?,
    };
    let applied =
        applied.into_iter().map(|done| AppliedRow { number: done.version, name: done.name.to_owned() });
    context.print(&MigrateReport { store: context.place.to_string(), applied: applied.collect() })?;
    Ok(Exit::Yes)
}
