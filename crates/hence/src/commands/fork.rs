//! `hence fork`: start another run that shares the records before a step.

use hence_engine::RunKind;

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
    if args.budget.is_given() && journal.kind != RunKind::Solve {
        let message = "--max-turns, --max-tree-turns, --max-sub-calls, --max-bytes and --max-interpreter-seconds are for runs of `hence solve`";
        return Err(CliError::new(Code::Fork, message).with_hint(hint::LEAVE_THEM_OUT));
    }
    kind::open(&journal, &[], Purpose::Resume(args.imported.imported()))?.fork(context, &journal, args)
}
