//! The call log of a stored run.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value, parse};
use hence_cognition::failure::UNDECIDED;
use hence_engine::RunKind;
use hence_journal::{ActivePath, Control, Reader, Record};
use hence_skills::{CallHistory, CallStatus, EffectiveRecord, Entry, RecordKind, effective_records};
use hence_state::StepStatus;
use hence_store::{AttachmentName, Durability, RunId, RunWriter, StoreError, StoreHandle};

use crate::code::Code;
use crate::error::CliError;
use crate::kind::whole_records;
use crate::target::problem_name;

/// The attachment that holds the call log: intents, replies, questions, answers.
pub(crate) const CALLS: &str = "calls.ndjson";

/// Returns the name of the attachment.
pub(crate) fn calls_name() -> AttachmentName {
    AttachmentName::new(CALLS).expect("the name is plain")
}

/// The member of a line that shows whether it was altered or belongs to another run.
const CHECK: &str = "check";

/// Seals the lines of a call log: each gets the digest of the run's id and its other members.
///
/// No record covers a call log, so this shows accidents and mix-ups, not forgeries.
pub(crate) fn sealed(run: &RunId, lines: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match parse(line.strip_suffix(b"\n").unwrap_or(line)) {
            Ok(Value::Object(members)) => {
                let members = without_check(&members);
                let check = check_of(run, &members);
                all.extend_from_slice(Canonical::of(&members.with(CHECK, check).into()).bytes());
                all.push(b'\n');
            }
            // Nobody writes such a line; whoever reads it will say so.
            _ => all.extend_from_slice(line),
        }
    }
    all
}

fn without_check(members: &Object) -> Object {
    let others = members.iter().filter(|(key, _)| ***key != *CHECK);
    others.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn check_of(run: &RunId, members: &Object) -> Digest {
    let sealed = Object::new().with("entry", members.clone()).with("run", run.as_str());
    Canonical::of(&sealed.into()).digest()
}

/// Checks the seals of a call log. Earlier versions wrote lines without one.
fn check_seals(run: &RunId, bytes: &[u8]) -> Result<(), CliError> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n');
    for (number, line) in (1..).zip(lines) {
        let Ok(Value::Object(members)) = parse(line.strip_suffix(b"\n").unwrap_or(line)) else { continue };
        let Some(check) = members.get(CHECK) else { continue };
        if check.as_str() != Some(&check_of(run, &without_check(&members)).to_string()) {
            let message = format!("run {run}: {CALLS}: line {number} was altered, or is of another run");
            return Err(CliError::new(Code::Calls, message));
        }
    }
    Ok(())
}

/// Returns what is wrong with the call log of a run, if there is one.
pub(crate) fn call_log_defect(store: &StoreHandle, id: &RunId) -> Option<String> {
    let plain = |error: CliError| {
        let prefix = format!("run {id}: ");
        error.message.strip_prefix(&prefix).unwrap_or(&error.message).to_owned()
    };
    match store.attachment(id, &calls_name()) {
        Ok(bytes) => check_seals(id, &bytes).and_then(|()| read_lines(id, &bytes)).err().map(plain),
        Err(StoreError::NoSuchAttachment { .. }) => None,
        Err(error) => Some(error.to_string()),
    }
}

fn read_lines(id: &RunId, bytes: &[u8]) -> Result<CallHistory, CliError> {
    CallHistory::read(bytes)
        .map_err(|error| CliError::of_run(Code::Calls, format_args!("{id}: {CALLS}"), error))
}

