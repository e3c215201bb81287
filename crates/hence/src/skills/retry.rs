//! `hence retry`: continues a failed run of a skill under the same idempotency keys.

use std::sync::Arc;

use hence_canon::{Object, Value, parse};
use hence_cognition::run::describe_failures;
use hence_skills::{CallHistory, Entry, Links, Origin, Pinned, Spent, first_failed, retry_log, usage_before};
use hence_store::{AttachmentName, Durability, RunId, StoreHandle};

use super::again::{ActingCalls, Again};
use super::fork::{Created, Sharing, create_shared, new_run};
use super::{calls, calls_name};
use crate::args::skill::RetryArgs;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::hint;
use crate::kind::{DriveOptions, OpenRun as _, StoredSkillRun};
use crate::measured::RunTimes;
use crate::run_view::RunRowView;
use crate::target::Journal;

/// The attachment that names the retry of a failed run.
pub(crate) const RETRY: &str = "retry.json";

fn retry_name() -> AttachmentName {
    AttachmentName::new(RETRY).expect("the name is plain")
}

/// Returns the run that retries a run, if there is one. It may not have been created: a process died before.
///
/// The problem of a retry names the run it retries, so a claim that is lost or altered does not hide it.
pub(crate) fn retry_of(store: &StoreHandle, run: &RunId) -> Option<RunId> {
    let claimed = claimed_retry(store, run);
    if claimed.as_ref().is_some_and(|claimed| retries(store, claimed).as_ref() == Some(run)) {
        return claimed;
    }
    let listed = store.list_views::<RunRowView>().unwrap_or_default();
    let is_retry = |view: &RunRowView| view.links.retries.as_deref() == Some(run.as_str());
    let existing = listed.into_iter().find(|(_, view)| is_retry(view)).map(|(summary, _)| summary.run);
    existing.or(claimed)
}

/// Returns the run that the claim next to a run names.
pub(crate) fn claimed_retry(store: &StoreHandle, run: &RunId) -> Option<RunId> {
    let named = parse(&store.attachment(run, &retry_name()).ok()?).ok()?;
    RunId::new(named.get("run")?.as_str()?).ok()
}

/// Returns what is wrong with the claim next to a run, if there is one: it must name a run that retries this one, or one that
/// a process died before it could create.
pub(crate) fn retry_claim_defect(store: &StoreHandle, run: &RunId) -> Option<String> {
    match store.attachment(run, &retry_name()) {
        Err(hence_store::StoreError::NoSuchAttachment { .. }) => return None,
        Err(error) => return Some(error.to_string()),
        Ok(_) => {}
    }
    let Some(claimed) = claimed_retry(store, run) else {
        return Some(format!("{RETRY} names its retry and cannot be read"));
    };
    let is_right = match retry_of(store, run) {
        // A process may have died before it created the run that it claimed.
        Some(found) => {
            found == claimed && (retries(store, &found).is_some() || store.summary(&found).is_err())
        }
        None => false,
    };
    (!is_right).then(|| format!("{RETRY} names {claimed}, which does not retry it"))
}

/// Returns the run that a run retries, as its problem says.
fn retries(store: &StoreHandle, run: &RunId) -> Option<RunId> {
    RunId::new(&super::links(store, run).retries?).ok()
}

/// Returns the newest run in the line of retries of a run: the run itself, where there is none.
pub(crate) fn newest_retry(store: &StoreHandle, run: &RunId) -> RunId {
    let mut newest = run.clone();
    let mut seen = std::collections::BTreeSet::new();
    while seen.insert(newest.clone())
        && let Some(next) =
            retry_of(store, &newest).filter(|next| retries(store, next).as_ref() == Some(&newest))
    {
        newest = next;
    }
    newest
}

