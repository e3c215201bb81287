//! Nested runs that other workers drive: how they are handed over, and how they are driven.

use std::sync::OnceLock;

use hence_cognition::run::SKILL_DEPTH_MAX;
use hence_cognition::state::RunStatus;
use hence_engine::SinkError;
use hence_fleet::{Job, JobQueue, JobState, NewJob};
use hence_skills::{CallHistory, CallLog, ChildRun, EndedChild, Entry, NestedDrive, Parent, Stop};
use hence_state::Status;
use hence_store::{Durability, NewRun, Opened, RunId, StoreError, StoreHandle};

use super::calls::{self, calls_name};
use crate::clock;
use crate::kind::{DriveOptions, StoredSkillRun};
use crate::prelude::*;
use crate::target::Journal;

/// The place where the nested runs of a run are executed.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NestedRuns {
    /// Inside the step that uses them.
    #[default]
    Inside,
    /// By any worker, as jobs of their own.
    Shared,
}

/// A nested run that no worker drives any more: the run around it cannot continue by itself.
#[derive(Debug, thiserror::Error)]
#[error("nested run {run} is {state}: {reason}")]
pub(crate) struct NestedStuck {
    run: RunId,
    state: &'static str,
    reason: String,
}

/// The queue to which the nested runs of one run are handed. It is opened when the first one is.
pub(crate) struct NestedQueue<'a> {
    pub(crate) context: &'a Context,
    pub(crate) store: &'a StoreHandle,
    /// The run that nests them.
    pub(crate) around: &'a RunId,
    pub(crate) nested: NestedRuns,
    pub(crate) queue: OnceLock<crate::fleet::Queue>,
}

impl<'a> NestedQueue<'a> {
    pub(crate) fn new(
        context: &'a Context,
        store: &'a StoreHandle,
        around: &'a RunId,
        options: &DriveOptions<'_>,
    ) -> Self {
        Self { context, store, around, nested: options.nested, queue: OnceLock::new() }
    }

    fn queue(&self) -> Result<&dyn JobQueue, SinkError> {
        if self.queue.get().is_none() {
            let _ = self.queue.set(self.context.place.queue()?);
        }
        self.queue.get().map(|queue| &**queue).ok_or_else(|| "the queue is not there".into())
    }

