//! `hence run`: execute a problem or a skill, and store its journal.

use crate::args::RunArgs;
use crate::prelude::*;
use crate::{input, kind, skills};

pub(super) fn run(context: &Context, args: &RunArgs) -> Result<Exit, CliError> {
    start(context, args, None)
}

/// Creates a run and drives it, or hands it over.
pub(crate) fn start(
    context: &Context,
    args: &RunArgs,
    hand_over: Option<&kind::HandOver<'_>>,
) -> Result<Exit, CliError> {
    let bytes = input::read_parsable(&args.problem, Code::NotJson)?;
    if skills::is_skill(&args.problem, &bytes) {
        return kind::start_skill(context, args, &bytes, hand_over);
    }
    kind::start_reason(context, args, bytes, hand_over)
}
