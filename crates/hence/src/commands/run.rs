//! `hence run`: execute a problem or a skill, and store its journal.

use crate::args::RunArgs;
use crate::prelude::*;
use crate::{input, kind, skills};

pub(super) fn run(context: &Context, args: &RunArgs) -> Result<Exit, CliError> {
    let bytes = input::read_parsable(&args.problem, Code::NotJson)?;
    if skills::is_skill(&args.problem, &bytes) {
        return kind::start_skill(context, args, &bytes);
    }
    kind::start_reason(context, args, bytes)
}
