//! A run on its way: begun or taken up, driven as far as it goes, and told about.

use std::num::NonZeroUsize;
use std::time::Duration;

use hence_canon::Value;
use hence_engine::Gate;
use hence_skills::{
    CallLog, Driven, Driver, Ledger, NoCallLog, Pause, Pinned, SkillRun, SkillRunError, reaches_out,
};
use hence_store::{Condition, FileStore, RunId, RunWriter, Store, StoreError};

use super::calls::{self, StoreCallLog};
use super::end::{self, Beginning};
use super::nested::StoreChildren;
use super::{Kept, WaitingRow, secrets, whole_records};
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::escape::escape;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::sink::{StoreBlobs, StoreSink};
use crate::{guard, hint};

/// How many steps run at a time. What they write does not depend on it.
const WORKERS: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// A run, where it is kept, and how it is told about.
pub(super) struct Going<'a> {
    pub(super) context: &'a Context,
    pub(super) store: &'a FileStore,
    pub(super) kept: &'a Kept,
    pub(super) id: &'a RunId,
    /// Where a copy of the journal goes.
    pub(super) copy: Option<&'a str>,
    pub(super) given: Given<'a>,
}

/// What a person gives for going on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    /// The policies to go on by instead, where the run is blocked.
    pub(crate) amended: Option<&'a Value>,
    /// How long it may take.
    pub(crate) deadline: Option<Duration>,
}

impl Going<'_> {
    /// Takes the run up where its record ends. The record is judged before the run is opened for writing.
    pub(super) fn take_up(&self) -> Result<Exit, CliError> {
        let (store, id) = (self.store, self.id);
        if let Condition::Damaged(reason) = store.summary(id)?.condition {
            return Err(StoreError::Damaged { run: id.clone(), reason }.into());
        }
        let (run, torn) = self.read_back()?;
        if run.has_ended() && !torn {
            guard::refuse_amendment(id.as_str(), self.given.amended)?;
            self.context.say(format_args!("run {id} had ended already; nothing was run again"));
            return end::report(self, &run.ended(), Beginning::Before(None));
        }
        if let Some(pinned) = Pinned::of(&self.kept.problem) {
            let Kept { library, prepared, .. } = self.kept;
            secrets::require(library, prepared.skill(), &pinned.inputs, run.outcomes())?;
        }
        let opened = store.open(id)?;
        if let Some(cut) = &opened.cut {
            self.context.say(format_args!("run {id}: {cut}"));
        }
        // Somebody may have written between the reading and the opening; from here on nobody else does.
        let run = if run.head() == opened.writer.head() { run } else { self.read_back()?.0 };
        let beginning = Beginning::Before(opened.cut);
        if run.has_ended() {
            return end::report(self, &run.ended(), beginning);
        }
        let (journal, blobs) = (store.journal_bytes(id)?, StoreBlobs(store));
        let gate = guard::open_behind(&journal, &self.kept.problem, self.kept.program(), &blobs)
            .map_err(|error| guard::refused(id.as_str(), error))?;
        self.go(run, (opened.writer, gate), beginning)
    }

    fn read_back(&self) -> Result<(SkillRun<'_>, bool), CliError> {
        let journal = self.store.journal_bytes(self.id)?;
        let whole = whole_records(&journal);
        let run = self.kept.read_back(whole, &StoreBlobs(self.store));
        let run = run.map_err(|error| CliError::resume_skill(self.id.as_str(), error))?;
        Ok((run, whole.len() < journal.len()))
    }

    /// Drives the run as far as it goes, each record durable before the next.
    pub(super) fn go(
        &self,
        mut run: SkillRun<'_>,
        (mut writer, gate): (Box<dyn RunWriter>, Option<Box<dyn Gate + '_>>),
        beginning: Beginning,
    ) -> Result<Exit, CliError> {
        let host = &self.kept.library;
        let history = calls::history(self.store, self.id)?;
        let has_log = history.is_some() || reaches_out(self.kept.prepared.skill(), host);
        let log = if has_log { Some(StoreCallLog::open(&mut *writer)?) } else { None };
        let kept: &dyn CallLog = log.as_ref().map_or(&NoCallLog, |log| log);
        let ledger = Ledger::new(history.unwrap_or_default(), kept);
        let interrupt = Interrupt::listen(self.given.deadline);
        let mut kept_in = StoreSink::new(self.store, writer);
        let mut sink = guard::guarded(&mut kept_in, gate);
        let owed = guard::owed(
            self.id.as_str(),
            run.policy_state(),
            &self.store.journal_bytes(self.id)?,
            &StoreBlobs(self.store),
        )?;
        for policies in owed.iter().chain(self.given.amended) {
            run.install_policies(policies, &mut *sink).map_err(|error| stopped(self.id, error))?;
        }
        let watched = self.context.is_watched();
        let shared = super::run::shared_attachments(self.kept);
        let children = StoreChildren { store: self.store, shelf: &self.kept.shelf, shared };
        let (ledger, stop) = (&ledger, &interrupt);
        let driver = Driver { host, workers: WORKERS, ledger, stop, children: &children };
        let driven = run.drive(&driver, &mut *sink, |outcome| {
            if watched {
                self.context.say(format_args!("{}  {}", escape(&outcome.step_id), outcome.status.as_str()));
            }
        });
        match driven.map_err(|error| stopped(self.id, error))? {
            Driven::Finished(finished) => {
                drop((log, sink));
                // What was under way is recorded. Lines that stay behind after a crash here say nothing.
                if has_log {
                    kept_in.writer.detach(&calls::calls_name())?;
                }
                end::report(self, &finished, beginning)
            }
            Driven::Blocked(blocked) => Err(stopped(self.id, blocked.into())),
            Driven::Paused(run, Pause::Waiting(_)) => {
                let waiting = WaitingRow::all(self.context, self.id.as_str(), &ledger.history());
                end::report_waiting(self, &run, waiting, beginning)
            }
            Driven::Paused(run, Pause::Stopped) => {
                let records = run.head().records.get();
                let message =
                    format!("run {} was stopped behind {records} records: {}", self.id, interrupt.reason());
                Err(CliError::new(Code::Interrupted, message)
                    .with_hint(hint::continue_with(self.context, self.id.as_str())))
            }
        }
    }
}

pub(super) fn stopped(id: &RunId, error: SkillRunError) -> CliError {
    match error {
        SkillRunError::Blocked(blocked) => guard::blocked(id.as_str(), &blocked),
        SkillRunError::Book(book) if guard::is_refusal(&book) => CliError::of_run(Code::Gate, id, book),
        SkillRunError::Book(_)
        | SkillRunError::Outcome(_)
        | SkillRunError::Waiting(_)
        | SkillRunError::CallLog(_) => {
            CliError::from_error(Code::Stopped, error).with_hint(hint::fix_and_resume(id.as_str()))
        }
        other => CliError::from_error(Code::Refused, other),
    }
}
