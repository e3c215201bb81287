//! The arguments of `hence store`.

use clap::Args as ClapArgs;
use hence_journal::verify::Level;

use crate::store_place::StorePlace;

#[derive(ClapArgs)]
#[command(after_help = "Example: hence store copy .hence backup\n\n\
    Runs, shared scopes, reviews, large values and tombstones are copied byte for byte and compared afterwards. An interrupted copy is \
    continued by the same command; do not run anything in TO before it says that everything is there. A run that is being written is \
    left out, and so is one that has other records in TO.")]
pub(crate) struct StoreCopyArgs {
    /// The store to copy: a folder, or the address of a database
    #[arg(value_name = "FROM")]
    pub(crate) from: StorePlace,
    /// The store to copy to, which is created if it is missing
    #[arg(value_name = "TO")]
    pub(crate) to: StorePlace,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence store migrate --store postgres:///team\n\n\
    The role needs the right to create a schema and tables. All migrations are applied, or none; what is there already is left.\n\
    A folder needs no migration.")]
pub(crate) struct StoreMigrateArgs {}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence store verify --level spec\n\n\
    Verifies every run, the runs of shared scopes and the reviews on all cores, as `hence verify --all` does.")]
pub(crate) struct StoreVerifyArgs {
    /// Stop at this level: bytes, chain, linked, spec, replay or anchored
    #[arg(long, default_value = "anchored", value_name = "LEVEL")]
    pub(crate) level: Level,
}
