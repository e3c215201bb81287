//! `hence resume`: continue a run where its journal ends.

use crate::args::ResumeArgs;
use crate::guard;
use crate::kind::{self, DriveOptions, Purpose};
use crate::prelude::*;
use crate::target::Journal;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, CliError> {
    let amended = guard::read_policies(&args.policies)?;
    let journal = Journal::of_run(context, &args.run)?;
    let run =
        kind::open(&journal, &args.capabilities.capabilities, Purpose::Resume(args.imported.imported()))?;
    let limits = args.limits.limits();
    let options =
        DriveOptions { amended: amended.as_ref(), deadline: args.deadline.deadline, limits: Some(&limits) };
    run.resume(context, &journal, options)
}
