//! The documents of skills: capabilities, nested skills, secrets, call logs, forks and answers.

mod action_types;
mod again;
mod answer;
mod calls;
mod capabilities;
mod decided;
mod document;
mod executed;
mod fork;
mod given;
mod linked;
mod nested;
mod nested_results;
mod referenced_files;
mod retry;
pub(crate) mod secrets;
mod shared_nested;
mod waiting;

use hence_canon::{Digest, Value, parse};
use hence_capabilities::{Declarations, Library};
use hence_cognition::run::Prepared;
use hence_cognition::skill::Skill;
use hence_engine::RunKind;
use hence_skills::Links;
use hence_store::{AttachmentName, RunId, StoreHandle};

use crate::args::RunArgs;
use crate::code::Code;
use crate::error::CliError;
use crate::target::Journal;

pub(crate) use again::{ActingCalls, Again};
pub(crate) use answer::{AnswerReport, GivenAnswer, Words, answer, record_answer};
pub(crate) use calls::{
    CALLS, call_log_defect, calls_name, has_covered_log, history, records_cover_calls, remove_covered_log,
    roll_back, sealed as sealed_calls, undecided_again,
};
pub(crate) use capabilities::{
    CAPABILITIES, attachment as capabilities_attachment, attachment_defect, capabilities_name, kinds,
    library_for, problems_of_file, read as read_capabilities, read_attached as read_attached_capabilities,
    read_with as read_capabilities_with,
};
pub(crate) use decided::DecisionRow;
pub(crate) use document::{SkillDocument, has_prompt, is_skill};
pub(crate) use executed::ExecutedCall;
pub(crate) use fork::{FirstRecords, fork};
pub(crate) use given::{frame, inputs, setting, yes_or_no};
pub(crate) use linked::{LinkRow, linked_runs, nested_runs};
pub(crate) use nested::{NESTED, NestedSkills, StoreChildren, nested_name};
pub(crate) use referenced_files::{Calls, FileFinding, ReferencedFiles};
pub(crate) use retry::{
    RETRY, claim as claim_retry, claimed_retry, newest_retry, retry, retry_claim_defect, retry_of, root_of,
};
pub(crate) use shared_nested::{NestedQueue, NestedRuns, NestedStuck, drive_nested, parent_of};
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
    let message = "--input, --inputs, --frame, --on-failure, --trust, --session, --skill, --max-depth and --deadline are for skills, and this document has no steps";
    Err(CliError::new(Code::Argument, message))
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

/// The runs that a run's problem names.
#[derive(Default)]
pub(crate) struct LinkedTo {
    /// The run that nests it.
    pub(crate) parent: Option<String>,
    /// The run it was forked from.
    pub(crate) origin: Option<String>,
    /// The run it retries.
    pub(crate) retries: Option<String>,
}

/// Returns the runs that a run's problem names, as far as the problem can be read.
pub(crate) fn links(store: &StoreHandle, run: &RunId) -> LinkedTo {
    let problem = store.attachment(run, &crate::target::problem_name()).ok();
    let problem = problem.and_then(|bytes| parse(&bytes).ok());
    let Some(links) = problem.as_ref().and_then(Links::of_problem) else { return LinkedTo::default() };
    // The problem of a child of `hence solve` names the call that the child answers.
    let solved = problem.as_ref().filter(|problem| RunKind::of(problem) == RunKind::Solve);
    let asked_by = solved.and_then(|problem| {
        problem.get("settings")?.get("solve")?.get("parent")?.get("run")?.as_str().map(str::to_owned)
    });
    let is_retry = links.idempotency_root().is_some();
    let origin = links.origin.map(|origin| origin.run.to_string());
    LinkedTo {
        parent: links.parent.map(|parent| parent.run.to_string()).or(asked_by),
        retries: origin.clone().filter(|_| is_retry),
        origin: origin.filter(|_| !is_retry),
    }
}
