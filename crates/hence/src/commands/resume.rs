//! `hence resume`: a run goes on where its record ends.

use hence_canon::Value;
use hence_engine::Engine;

use super::run::{Bound, report, take_up};
use crate::args::ResumeArgs;
use crate::guard;
use crate::prelude::*;
use crate::target::Journal;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, CliError> {
    let amended = guard::given(&args.policies)?;
    let journal = Journal::of_run(context, &args.run)?;
    if let Some(kept) = crate::skills::Kept::of_given(&journal, &args.capabilities.capabilities)? {
        let given = crate::skills::Given { amended: amended.as_ref(), deadline: args.deadline.deadline };
        return crate::skills::resume(context, &kept, &journal, given);
    }
    if args.deadline.deadline.is_some() {
        let message = "--deadline is for skills, and this run has none";
        return Err(CliError::new(crate::code::Code::Refused, message).with_hint(hint::LEAVE_IT_OUT));
    }
    problem(context, &journal, &args.capabilities.capabilities, amended.as_ref())
}

/// Takes up a run of a problem whose question was answered.
pub(crate) fn again(context: &Context, journal: &Journal) -> Result<Exit, CliError> {
    problem(context, journal, &[], None)
}

/// Takes up a run of a problem.
fn problem(
    context: &Context,
    journal: &Journal,
    capabilities: &[String],
    amended: Option<&Value>,
) -> Result<Exit, CliError> {
    let problem = journal.required_problem()?;
    let (engine, means) = crate::bound::to_resume(Engine::new(), journal, capabilities)?;
    let plan = engine
        .plan_of_journal(&journal.bytes, &problem)
        .map_err(|error| CliError::resume(&journal.name, error))?;
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    let bound = Bound { engine: &engine, means: means.as_ref(), plan };
    let ended = take_up(context, &store, bound, &id, amended)?;
    report(context, &store, &id, ended, None)
}
