//! `hence resume`: a run goes on where its record ends.

use hence_engine::Engine;

use super::run::{report, take_up};
use crate::args::ResumeArgs;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::target::Journal;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    if let Some(kept) = crate::skills::Kept::of_given(&journal, &args.capabilities.capabilities)? {
        return crate::skills::resume(context, &kept, &journal, args.deadline.deadline);
    }
    if args.deadline.deadline.is_some() {
        let message = "--deadline is for skills, and this run has none";
        return Err(CliError::new(crate::code::Code::Refused, message).advise("leave it out"));
    }
    let problem = journal.required_problem()?;
    let plan = Engine::new()
        .plan_of_journal(&journal.bytes, &problem)
        .map_err(|error| CliError::resume(&journal.name, error))?;
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    let ended = take_up(context, &store, plan, &id)?;
    report(context, &store, &id, &ended, None)
}