    /// Creates a nested run with its first record, and enqueues it where the run around it is.
    pub(super) fn hand_over(&self, new: NewRun) -> Result<(), SinkError> {
        let run = new.id.clone();
        match self.store.create(new) {
            // Whoever claims it opens it.
            Ok(writer) => drop(writer),
            Err(StoreError::AlreadyCreated { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let queue = self.queue()?;
        let around = queue.job(self.around)?;
        if let Some(stuck) = queue.job(&run)?.and_then(|job| stuck(&job, around.as_ref())) {
            return Err(stuck.into());
        }
        let job = NewJob::of(run);
        queue.submit(&match around {
            Some(Job { queue, priority, group, capabilities, .. }) => {
                NewJob { queue, priority, group, capabilities, ..job }
            }
            None => job,
        })?;
        Ok(())
    }

    /// Returns the call log of a nested run that has ended; `None` while it has not.
    pub(super) fn calls_of_ended(&self, run: &str) -> Result<Option<Vec<Entry>>, SinkError> {
        let run = RunId::new(run)?;
        match ended_status(self.store, &run) {
            Ok(Some(_)) => Ok(Some(calls::all_entries(self.store, &run).map_err(|error| error.message)?)),
            Ok(None) => Ok(None),
            Err(error) if error.code == Code::NoSuchRun => Ok(None),
            Err(error) => Err(error.message.into()),
        }
    }

    /// Removes the call log of a nested run whose calls the run around it has taken over.
    pub(super) fn drop_calls(&self, run: &RunId) {
        // Nothing depends on the log any more; `doctor` reports one that is left.
        if matches!(self.store.attachments(run), Ok(names) if names.contains(&calls_name()))
            && let Ok(mut opened) = self.store.open(run)
        {
            let _ = opened.writer.detach(&calls_name());
        }
    }
}

/// Returns why a nested run is not driven again, if a person has to act first. Submitting the run around it again is such an act.
fn stuck(job: &Job, around: Option<&Job>) -> Option<NestedStuck> {
    let at = match &job.state {
        JobState::Dead { at } | JobState::Quarantined { at } => *at,
        _ => return None,
    };
    let is_since = around.is_some_and(|around| at >= around.submitted_at);
    let reason = job.note.clone().unwrap_or_else(|| "no reason is known".to_owned());
    is_since.then(|| NestedStuck { run: job.run.clone(), state: job.state.word(), reason })
}

/// Returns how a nested run ended; `None` while it has not.
fn ended_status(store: &StoreHandle, run: &RunId) -> Result<Option<Exit>, CliError> {
    let journal = Journal::of_stored(store.clone(), run)?;
    let stored = StoredSkillRun::require(&journal)?;
    let run = stored.read_back(&journal)?;
    Ok(run.has_ended().then(|| match run.state().status() {
        Status::Failed => Exit::No,
        Status::Pending | Status::Running | Status::Completed => Exit::Yes,
    }))
}

/// Returns the run that nests a run, if one does.
pub(crate) fn parent_of(store: &StoreHandle, run: &RunId) -> Option<RunId> {
    let parent = super::links(store, run).parent?;
    RunId::new(&parent).ok()
}

/// The outermost run around a nested one, as it is read to drive the nested one.
struct Around {
    journal: Journal,
    run: StoredSkillRun,
    /// The step of the outermost run in which the nested run is.
    step: std::sync::Arc<str>,
    /// The replies of all runs around the nested one.
    replies: CallHistory,
}

impl Around {
    fn find(store: &StoreHandle, run: &RunId, parent: Parent) -> Result<Self, CliError> {
        let (mut replies, mut next) = (CallHistory::default(), parent);
        for _ in 0..=SKILL_DEPTH_MAX {
            let id = RunId::new(&next.run).map_err(|error| CliError::of_run(Code::Nested, run, error))?;
            let journal = Journal::of_stored(store.clone(), &id)?;
            let around = StoredSkillRun::require(&journal)?;
            match around.parent() {
                Some(parent) => {
                    replies.take_replies(&calls::whole_history(store, &id)?);
                    next = parent;
                }
                None => {
                    replies.take_replies(&calls::history(store, &id)?.unwrap_or_default());
                    return Ok(Self { journal, run: around, step: next.step, replies });
                }
            }
        }
        let message = format!("run {run}: more than {SKILL_DEPTH_MAX} runs are around it");
        Err(CliError::new(Code::Nested, message))
    }
}

/// Drives a nested run that was handed over, as far as it goes.
pub(crate) fn drive_nested(
    context: &Context,
    store: &StoreHandle,
    id: &RunId,
    parent: Parent,
    options: DriveOptions<'_>,
) -> Result<Exit, CliError> {
    let around = Around::find(store, id, parent)?;
    let Opened { mut writer, cut, .. } = store.open(id)?;
    if let Some(cut) = cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    // Another process may have ended it before this one got the lease.
    if let Some(exit) = ended_status(store, id)? {
        return Ok(exit);
    }
    let mut history = calls::whole_history(store, id)?;
    history.take_replies(&around.replies);
    let file = writer.side_log(&calls_name())?;
    let sealing = id.clone();
    let log = CallLog::new(history, move |line, durability| {
        Ok(file.append(&calls::sealed(&sealing, line), durability)?)
    });
    if let Some(now) = clock::wall() {
        let noted = log.answer_timers(now);
        noted.map_err(|error| CliError::of_run(Code::Disk, id, error))?;
    }
    let never = hence_skills::NeverStop;
    let stop: &dyn Stop = options.stop.unwrap_or(&never);
    let handing = NestedQueue::new(context, store, id, &options);
    let driven = around.run.drive_nested(&around.journal, &around.step, (id, &log, stop, &handing))?;
    drop(log);
    match driven {
        NestedDrive::Ended(ended) => finish(store, id, &mut *writer, *ended),
        NestedDrive::Open if stop.is_wanted() => {
            let message = format!("nested run {id} was stopped");
            Err(CliError::new(Code::Interrupted, message))
        }
        NestedDrive::Open => Ok(Exit::Waiting),
        NestedDrive::NotReached => {
            let message = format!(
                "run {}: it does not come to step {}, which nests run {id}",
                around.journal.name, around.step
            );
            Err(CliError::new(Code::Nested, message))
        }
    }
}

/// Appends the records of a nested run that has ended.
fn finish(
    store: &StoreHandle,
    id: &RunId,
    writer: &mut dyn hence_store::RunWriter,
    ended: EndedChild,
) -> Result<Exit, CliError> {
    let EndedChild { child: ChildRun { journal, blobs, .. }, status } = ended;
    let stored = store.journal_bytes(id)?;
    let Some(rest) = journal.strip_prefix(&*stored) else {
        let message = format!("run {id}: the run around it does not give it the same inputs any more");
        return Err(CliError::new(Code::Diverged, message));
    };
    for blob in &blobs {
        store.put_blob(blob, Durability::Synced)?;
    }
    writer.append(writer.head(), rest, Durability::Synced)?;
    Ok(match status {
        RunStatus::Failed => Exit::No,
        RunStatus::Pending | RunStatus::Running | RunStatus::Completed => Exit::Yes,
    })
}
