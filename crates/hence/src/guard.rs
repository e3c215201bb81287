//! Policies of runs: reading them, opening gates, and reporting blocks.

use std::path::Path;
use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{
    Blobs, Blocked, BookError, Gate, GateError, PolicyState, first_installed, observe_journal,
};
use hence_journal::{Header, Reader, Record};
use hence_policy::policy::BUILT_IN;
use hence_projection::{PolicyGate, Program, policies_document};
use hence_state::ProblemSpec;

use crate::code::Code;
use crate::commands::policies_named;
use crate::error::CliError;
use crate::hint;
use crate::target::Journal;

/// Returns the header of a journal.
fn header(journal: &[u8]) -> Result<Header, GateError> {
    match Reader::open(journal).map(|(first, _)| first.record) {
        Ok(Record::Header(header)) => Ok(header),
        Ok(_) => Err(GateError::Policies("the first record is no header".to_owned())),
        Err(error) => Err(GateError::Policies(error.to_string())),
    }
}

/// Opens the gate of a run whose problem pins policies. It has observed nothing yet.
pub(crate) fn open<'a>(
    journal: &[u8],
    problem: &Arc<ProblemSpec>,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Option<Box<dyn Gate + 'a>>, GateError> {
    if problem.settings().policies.is_none() {
        return Ok(None);
    }
    Ok(Some(Box::new(PolicyGate::begin(&header(journal)?, problem, program, blobs)?)))
}

/// Opens the gate with which the journal of a run is judged again.
pub(crate) fn open_to_read<'a>(
    journal: &Journal,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Box<dyn Gate + 'a>, GateError> {
    let unread = |error: String| GateError::Policies(error);
    let document = journal.required_problem().map_err(|error| unread(error.message))?;
    let problem = ProblemSpec::decode_lenient(document, &journal.profile())
        .map_err(|findings| unread(findings.to_string()))?;
    Ok(Box::new(PolicyGate::begin(&header(&journal.bytes)?, &Arc::new(problem), program, blobs)?))
}

/// Opens the gate of a resumed run and shows it every record.
pub(crate) fn open_and_observe<'a>(
    journal: &[u8],
    problem: &Arc<ProblemSpec>,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Option<Box<dyn Gate + 'a>>, GateError> {
    let Some(mut gate) = open(journal, problem, program, blobs)? else { return Ok(None) };
    observe_journal(&mut *gate, journal, blobs)?;
    Ok(Some(gate))
}

/// Returns the policies that must be installed again: after a rollback to the header none are.
pub(crate) fn policies_to_reinstall(
    run: &str,
    policy_state: &PolicyState,
    journal: &[u8],
    blobs: &dyn Blobs,
) -> Result<Option<Value>, CliError> {
    if policy_state.is_installed() {
        return Ok(None);
    }
    first_installed(journal, blobs).map_err(|error| refused(run, error))
}

/// Refuses policies for a run that is not blocked.
pub(crate) fn refuse_amendment(run: &str, amended: Option<&Value>) -> Result<(), CliError> {
    match amended {
        None => Ok(()),
        Some(_) => Err(refused(run, GateError::PolicyOrder(hence_engine::PolicyOrderError::NothingBlocked))),
    }
}

/// A run that policies block.
pub(crate) fn blocked(run: &str, blocked: &Blocked) -> CliError {
    let what = match &*blocked.step {
        hence_engine::VERDICTS_STEP => "its completion".to_owned(),
        step => format!("step {step}"),
    };
    let message = format!("run {run}: policies block {what} (record {})", blocked.index);
    let messages = blocked.errors.iter().map(|error| &error.message);
    CliError::new(Code::Blocked, message).with_hint(hint::blocked(run)).with_findings(messages)
}

/// Reports policies that cannot be enforced.
pub(crate) fn refused(run: &str, error: GateError) -> CliError {
    CliError::of_run(Code::Gate, run, error)
}

/// Returns whether a record was refused because of the run's policies.
pub(crate) fn is_refusal(error: &BookError) -> bool {
    matches!(error, BookError::Gate(_) | BookError::PolicyOrder { .. })
}

/// Reads the policies of files and packs; `None` when nothing is named.
pub(crate) fn read_policies(names: &[String]) -> Result<Option<Value>, CliError> {
    if names.is_empty() {
        return Ok(None);
    }
    let set = policies_named(names)?;
    // A policy that could never block anything is refused before anything runs.
    let mut wrong = Vec::new();
    for policy in set.policies() {
        let errors = policy.lint().into_iter().filter(|finding| finding.is_error());
        wrong
            .extend(errors.map(|finding| format!("{}: policy {}: {finding}", names.join(", "), policy.id())));
    }
    let refused = |message: String| CliError::new(Code::Policies, message).with_hint(hint::LINT_POLICIES);
    match wrong.as_slice() {
        [] => Ok(Some(policies_document(set.policies()))),
        [one] => Err(refused(one.clone())),
        several => {
            let message = format!("{} cannot be enforced: {} findings", names.join(", "), several.len());
            Err(refused(message).with_findings(wrong))
        }
    }
}

/// Reads the policies a skill names itself, from its own folder, and those the command line adds.
pub(crate) fn read_policies_of_skill(
    skill: &str,
    own: &[std::sync::Arc<str>],
    names: &[String],
) -> Result<Option<Value>, CliError> {
    let folder = Path::new(skill).parent().filter(|_| skill != "-").unwrap_or(Path::new(""));
    let place = |name: &str| match BUILT_IN.iter().any(|(pack, _)| *pack == name) {
        true => name.to_owned(),
        false => folder.join(name).to_string_lossy().into_owned(),
    };
    let mut all: Vec<String> = own.iter().map(|name| place(name)).collect();
    all.extend(names.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<_>>());
    read_policies(&all)
}