/// Claims the id of the retry of a run. Of two processes the second finds the claim of the first, so a run has one retry.
///
/// # Errors
/// [`CliError`] when another process has the run, or the claim cannot be stored.
pub(crate) fn claim(
    store: &StoreHandle,
    run: &RunId,
    wanted: Option<&str>,
    is_retry: bool,
) -> Result<RunId, CliError> {
    let mut opened = store.open(run)?;
    let is_claimed = store.attachments(run)?.contains(&retry_name());
    let claimed = retry_of(store, run);
    if is_claimed && claimed.is_none() {
        // Another retry would make the calls of the one that cannot be named again.
        let message = format!("run {run}: {RETRY} names its retry and cannot be read");
        return Err(CliError::new(Code::Damaged, message).with_hint(hint::LIST_RUNS));
    }
    if let Some(claimed) = claimed {
        if store.has_run(&claimed)? && retries(store, &claimed).as_ref() != Some(run) {
            let message = format!("run {run}: {RETRY} names {claimed}, which does not retry it");
            return Err(CliError::new(Code::Damaged, message).with_hint(hint::LIST_RUNS));
        }
        return match wanted.filter(|wanted| *wanted != claimed.as_str()) {
            None => Ok(claimed),
            Some(_) => {
                let message = format!("run {run}: its retry is {claimed}");
                Err(CliError::new(Code::Retry, message).with_hint(hint::retry(claimed.as_str())))
            }
        };
    }
    let id = match wanted {
        Some(wanted) => RunId::new(wanted).map_err(refused)?,
        None => free_id(store, run, is_retry)?,
    };
    if store.has_run(&id)? {
        let message = format!("run {run}: there is a run {id}, and it is no retry of it");
        return Err(CliError::new(Code::Conflict, message).with_hint(hint::OTHER_RUN_ID));
    }
    let named: Value = Object::from_iter([("run", id.as_str())]).into();
    let bytes = hence_canon::Canonical::of(&named).bytes().to_vec();
    opened.writer.attach(&retry_name(), &bytes, Durability::Synced)?;
    Ok(id)
}

fn refused(error: hence_store::InvalidRunId) -> CliError {
    CliError::from_error(Code::Argument, error).with_hint(hint::OTHER_RUN_ID)
}

/// Returns the first free id of a retry: `RUN-retry-1`, and `RUN-retry-2` for the retry of `RUN-retry-1`.
fn free_id(store: &StoreHandle, run: &RunId, is_retry: bool) -> Result<RunId, CliError> {
    let numbered = run.as_str().rsplit_once("-retry-").filter(|_| is_retry);
    let (base, mut number) = match numbered.and_then(|(base, number)| Some((base, number.parse().ok()?))) {
        Some((base, number)) => (base, number),
        None => (run.as_str(), 0u64),
    };
    loop {
        number += 1;
        let id = RunId::new(&format!("{base}-retry-{number}")).map_err(refused)?;
        if !store.has_run(&id)? {
            return Ok(id);
        }
    }
}

/// Returns the root of the idempotency keys of a run: the first run of a line of retries.
pub(crate) fn root_of(run: &str, links: Option<&Links>) -> Arc<str> {
    links.and_then(Links::idempotency_root).cloned().unwrap_or_else(|| run.into())
}

