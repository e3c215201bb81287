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
    /// The roles that are missing and that this role may not create, each with the statement for a role that may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing_roles: Vec<MissingRole>,
}

/// A role that is missing.
#[derive(Serialize, JsonSchema)]
struct MissingRole {
    /// The role.
    role: String,
    /// The statement that creates it. The next `hence store migrate` gives it its rights.
    sql: String,
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
        for missing in &self.missing_roles {
            rows.push(("missing", format!("role {}: {}", escape(&missing.role), escape(&missing.sql))));
        }
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, _: &StoreMigrateArgs) -> Result<Exit, CliError> {
    let (applied, missing) = match &context.place {
        // A folder has one format so far; opening it says whether it is that one.
        StorePlace::Folder(_) => {
            context.store_or_new()?;
            (Vec::new(), Vec::new())
        }
        StorePlace::Database(address) => {
            let migrated = PostgresStore::migrate_with_roles(address)?;
            (migrated.applied, migrated.missing_roles)
        }
    };
    let applied =
        applied.into_iter().map(|done| AppliedRow { number: done.version, name: done.name.to_owned() });
    let role = |role: String| MissingRole { sql: format!("create role {role} nologin;"), role };
    let missing_roles: Vec<MissingRole> = missing.into_iter().map(role).collect();
    let are_missing = !missing_roles.is_empty();
    let store = context.place.to_string();
    context.print(&MigrateReport { store, applied: applied.collect(), missing_roles })?;
    if are_missing {
        context.hint(hint::MAKE_ROLES);
    }
    Ok(Exit::Yes)
}
