//! The documents of skills: capabilities, nested skills, secrets, call logs, forks and answers.

mod action_types;
mod answer;
mod calls;
mod capabilities;
mod document;
mod executed;
mod fork;
mod given;
mod linked;
mod nested;
mod referenced_files;
pub(crate) mod secrets;
mod waiting;

use hence_canon::{Digest, Value, parse};
use hence_capabilities::{Declarations, Library};
use hence_cognition::run::Prepared;
use hence_cognition::skill::Skill;
use hence_skills::Links;
use hence_store::{AttachmentName, RunId, Store};

use crate::args::RunArgs;
use crate::code::Code;
use crate::error::CliError;
use crate::target::Journal;

pub(crate) use answer::{AnswerReport, answer};
pub(crate) use calls::{
    calls_name, has_covered_log, history, records_cover_calls, remove_covered_log, roll_back,
};
pub(crate) use capabilities::{
    CAPABILITIES, attachment as capabilities_attachment, capabilities_name, kinds, library_for,
    read as read_capabilities,
};
pub(crate) use document::{SkillDocument, is_skill};
pub(crate) use executed::ExecutedCall;
pub(crate) use fork::{FirstRecords, fork};
pub(crate) use given::{frame, inputs, setting};
pub(crate) use linked::{LinkRow, linked_runs};
pub(crate) use nested::{NestedSkills, StoreChildren, nested_name};
pub(crate) use referenced_files::{Calls, FileFinding, ReferencedFiles};
pub(crate) use waiting::WaitingRow;

/// The attachment that holds the skill.
pub(crate) const SKILL: &str = "skill.json";

/// Returns the name of the skill's attachment.
pub(crate) fn attachment_name() -> AttachmentName {
    AttachmentName::new(SKILL).expect("the name is plain")
}

/// Refuses options that have no meaning for a problem.
pub(crate) fn refuse_options(args: &RunArgs) -> Result<(), CliError> {
    if args.skill.is_empty() {
        return Ok(());
    }
    let message = "--input, --inputs, --frame, --on-failure, --trust, --skill, --max-depth and --deadline are for skills, and this document has no steps";
    Err(CliError::new(Code::Refused, message))
}

/// Returns the capabilities of a run: the stored ones, or those of the given files, which must have the same digest.
pub(crate) fn library_pinned(
    journal: &Journal,
    files: &[String],
    pinned: Option<Digest>,
) -> Result<Library, CliError> {
    let stored = || match pinned {
        None => Ok(Declarations::default()),
        Some(digest) => capabilities::read_stored(&journal.name, journal.capabilities.as_deref(), digest),
    };
    if files.is_empty() {
        return stored().map(Library::with);
    }
    let before = stored().ok();
    capabilities::read_again(&journal.name, files, pinned, before.as_ref()).map(Library::with)
}

/// Prepares a skill document to run.
pub(crate) fn prepare(document: &Value, library: &Library) -> Option<Prepared> {
    let reading = Skill::read(document);
    let skill = reading.skill.as_ref().filter(|_| !reading.is_refused())?;
    Prepared::of(skill, library).ok()
}

/// Returns the run that nests a run and the run it was forked from, if there are any.
pub(crate) fn links(store: &dyn Store, run: &RunId) -> (Option<String>, Option<String>) {
    let problem = store.attachment(run, &crate::target::problem_name()).ok();
    let problem = problem.and_then(|bytes| parse(&bytes).ok());
    let Some(links) = problem.as_ref().and_then(Links::of_problem) else {
        return (None, None);
    };
    let parent = links.parent.map(|parent| parent.run.to_string());
    (parent, links.origin.map(|origin| origin.run.to_string()))
}