/// Retries a run of a skill at the step that failed first.
pub(crate) fn retry(context: &Context, journal: &Journal, args: &RetryArgs) -> Result<Exit, CliError> {
    let origin = StoredSkillRun::require(journal)?;
    let pinned = Pinned::of(&origin.problem);
    let links = pinned.as_ref().map(|pinned| &pinned.links);
    // The keys of a nested run are made of the outermost run, and only that run can make its calls.
    if let Some(parent) = links.and_then(|links| links.parent.as_ref()) {
        let message =
            format!("run {}: it is nested in {}, which is retried as a whole", journal.name, parent.run);
        return Err(CliError::new(Code::Retry, message).with_hint(hint::retry(&parent.run)));
    }
    let before = origin.read_back(journal)?;
    let outcomes = before.program().outcomes();
    let Some(shared) = first_failed(outcomes) else {
        if before.has_ended() && before.state().status() == hence_state::Status::Failed {
            let message = format!("run {}: no step failed, so there is nothing to retry", journal.name);
            return Err(CliError::new(Code::Retry, message).with_hint(hint::retry_nothing(&journal.name)));
        }
        // Steps after it used what it gave without the parts that failed.
        if let Some(partial) = outcomes.iter().find(|outcome| outcome.has_failures()) {
            let message = format!(
                "run {}: only parts of step {} failed, and the run went on without them, so there is nothing to retry; \
                 nothing was executed",
                journal.name, partial.step_id
            );
            return Err(CliError::new(Code::Retry, message)
                .with_findings(describe_failures(outcomes))
                .with_hint(hint::fork_partial(&journal.name, &partial.step_id)));
        }
        return origin.resume(context, journal, DriveOptions::default());
    };
    let failed = outcomes.get(shared..).unwrap_or_default();
    let from = failed.first().map(|outcome| outcome.step_id.clone()).unwrap_or_default();
    Again {
        run: &journal.name,
        what: "its record has no list of the calls of the failed step, so the retry makes again, under the same \
               idempotency keys, what these calls did",
        calls: unlisted(failed, &origin, journal),
        advice: hint::repeat_unlisted(&journal.name),
    }
    .confirm(context, args.yes)?;
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    let unrecorded = calls::history(&store, &id)?.unwrap_or_default();
    let mut log = retry_log(origin.prepared.skill(), &origin.library, failed, &unrecorded);
    log.extend(spent(journal, &unrecorded));
    let mut used = usage_before(&origin.library, failed, &unrecorded, &log);
    used.add(&links.map(Links::used_before).unwrap_or_default());
    let lines: Vec<u8> = log.iter().flat_map(Entry::line).collect();
    let sharing = Sharing::of(journal, shared, None)?;
    let is_retry = links.is_some_and(|links| links.idempotency_root().is_some());
    let link = Origin {
        run: journal.name.as_str().into(),
        record: sharing.record,
        hash: sharing.hash,
        from: from.clone(),
        set: Vec::new(),
        idempotency_root: Some(root_of(&journal.name, links)),
        used,
    };
    let new = claim(&store, &id, args.run_id.as_deref(), is_retry)?;
    let limits = args.limits.limits();
    let asked = new_run(journal, (&origin, &origin), &sharing, link, new.as_str().to_owned(), &limits)?;
    let results = if shared == 1 { "result" } else { "results" };
    let said = format!(
        "run {new} retries {} at {from}: it shares {shared} {results} and calls nothing again that succeeded",
        journal.name
    );
    let run = StoredSkillRun::require(journal)?;
    drop(before);
    let created = Created { asked, more: vec![(calls_name(), calls::sealed(&new, &lines))], said };
    create_shared(context, journal, run, &sharing, created, || Ok(()))
}

/// Returns the time that the failed run spent, which counts under the limits of its retry: what its call log says, or else
/// the sum of what was measured of its steps.
fn spent(journal: &Journal, logged: &CallHistory) -> Option<Entry> {
    if *logged.spent() != Spent::default() {
        return Some(Entry::Spent(logged.spent().clone()));
    }
    let times = RunTimes::of(journal).times;
    let measured =
        times.records().filter_map(|(_, record)| record.span.as_ref()).map(|span| span.duration_ms);
    let milliseconds: u64 = measured.sum();
    (milliseconds > 0).then(|| Entry::Spent(Spent { milliseconds, ..Spent::default() }))
}

/// Returns the calls that act of failed steps whose records, written by an earlier version, do not list them.
fn unlisted(
    failed: &[hence_cognition::run::StepOutcome],
    origin: &StoredSkillRun,
    journal: &Journal,
) -> Vec<ActingCalls> {
    let failed = failed.iter().filter(|outcome| {
        outcome.status == hence_cognition::state::StepStatus::Failed && outcome.calls.is_empty()
    });
    // Where a gate or a confirmation refused before the call, nothing was called.
    failed.flat_map(|outcome| ActingCalls::of_outcome(outcome, &origin.library, journal)).collect()
}
