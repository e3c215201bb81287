//! `hence resume`: continue a run where its journal ends.

use crate::args::ResumeArgs;
use crate::guard;
use crate::kind::{self, DriveOptions, Purpose, UndecidedCalls};
use crate::prelude::*;
use crate::target::Journal;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, CliError> {
    let amended = guard::read_policies(&args.policies)?;
    let journal = Journal::of_run(context, &args.run)?;
    let run =
        kind::open(&journal, &args.capabilities.capabilities, Purpose::Resume(args.imported.imported()))?;
    let limits = args.limits.limits();
    let undecided = match args.repeat_undecided {
        true => UndecidedCalls::Repeat,
        false => UndecidedCalls::AsPinned,
    };
    let (amended, deadline) = (amended.as_ref(), args.deadline.deadline);
    let options =
        DriveOptions { amended, deadline, limits: Some(&limits), undecided, ..DriveOptions::default() };
    let exit = run.resume(context, &journal, options)?;
    // A worker that parked the run finds out what became of it.
    if let Ok(id) = hence_store::RunId::new(&journal.name) {
        crate::fleet::wake(context, &id);
    }
    Ok(exit)
}
