//! `hence run`: execute a problem or a skill, and store its journal.

use crate::args::RunArgs;
use crate::document_kind::DocumentKind;
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
    refuse_other_document(&args.problem, &bytes)?;
    if skills::is_skill(&args.problem, &bytes) {
        return kind::start_skill(context, args, &bytes, hand_over);
    }
    kind::start_reason(context, args, bytes, hand_over)
}

/// Refuses what is neither a problem nor a skill by its name, instead of listing all that it lacks.
fn refuse_other_document(name: &str, bytes: &[u8]) -> Result<(), CliError> {
    const EXPECTED: &str = "a problem or a skill";
    let found = match DocumentKind::of_text(name, bytes, EXPECTED)? {
        // An empty or incomplete object is read as a problem, which lists what it lacks.
        None | Some(DocumentKind::Problem | DocumentKind::Skill) => return Ok(()),
        Some(found) => found,
    };
    let shown = input::shown_name(name);
    let message = format!("{shown} is {}: expected {EXPECTED}", found.name());
    Err(CliError::new(Code::Argument, message).with_hint(hint::use_of(found, shown)))
}
