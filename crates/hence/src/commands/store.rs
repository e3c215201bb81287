//! `hence store`: copy a store, create the tables of a database, or verify everything in it.

mod copy;
mod migrate;

use super::{commands, verify};
use crate::args::VerifyArgs;
use crate::args::store::{StoreCopyArgs, StoreMigrateArgs, StoreVerifyArgs};
use crate::prelude::*;

commands! { StoreCommand {
    /// Copy every run of a store to another one, and compare what arrived
    Copy(StoreCopyArgs) => copy::run, "store-copy": copy::CopyReport;
    /// Create or update the tables of a database
    Migrate(StoreMigrateArgs) => migrate::run, "store-migrate": migrate::MigrateReport;
    /// Verify every run of the store on all cores
    Verify(StoreVerifyArgs) => verify_all, "store-verify": verify::VerifyAllReport;
} }

fn verify_all(context: &Context, args: &StoreVerifyArgs) -> Result<Exit, CliError> {
    let level = args.level;
    let everything =
        VerifyArgs { target: None, all: true, problem: None, anchor: None, level, execute: false };
    verify::run(context, &everything)
}
