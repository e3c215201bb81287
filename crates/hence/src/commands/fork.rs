//! `hence fork`: start another run that shares the records before a step.

use crate::args::skill::ForkArgs;
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::target::Journal;

pub(super) fn run(context: &Context, args: &ForkArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    kind::open(&journal, &[], Purpose::Resume(args.imported.imported()))?.fork(context, &journal, args)
}
