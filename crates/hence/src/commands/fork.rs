//! `hence fork`: start another run that shares the records before a step.

use crate::address::Address;
use crate::args::skill::ForkArgs;
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::target::Journal;

pub(super) fn run(context: &Context, args: &ForkArgs) -> Result<Exit, CliError> {
    let address = Address::find(context, &args.run)?;
    let from = address.required(&args.from)?;
    let args = &ForkArgs { run: address.run.as_str().into(), from, ..args.clone() };
    let journal = Journal::of_run(context, &args.run)?;
    kind::open(&journal, &[], Purpose::Resume(args.imported.imported()))?.fork(context, &journal, args)
}