/// Reads all entries of a call log, also those of calls that are recorded.
pub(crate) fn all_entries(store: &StoreHandle, id: &RunId) -> Result<Vec<Entry>, CliError> {
    let bytes = match store.attachment(id, &calls_name()) {
        Ok(bytes) => bytes,
        Err(StoreError::NoSuchAttachment { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    check_seals(id, &bytes)?;
    // What cannot be read is refused with its line.
    read_lines(id, &bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
    Ok(lines.filter(|line| !line.is_empty()).filter_map(|line| Entry::read(line).ok()).collect())
}

/// Reads the call log of a nested run that others drive. Its calls are named by the steps of the outermost run, so its own records say
/// nothing about them.
pub(super) fn whole_history(store: &StoreHandle, id: &RunId) -> Result<CallHistory, CliError> {
    match store.attachment(id, &calls_name()) {
        Ok(bytes) => {
            check_seals(id, &bytes)?;
            read_lines(id, &bytes)
        }
        Err(StoreError::NoSuchAttachment { .. }) => Ok(CallHistory::default()),
        Err(error) => Err(error.into()),
    }
}

/// Reads the call log of a run, without calls of recorded steps; `None` when there is none.
pub(crate) fn history(store: &StoreHandle, id: &RunId) -> Result<Option<CallHistory>, CliError> {
    let bytes = match store.attachment(id, &calls_name()) {
        Ok(bytes) => bytes,
        Err(StoreError::NoSuchAttachment { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    check_seals(id, &bytes)?;
    let mut history = read_lines(id, &bytes)?;
    let journal = store.journal_bytes(id)?;
    let problem = store.attachment(id, &problem_name()).ok().and_then(|bytes| parse(&bytes).ok());
    let kind = problem.as_ref().map_or(RunKind::Reason, RunKind::of);
    if kind == RunKind::Solve {
        // The key of a call names the record that its reply will have; that of a call of a child begins with the record of the
        // run itself that the child answers.
        let records = hence_journal::Lines::of(whole_records(&journal)).count().get();
        let index = |key: &str| key.split('/').nth(1).and_then(|number| number.parse::<u64>().ok());
        history.keep_calls(|call| index(&call.key).is_some_and(|index| index >= records));
    } else if kind == RunKind::Skill {
        let recorded = recorded_steps(&journal);
        history.forget(|step| recorded.contains(step));
    } else {
        // A loop executes the same step many times; the key of a call says which execution it belongs to.
        let next = format!("/{}.", next_position(&journal, problem.as_ref()));
        history.keep_calls(|call| call.key.strip_prefix(&*call.step).is_some_and(|at| at.starts_with(&next)));
    }
    Ok(Some(history))
}

/// Returns whether the records of a run cover every call in its call log, so that the log may be removed. Without a log
/// there is nothing to cover.
pub(crate) fn records_cover_calls(store: &StoreHandle, id: &RunId) -> Result<bool, CliError> {
    Ok(history(store, id)?.is_none_or(|history| history.is_empty()))
}

/// Returns whether a run has a call log that says nothing that its records do not say: a process died between the last
/// record and the removal of the log.
pub(crate) fn has_covered_log(store: &StoreHandle, id: &RunId) -> Result<bool, CliError> {
    Ok(history(store, id)?.is_some_and(|history| history.is_empty()))
}

/// Removes the call log of a run if its records cover every call in it; returns whether it did. A run that another
/// process holds is left alone.
pub(crate) fn remove_covered_log(store: &StoreHandle, id: &RunId) -> Result<bool, CliError> {
    if !has_covered_log(store, id)? {
        return Ok(false);
    }
    let mut opened = match store.open(id) {
        Ok(opened) => opened,
        Err(StoreError::Leased { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    // Another process may have appended before this one got the lease.
    let is_covered = has_covered_log(store, id)?;
    if is_covered {
        opened.writer.detach(&calls_name())?;
    }
    Ok(is_covered)
}

/// Returns the position of the step that comes next in a run of a problem, as its calls name it: the number of results in
/// effect before it. A failed step counts as the next one: its record has no reply, so its calls are still what is known.
fn next_position(journal: &[u8], problem: Option<&Value>) -> u64 {
    let is_pinned = problem.is_some_and(|problem| {
        problem.get("settings").and_then(|settings| settings.get("policies")).is_some()
    });
    let effective = effective_records(whole_records(journal)).unwrap_or_default();
    let has_result = |one: &&EffectiveRecord| {
        one.kind == RecordKind::Step && one.result.outcome().status() != StepStatus::Failed
    };
    effective.iter().filter(has_result).count() as u64 + u64::from(is_pinned)
}

/// Returns the log lines that say of the calls of a failed bound step that they were begun. Replies and answers are left
/// out: what was given up is undecided again.
pub(crate) fn undecided_again(store: &StoreHandle, id: &RunId) -> Result<Vec<u8>, CliError> {
    let bytes = match store.attachment(id, &calls_name()) {
        Ok(bytes) => bytes,
        Err(StoreError::NoSuchAttachment { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let open = history(store, id)?.unwrap_or_default();
    let is_open = |key: &str| match open.status(key) {
        Some(CallStatus::Replied(Err(error))) => error.is_of_class(UNDECIDED),
        // A limit refused to repeat it.
        Some(CallStatus::Begun | CallStatus::Again) => true,
        Some(CallStatus::Replied(Ok(_)) | CallStatus::Asked(_)) | None => false,
    };
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let entry = Entry::read(line.strip_suffix(b"\n").unwrap_or(line));
        if let Ok(Entry::Intent { call, .. } | Entry::Question { call, .. }) = entry
            && is_open(&call.key)
        {
            lines.extend_from_slice(line);
        }
    }
    Ok(lines)
}

/// Logs that a run is about to roll back, if it has a call log: replies to steps that are rolled back must not answer when
/// the steps are executed again.
///
/// Logged before the record. A crash in between only re-enables calls of recorded steps, which are never executed.
pub(crate) fn roll_back(store: &StoreHandle, id: &RunId, writer: &mut dyn RunWriter) -> Result<(), CliError> {
    match store.attachment(id, &calls_name()) {
        Ok(_) => {}
        Err(StoreError::NoSuchAttachment { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let line = sealed(id, &Entry::RolledBack.line());
    writer.side_log(&calls_name())?.append(&line, Durability::Synced)?;
    Ok(())
}

/// Returns the steps whose results are in effect, as far as the journal can be read.
fn recorded_steps(journal: &[u8]) -> BTreeSet<Arc<str>> {
    let Ok((_, reader)) = Reader::open(whole_records(journal)) else { return BTreeSet::new() };
    let mut path = ActivePath::default();
    for chained in reader.map_while(Result::ok) {
        match chained.record {
            // A blocked step has no effect and is tried again.
            Record::Step(step) if !step.result.outcome().is_blocked() => {
                path.push(chained.index, step.result.step().clone());
            }
            Record::Control(Control::Rollback(control)) => path.rollback_to(chained.index, control.to),
            _ => {}
        }
    }
    path.to_vec().into_iter().cloned().collect()
}
